"""Search in a list of texts, without an archive: in memory, rankers see the list as a view of an archive."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from askalike import rankers
from askalike.core.arrays import Ints
from askalike.core.errors import ArchiveError, InputError
from askalike.core.filters import Filter
from askalike.core.hits import TYPED_QUERY_ID, Explanation, SearchHit
from askalike.core.iteration import check_list
from askalike.core.records import Answer, DocumentKind, Place, Question
from askalike.core.values import format_count
from askalike.index.engine import IN_MEMORY
from askalike.rankers import Ranker, Searcher
from askalike.search.archive_retriever import SearchRequest, SearchResult
from askalike.search.explain import explain_hits, extract_shown_snippet
from askalike.store import Clusters, Snapshot
from askalike.store.languages import LanguageAssigner
from askalike.store.records import check_record

T = TypeVar("T")


class ListedQuestions:
    """A list of questions as rankers read them, see `Snapshot`. Docids are positions, from 1; there are no links.

    language: an ISO 639-1 code; None to detect it, as an import does.
    """

    kind: DocumentKind = "questions"
    engine: str | None = IN_MEMORY
    before: str | None = None
    group: str | None = None
    path = Path(IN_MEMORY)
    last_change = 1
    labels_version = (0, 0)
    logged_count = 0

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

    def require_in_place(self) -> None:
        """Do nothing: the list has no folder that can be moved."""

    def view(self) -> "ListedQuestions":
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

    def answers(self, since: int = 0) -> Iterator[tuple[int, Answer]]:
        """Yield nothing: the questions have no answers."""
        yield from ()

    def logged_titles(self, count: int) -> Sequence[str]:
        """Return nothing: queries are not logged."""
        return ()

    def titles(self) -> Iterator[tuple[int, str, str]]:
        """Yield docid, id and title of every question."""
        for docid, question in self._questions.items():
            yield docid, question.id, question.title

    def docids(self, ids: Iterable[str]) -> dict[str, int]:
        """Map each existing id to its docid."""
        return {id: self._docids[id] for id in ids if id in self._docids}

    def ids(self, docids: Iterable[int]) -> dict[int, str]:
        """Map each existing docid to its id."""
        return {docid: question.id for docid, question in self.questions_by_docid(docids).items()}

    def ids_of(self, docids: Sequence[int]) -> list[str | None]:
        """Return the id of each docid, None for one that does not exist."""
        ids = self.ids(docids)
        return [ids.get(docid) for docid in docids]

    def questions_by_docid(self, docids: Iterable[int]) -> dict[int, Question]:
        """Return the questions with these docids, by docid."""
        return {int(docid): self._questions[int(docid)] for docid in docids if int(docid) in self._questions}

    def get_answers(self, ids: Iterable[str]) -> dict[str, Answer]:
        """Return nothing: the questions have no answers."""
        return {}

    def accepted_answers(self, question_docids: Iterable[int]) -> dict[int, Answer]:
        """Return nothing: the questions have no answers."""
        return {}

    def votes(self, docids: Iterable[int]) -> Mapping[int, int]:
        """Map each docid to the votes of its question, if it has any."""
        return {docid: question.votes for docid, question in self.questions_by_docid(docids).items() if question.votes}

    def filtered_docids(self, filter: Filter) -> Ints:
        """Return the docids of the questions that satisfy a filter, ascending."""
        allowed = [n for n, q in self._questions.items() if filter.allows(q.tags, q.created_at, q.states)]
        return np.array(allowed, np.int64)


class Retriever:
    """Finds the texts that ask the same as a query.

    texts: the id of a text is its position ("0", "1", …), so that equal texts are separate documents; a `Question` has
    its own id. ranker, settings: as for `askalike.build`. language: an ISO 639-1 code; None to detect it.

    Everything is in memory: there is no archive, and no file is written.
    Raises InputError if two documents have the same id or one is neither a string nor a `Question`, and SettingsError
    for an unknown ranker or setting.
    """

    def __init__(
        self,
        texts: Iterable[str | Question],
        ranker: str | Ranker | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        language: str | None = None,
    ) -> None:
        self._view: Snapshot = ListedQuestions(_make_questions(texts), language)
        created = rankers.create(ranker, settings)
        created.build(self._view)
        self._searcher: Searcher | None = created.open(self._view)

    def search(self, text: str, k: int = 5) -> SearchResult:
        """Return the k documents most similar to a text, best first; none if nothing is similar."""
        return self.search_many([text], k)[0]

    def search_many(self, texts: Iterable[str], k: int = 5) -> list[SearchResult]:
        """Return what `search` returns for each of the texts, in order. They are searched as one batch.

        Raises InputError for a query that is not a string, SettingsError for a k below 1.
        """
        started = time.perf_counter()
        searcher = self._searcher
        if searcher is None:
            raise ArchiveError("this Retriever is closed; make a new one")
        requests = [SearchRequest(text, k=k) for text in _list_texts(texts)]  # which checks them
        queries = [Question(f"{TYPED_QUERY_ID}{n or ''}", request.title) for n, request in enumerate(requests)]
        retrieved = rankers.search(searcher, {query.id: query for query in queries}, k)
        retrieved = rankers.add_absolute(searcher, retrieved)
        texts_by_docid = self._view.questions_by_docid(retrieved.distinct_docids)
        reasons = explain_hits(searcher, retrieved, retrieved.docids, texts_by_docid)
        rows = zip(retrieved.docids, retrieved.scores, retrieved.absolute or (), reasons, strict=True)
        hits = [
            [
                _make_hit(texts_by_docid[docid], score, value, own[docid])
                for docid, score, value in zip(docids.tolist(), scores.tolist(), absolute.tolist(), strict=True)
            ]
            for docids, scores, absolute, own in rows
        ]
        took_ms = (time.perf_counter() - started) * 1000
        return [SearchResult(row, took_ms) for row in hits]

    def __len__(self) -> int:
        return len(self._view)

    def __repr__(self) -> str:
        return f"Retriever({format_count(len(self), 'text')})"

    def close(self) -> None:
        """Release the index. The retriever must not be used afterwards."""
        self._searcher = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _list_texts(texts: Iterable[T]) -> list[T]:
    """Return the texts; raise InputError for a single string, and for a dict, whose keys would be taken as texts."""
    if isinstance(texts, Mapping):
        raise InputError("texts: expected a list, and not a dict; for ids of your own: [Question(id, text), …]")
    return list(check_list("texts", texts))


def _make_questions(texts: Iterable[str | Question]) -> list[Question]:
    questions = [Question(str(n), text) if isinstance(text, str) else text for n, text in enumerate(_list_texts(texts))]
    if wrong := [(n, text) for n, text in enumerate(questions) if not isinstance(text, Question)]:
        n, text = wrong[0]
        raise InputError(f"text {n}: expected a string or a Question, got {text!r}")
    for question in questions:
        check_record(question)
    if len({question.id for question in questions}) < len(questions):
        ids = [question.id for question in questions]
        repeated = next(id for n, id in enumerate(ids) if id in ids[:n])
        raise InputError(f"two documents have the id {repeated!r}; expected each id once (a text's id is its position)")
    return questions


def _make_hit(question: Question, score: float, absolute: float, reason: Explanation) -> SearchHit:
    """Return a hit without a calibration. absolute: its absolute score."""
    snippet = extract_shown_snippet(question, reason)
    return SearchHit(question, score, snippet, None, reason, min(max(absolute, 0.0), 1.0))
