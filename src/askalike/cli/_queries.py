"""Where a command's queries and candidates come from: a file, or one of the archive's splits."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from askalike.errors import ArchiveError, InputError
from askalike.labels.splits import load_split
from askalike.readers import read_candidates, read_queries
from askalike.store import Archive
from askalike.types import Question

SPLIT_PREFIX = "split:"
MAX_SHOWN_CHARACTERS = 40


def require_searchable(archive: Archive, text: str) -> None:
    """Raise InputError or ArchiveError where a search for the text could not have found anything."""
    if not any(c.isalnum() for c in text):
        raise InputError(
            f"{text[:MAX_SHOWN_CHARACTERS]!a}: no word in it to search for; expected letters or digits, as in: my card"
        )
    if not len(archive.view()):
        raise ArchiveError(
            f"{archive.path}: holds no question; add some: askalike import READER PATH -o {archive.path}"
        )


def load_queries(archive: Archive, source: str) -> Mapping[str, Question]:
    """Return the queries of a file, or of the split that `split:NAME` names."""
    if source.startswith(SPLIT_PREFIX):
        return load_split(archive, source.removeprefix(SPLIT_PREFIX)).queries
    return read_queries(Path(source))


def load_candidates(archive: Archive, source: str, path: Path | None) -> Mapping[str, Sequence[str]] | None:
    """Return the candidates of a file, else those of the split; None where every question is to be ranked."""
    if path is not None:
        return read_candidates(path)
    return (
        load_split(archive, source.removeprefix(SPLIT_PREFIX)).candidates if source.startswith(SPLIT_PREFIX) else None
    )
