"""The next need of an archive, in one sentence with the command that does it."""

from collections.abc import Mapping
from typing import NamedTuple

from askalike import rankers
from askalike.calibration.samples import MIN_QUERIES
from askalike.core import registry
from askalike.encoders.static import PACKAGED_LANGUAGES
from askalike.service.pages.languages import format_number, mark, translate
from askalike.store import Archive
from askalike.store.deployments import get_archive_encoder
from askalike.store.labels import count_labelled


class Advice(NamedTuple):
    """A sentence with its numbers, and the command for it."""

    message: str
    command: str
    numbers: Mapping[str, int] = {}

    @property
    def sentence(self) -> str:
        """The sentence in the language of the page."""
        return translate(self.message) % {name: format_number(n) for name, n in self.numbers.items()}


def advise(archive: Archive, ranker: str, is_calibrated: bool, stale_reason: str | None) -> Advice | None:
    """Return what an archive needs most; None if it needs nothing. ranker: the name of the active one."""
    view, folder = archive.view(), archive.path.name
    if not len(view):
        return Advice(mark("The archive is empty: import questions."), f"askalike import table FILE -o {folder}")
    has_encoder = get_archive_encoder(archive) is not None
    words_only = ranker in registry.names("similarity")
    if words_only and (has_encoder or rankers.default_name() not in registry.names("similarity")):
        return Advice(
            mark("An encoder is at hand, but search compares words alone: try whether it is better."),
            f"askalike tune {folder}",
        )
    if not (words_only or has_encoder) and view.language not in (None, *PACKAGED_LANGUAGES):
        return Advice(
            mark("The packaged word vectors do not know the archive’s language: choose an encoder that does."),
            f"askalike encoder use {folder} MODEL",
        )
    if is_calibrated:
        return None
    if stale_reason:
        return Advice(mark("The calibration is out of date: make it again."), f"askalike calibrate {folder}")
    if (n := count_labelled(archive)) >= MIN_QUERIES:
        sentence = mark("%(n)s questions have a known duplicate: enough for probabilities.")
        return Advice(sentence, f"askalike calibrate {folder}", {"n": n})
    sentence = mark(
        "%(n)s of the %(needed)s questions with a known duplicate that probabilities need: decide on pairs."
    )
    return Advice(sentence, f"askalike dedupe {folder} -o clusters.csv", {"n": n, "needed": MIN_QUERIES})
