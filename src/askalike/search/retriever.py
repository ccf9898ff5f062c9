"""Search in a list of texts, without an archive."""

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar, cast

from askalike import rankers
from askalike.core.errors import ArchiveError, InputError
from askalike.core.iteration import check_list
from askalike.core.types import Place, Question
from askalike.search.engine import LocalEngine, SearchRequest, SearchResult
from askalike.store import Archive
from askalike.store.languages import LanguageAssigner
from askalike.store.records import check_record

T = TypeVar("T")


class Retriever:
    """Finds the texts that ask the same as a query.

    texts: the id of a text is its position ("0", "1", …), so that equal texts are separate documents; a `Question` has
    its own id. ranker, settings: as for `askalike.build`. language: an ISO 639-1 code; None to detect it.

    Everything is in a temporary folder, which is removed with the object, by `close`, or at the end of a `with` block.
    Raises InputError if two documents have the same id or one is neither a string nor a `Question`, and SettingsError
    for an unknown ranker or setting.
    """

    def __init__(
        self,
        texts: Iterable[str | Question],
        ranker: str | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        language: str | None = None,
    ) -> None:
        questions = _make_questions(texts)
        archive = Archive.create(tempfile.mkdtemp(prefix="askalike-"))
        self._finalizer = weakref.finalize(self, _remove_archive, archive)
        _store_questions(archive, questions, language)
        self._engine = LocalEngine(archive, rankers.create(ranker, settings, archive))
        self._engine.searcher()  # so that the first search does not wait for the index

    def search(self, text: str, k: int = 5) -> SearchResult:
        """Return the k documents most similar to a text, best first; none if nothing is similar."""
        return self.search_many([text], k)[0]

    def search_many(self, texts: Iterable[str], k: int = 5) -> list[SearchResult]:
        """Return what `search` returns for each of the texts, in order. They are searched as one batch.

        Raises InputError for a query that is not a string.
        """
        if not self._finalizer.alive:
            raise ArchiveError("this Retriever is closed; make a new one")
        queries = _list_texts(texts)
        for text in queries:
            if not isinstance(text, str):
                raise InputError(f"query {text!r}: expected a string; for several texts there is search_many")
        return self._engine.search_batch([SearchRequest(text, k=k, min_similarity=0.0) for text in queries])

    def __len__(self) -> int:
        return len(self._engine.archive.view())

    def close(self) -> None:
        """Remove the temporary folder. The retriever must not be used afterwards."""
        self._finalizer()

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


def _store_questions(archive: Archive, questions: Sequence[Question], language: str | None) -> None:
    languages = LanguageAssigner(archive, {}, language)
    with archive.open_writer() as writer:
        for question, _ in languages.assign_languages((question, Place("")) for question in questions):
            writer.put(cast(Question, question))
    languages.store_languages()


def _remove_archive(archive: Archive) -> None:
    archive.close()
    shutil.rmtree(archive.path, ignore_errors=True)
