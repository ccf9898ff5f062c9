"""The embedded engine: one archive, one ranker, in this process."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from askalike import rankers
from askalike.archive.store import Archive
from askalike.archive.view import View
from askalike.errors import IndexBusyError
from askalike.rankers import Ranker
from askalike.text.snippet import snippet
from askalike.types import Explanation, Filter, Hit, Match, Question

SNIPPET = 160
TYPED = " typed "  # the id of a question that is being asked: no question of an archive is called so


class Local:
    """Finds similar questions in an archive. Follows the archive: a change is found by the next search."""

    def __init__(self, archive: Archive, ranker: Ranker, view: View | None = None) -> None:
        """`view`: what is searched; all questions, as they are now, unless another is given."""
        self.archive = archive
        self.ranker = ranker
        self._view = archive.view() if view is None else view

    @classmethod
    def open(cls, path: str | Path, ranker: str = rankers.DEFAULT, settings: Mapping[str, Any] | None = None) -> Self:
        """The archive in a directory with a ranker by its name. Raises ArchiveError, SettingsError."""
        return cls(Archive.open(path), rankers.build(ranker, settings))

    def close(self) -> None:
        """Closes the archive."""
        self.archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self) -> None:
        """Brings the index up to date; where another process is doing so, the last committed state serves."""
        try:
            self.ranker.index(self._view)
        except IndexBusyError as busy:
            if not busy.searchable:
                raise

    def search(
        self, title: str, k: int = 5, *, body: str = "", where: Filter | None = None, prefix: bool = False
    ) -> Sequence[Match]:
        """The k questions most similar to the one typed, best first; none where no word is shared.

        prefix: the last word may be unfinished. Each match says why.
        """
        self.refresh()
        query = Question(TYPED, title, body)
        hits = self.ranker.rank({query.id: query}, k, where=where, prefix=prefix)[query.id]
        reasons = self.ranker.explain(query, [h.id for h in hits])
        questions = self._view.get(h.id for h in hits)
        return [_match(questions[h.id], h, reasons.get(h.id)) for h in hits if h.id in questions]


def _match(question: Question, hit: Hit, reason: Explanation | None) -> Match:
    return Match(question, hit.score, _snippet(question, reason), None, reason)


def _snippet(question: Question, reason: Explanation | None) -> str:
    """What of the question's body (or of the rephrasing that matched) is worth showing below its title."""
    if reason is None:
        return ""
    field = next((f for f in ("rephrasing", "body") if f in reason.text), None)
    if field is None:
        return ""
    return snippet(reason.text[field], [(s.start, s.end) for s in reason.spans if s.field == field], SNIPPET)
