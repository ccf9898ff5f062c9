"""Silence without labels: from which absolute score on a hit is shown where nothing is calibrated.

The threshold is what nearly all everyday questions that have nothing to do with the archive stay below. 1,000 of them
come with askalike, in five languages (`off_topic.tsv`, written for this, CC0). It is no probability.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from pydantic import ValidationError

from askalike.calibration.calibration import FOLDER, ArchiveState, fingerprint, settings_json
from askalike.calibration.curves import Floats
from askalike.config import Settings
from askalike.files import write_atomically
from askalike.rankers import Ranker, Searcher
from askalike.store import Archive, View
from askalike.types import Question

QUESTIONS_FILE = "off_topic.tsv"
SILENT_SHARE = 0.97
"""The share of off-topic questions that get nothing."""
OWN_QUESTIONS = 200
"""So many of the archive's own questions are searched for, each without itself."""
MIN_CHARACTERS = 2
"""A shorter question is no question."""


class Silence(Settings):
    """A threshold, and what it holds for. similarity: the absolute score below which no hit is shown."""

    similarity: float
    state: ArchiveState
    fingerprint: str = ""


class SilenceThreshold:
    """The threshold of a ranker on an archive: found with the first search, and saved beside the calibrations."""

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self._view, self._ranker = archive.view(), ranker
        digest = hashlib.sha256(settings_json(ranker.values).encode()).hexdigest()[:12]
        self._path = archive.path / FOLDER / f"{ranker.name}-{digest}.silence.json"
        self._similarity: float | None = None

    def similarity(self, searcher: Searcher) -> float:
        """Return the absolute score below which no hit is shown. searcher: the ranker, opened on the archive."""
        if self._similarity is None:
            self._similarity = self._load()
        if self._similarity is None:
            self._similarity = find_threshold(searcher)
            self._save(self._similarity)
        return self._similarity

    def _load(self) -> float | None:
        """Return the saved threshold; None where there is none, or the archive or the ranker has changed."""
        try:
            saved = Silence.model_validate_json(self._path.read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            return None
        holds = saved.fingerprint == fingerprint(self._ranker) and saved.state.stale_reason(self._view) is None
        return saved.similarity if holds else None

    def _save(self, similarity: float) -> None:
        """Save the threshold, unless the archive cannot be written."""
        state = ArchiveState.from_view(self._view)
        saved = Silence(similarity=similarity, state=state, fingerprint=fingerprint(self._ranker))
        try:
            self._path.parent.mkdir(exist_ok=True)
            write_atomically(self._path, saved.model_dump_json(indent=1) + "\n")
        except OSError:
            return


def find_threshold(searcher: Searcher) -> float:
    """Return the absolute score that 97 % of off-topic questions in the archive's languages stay below.

    The topic that is closest to the archive is left out, as it may be the archive's own. The threshold is never above
    the median of what the archive's own questions find, so that an archive about everything is not silent.
    """
    by_topic = off_topic_questions(searcher.view)
    firsts = {
        topic: _first_scores(searcher, {f"off topic {n}": question for n, question in enumerate(questions)})
        for topic, questions in by_topic.items()
    }
    closest = max(firsts, key=lambda topic: float(np.median(firsts[topic])))
    others = np.concatenate([scores for topic, scores in firsts.items() if topic != closest])
    own = _first_scores(searcher, _own_questions(searcher.view))
    threshold = float(np.quantile(others, SILENT_SHARE))
    return min(threshold, float(np.median(own))) if len(own) else threshold


def off_topic_questions(view: View) -> Mapping[str, Sequence[str]]:
    """Return topic → everyday questions, in the languages of the archive where there are some, else in all."""
    languages = {view.language, *view.languages}
    rows = [row for row in _packaged_rows() if row[0] in languages] or _packaged_rows()
    by_topic: dict[str, list[str]] = defaultdict(list)
    for _, topic, question in rows:
        by_topic[topic].append(question)
    return by_topic


def is_too_short(text: str) -> bool:
    """Whether a text has fewer letters and digits than any question."""
    return sum(map(str.isalnum, text)) < MIN_CHARACTERS


@cache
def _packaged_rows() -> Sequence[tuple[str, str, str]]:
    """The packaged questions: language, topic, question."""
    text = files("askalike.calibration").joinpath(QUESTIONS_FILE).read_text(encoding="utf-8")
    return [(language, topic, question) for language, topic, question in (row.split("\t") for row in text.splitlines())]


def _own_questions(view: View) -> Mapping[str, str]:
    titles = [(id, title) for _, id, title in view.titles()]
    return dict(titles[:: max(1, len(titles) // OWN_QUESTIONS)])


def _first_scores(searcher: Searcher, questions: Mapping[str, str]) -> Floats:
    """Return the absolute score of each question's first hit, 0 where it has none. None finds itself."""
    queries = {id: Question(id, title) for id, title in questions.items()}
    session = searcher.search(queries, 1)
    return np.array([scores[0] if len(scores) else 0.0 for scores in session.absolute_scores])
