"""Where a command's queries and candidates come from: a file, or one of the archive's splits."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from askalike.archive.queries import read_candidates, read_queries
from askalike.archive.splits import split
from askalike.archive.store import Archive
from askalike.errors import ArchiveError, InputError
from askalike.types import Question

SPLIT = "split:"
LONGEST_SHOWN = 40


def refuse_nothing(archive: Archive, text: str) -> None:
    """Where a search found nothing: raises what a person can mend, if it could not have found anything."""
    if not any(c.isalnum() for c in text):
        raise InputError(
            f"{text[:LONGEST_SHOWN]!a}: no word in it to search for; expected letters or digits, as in: my card"
        )
    if not len(archive.view()):
        raise ArchiveError(
            f"{archive.path}: holds no question; add some: askalike import READER PATH -o {archive.path}"
        )


def queries_of(archive: Archive, source: str) -> Mapping[str, Question]:
    """The queries of a file, or of the split that `split:NAME` names."""
    if source.startswith(SPLIT):
        return split(archive, source.removeprefix(SPLIT)).queries
    return read_queries(Path(source))


def candidates_of(archive: Archive, source: str, path: Path | None) -> Mapping[str, Sequence[str]] | None:
    """The candidates of a file, else those that the split gives, else None: rank every question."""
    if path is not None:
        return read_candidates(path)
    return split(archive, source.removeprefix(SPLIT)).candidates if source.startswith(SPLIT) else None
