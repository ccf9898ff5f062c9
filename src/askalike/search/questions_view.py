"""A list of questions as rankers see an archive: the same view, in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from askalike.core.filters import Filter
from askalike.core.types import Answer, Place, Question
from askalike.index.engine import IN_MEMORY
from askalike.store import Clusters
from askalike.store.languages import LanguageAssigner


class QuestionsView:
    """The part of a `View` that rankers of questions need. Docids are positions, from 1; there are no links.

    language: an ISO 639-1 code; None to detect it, as an import does.
    """

    kind, engine, before, group = "questions", IN_MEMORY, None, None
    path = Path(IN_MEMORY)
    last_change, labels_version = 1, (0, 0)

    def __init__(self, questions: Sequence[Question], language: str | None) -> None:
        self.meta: dict[str, Any] = {}
        self._questions: dict[int, Question] = {}
        assigner = LanguageAssigner(self, {}, language)  # type: ignore[arg-type]
        located = assigner.assign_languages([(question, Place("")) for question in questions])
        self._questions = {n: record for n, (record, _) in enumerate(located, 1) if isinstance(record, Question)}
        self._docids = {question.id: docid for docid, question in self._questions.items()}
        self.change = int(bool(questions))
        self.language: str | None = self.meta.get("language")
        found = {question.language for question in self._questions.values() if question.language}
        self.languages: Sequence[str] = () if self.language else sorted(found)

    def view(self) -> "QuestionsView":
        """Return itself: it is read like an archive."""
        return self

    def set_meta(self, **values: Any) -> None:
        """Store facts about the questions, such as their language."""
        self.meta.update(values)

    def clusters(self) -> Clusters:
        """Return no duplicate clusters."""
        return Clusters({})

    def change_date(self, change: int) -> str | None:
        """Return None: the index cannot belong to other questions."""
        return None

    def deleted_docids(self, since: int = 0) -> list[int]:
        """Return nothing: no question is ever deleted."""
        return []

    def count_changed(self, since: int = 0) -> int:
        """Return the number of questions added after change `since`, which is 0 or 1."""
        return 0 if since else len(self._questions)

    def __len__(self) -> int:
        return len(self._questions)

    def questions(self, since: int = 0, with_answers: bool = False) -> Iterator[tuple[int, Question]]:
        """Yield docid and question of those added after change `since`."""
        yield from () if since else self._questions.items()

    def docids(self, ids: Iterable[str]) -> dict[str, int]:
        """Map each existing id to its docid."""
        return {id: self._docids[id] for id in ids if id in self._docids}

    def ids(self, docids: Iterable[int]) -> dict[int, str]:
        """Map each existing docid to its id."""
        return {docid: question.id for docid, question in self.questions_by_docid(docids).items()}

    def questions_by_docid(self, docids: Iterable[int]) -> dict[int, Question]:
        """Return the questions with these docids, by docid."""
        return {int(docid): self._questions[int(docid)] for docid in docids if int(docid) in self._questions}

    def accepted_answers(self, question_docids: Iterable[int]) -> dict[int, Answer]:
        """Return nothing: the questions have no answers."""
        return {}

    def votes(self, docids: Iterable[int]) -> Mapping[int, int]:
        """Map each docid to the votes of its question, if it has any."""
        return {docid: question.votes for docid, question in self.questions_by_docid(docids).items() if question.votes}

    def filtered_docids(self, filter: Filter) -> NDArray[np.int64]:
        """Return the docids of the questions that satisfy a filter, ascending."""
        allowed = [n for n, q in self._questions.items() if filter.allows(q.tags, q.created_at, q.states)]
        return np.array(allowed, np.int64)
