"""A ranker with its own index, which follows the archive, and the fields of a question that it compares."""

import hashlib
import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from askalike.core.config import FieldNames, NumberList, Settings
from askalike.core.errors import NotFittedError, UnusableIndexError
from askalike.core.iteration import Progress, chunks
from askalike.core.records import Answer, AnsweredQuestion, Question
from askalike.core.values import check_field_weights, check_weights
from askalike.index.commits import remove_index
from askalike.index.engine import ArchiveIndex, FollowingWriter, IndexEngine, IndexLocation, open_engine
from askalike.index.rows import DocAttributes
from askalike.rankers._ranker import Ranker
from askalike.store import Snapshot
from askalike.text.words import title_key

TITLE_FACTOR = 0.1
"""Factor of the title's weight, next to other fields, in a query that is no title, see `is_title`.

Measured on duplicates among whole questions of cs.stackexchange.com (n = 210).
"""
ANSWER_WEIGHT = 0.5
"""Weight of accepted answers next to title and text; measured on an FAQ (n = 664), see commit f7867fc0."""
log = logging.getLogger(__name__)
_opening = Lock()
"""Held while an index is opened, so that threads that share a ranker get the same one."""
SearcherT = TypeVar("SearcherT")
WriterT = TypeVar("WriterT", bound=FollowingWriter)


class FieldSettings(Settings):
    """The fields of a question that a ranker compares. Each ranker has its own default of `fields`."""

    fields: FieldNames
    field_weights: Annotated[NumberList, AfterValidator(check_weights)] | None = None
    title_factor: float = Field(
        TITLE_FACTOR,
        gt=0,
        le=1,
        description="factor of the title's weight, with several fields, in queries with bodies or pasted from code",
    )
    rephrasings: bool = True

    @model_validator(mode="after")
    def _check_field_weights(self) -> Self:
        check_field_weights(self.field_names, self.field_weights)
        return self

    @property
    def field_names(self) -> tuple[str, ...]:
        """The fields in their order in the index."""
        return tuple(self.fields.split(","))

    def reads(self, part: Literal["title", "body"]) -> bool:
        """Return whether titles or bodies are among the fields, alone or as a part of the whole text."""
        return not {part, "text"}.isdisjoint(self.field_names)

    @property
    def finds_titles(self) -> bool:
        """Whether a question with exactly the typed title comes first: titles are a field next to others."""
        return "title" in self.field_names and len(self.field_names) > 1

    def titles(self, question: Question) -> Sequence[str]:
        """Return the titles by which a question is found first: its own, and its rephrasings."""
        if not self.finds_titles:
            return ()
        return (question.title, *(question.rephrasings if self.rephrasings else ()))


def changed_documents(
    view: Snapshot, since: int, settings: FieldSettings
) -> Iterator[tuple[int, Question | Answer, DocAttributes]]:
    """Yield docid, document and the attributes of those added or changed after a change number.

    With the field `answer`, questions come with their accepted answers.
    """
    if view.kind == "answers":
        for docid, answer in view.answers(since):
            yield docid, answer, DocAttributes()
        return
    names = settings.field_names
    for batch in chunks(view.questions(since, "answer" in names)):
        questions = dict(batch)
        for docid, question in (add_answers(view, questions) if "answer" in names else questions).items():
            keys = tuple(map(title_key, settings.titles(question)))
            yield docid, question, DocAttributes(question.tags, question.created_at, question.states, keys)


def add_answers(view: Snapshot, questions: Mapping[int, Question]) -> Mapping[int, Question]:
    """Return questions by docid, with their accepted answers."""
    answers = view.accepted_answers(questions)
    return {docid: AnsweredQuestion.of_question(question, answers.get(docid)) for docid, question in questions.items()}


class IndexedRanker(Ranker, Generic[SearcherT, WriterT]):
    """Ranking with one index per view, in the archive's directory or in the view's engine.

    The last opened index is kept open, since checking it for changes is faster than opening it.
    """

    _opened: tuple[tuple[str | None, Path, str], ArchiveIndex[SearcherT, WriterT]] | None = None

    @abstractmethod
    def _index_name(self, view: Snapshot) -> str:
        """Return the type of the index's content, and a digest of all settings that determine it."""

    @abstractmethod
    def _open_index(
        self, engine: IndexEngine, location: IndexLocation, view: Snapshot
    ) -> ArchiveIndex[SearcherT, WriterT]:
        """Return the index. Raises SettingsError if the engine does not support the ranker."""

    @abstractmethod
    def _write_documents(self, view: Snapshot, writer: WriterT) -> Iterator[int]:
        """Write the documents that the index lacks; yield the number of documents so far, now and then."""

    def build(self, view: Snapshot, progress: Progress | None = None) -> None:
        change = view.change
        if not change:  # an empty archive, or a view of what is committed
            return
        index = self._cached_index(view)
        try:
            index.refresh()
        except UnusableIndexError as error:
            _log_rebuild(error)
            index.start_rebuild()
        if (date := index.change_date) and date != view.change_date(index.change):  # the database was replaced since
            index.start_rebuild()
        while index.change < change:
            with index.write_lock():
                if index.change < change:
                    self._apply_changes(view, index, view.change, progress)

    def _apply_changes(
        self, view: Snapshot, index: ArchiveIndex[SearcherT, WriterT], change: int, progress: Progress | None
    ) -> None:
        view.require_in_place()
        with index.writer(change) as writer:
            view.require_in_place()  # from now on the index notices for itself
            with self._record_progress(view, writer) as record:
                writer.delete(view.deleted_docids(writer.change))
                total = view.count_changed(writer.change) if progress else 0
                for done in self._write_documents(view, writer):
                    record(done)
                    if progress:
                        progress(done, total)
                writer.commit(change, view.change_date(change))

    def _record_progress(self, view: Snapshot, writer: WriterT) -> AbstractContextManager[Callable[[int], None]]:
        """Return the context of an update, which records why it fails; its function takes the number of documents."""
        return nullcontext(lambda done: None)

    def index_paths(self, view: Snapshot) -> Sequence[Path]:
        """Return the directory of the view's index; views up to a date, or of one group, have their own."""
        return () if view.engine else (_locate(view, self._full_name(view)).folder,)

    def start_rebuild(self, view: Snapshot) -> None:
        """See Ranker.start_rebuild. An engine may search the current index until the new one is complete."""
        if view.engine:
            self._cached_index(view).start_rebuild()
        else:
            super().start_rebuild(view)

    def indexes(self, view: Snapshot, *, refresh: bool = True) -> Sequence[ArchiveIndex[Any, Any]]:
        """See Ranker.indexes."""
        return (self._current_index(view) if refresh else self._cached_index(view),)

    def _built_index(self, view: Snapshot) -> ArchiveIndex[SearcherT, WriterT]:
        """Return the view's index for a search. Raises NotFittedError if it was never built."""
        index = self._current_index(view)
        if not index.change and view.change:
            raise NotFittedError(f"{self.name}: not indexed yet; call build(view) first")
        return index

    def _current_index(self, view: Snapshot) -> ArchiveIndex[SearcherT, WriterT]:
        """Return the view's index as last committed; as it was before if the last commit is damaged or has vanished."""
        index = self._cached_index(view)
        index.refresh(keep=True)
        return index

    def _cached_index(self, view: Snapshot) -> ArchiveIndex[SearcherT, WriterT]:
        """Return the view's index without checking for new commits; an unusable one is removed, to be built again."""
        name = self._full_name(view)
        key = (view.engine, view.path, name)
        with _opening:
            opened = self._opened
            if opened is None or opened[0] != key:
                engine = open_engine(view.engine)
                location = _locate(view, name, view.change_date(1))
                try:
                    index = self._open_index(engine, location, view)
                except UnusableIndexError as error:
                    _log_rebuild(error)
                    remove_index(error.path)
                    index = self._open_index(engine, location, view)
                self._opened = opened = key, index
        return opened[1]

    def _full_name(self, view: Snapshot) -> str:
        name = self._index_name(view)
        if not view.before and not view.group:
            return name
        return f"{name}-{hashlib.sha256(f'{view.before} {view.group}'.encode()).hexdigest()[:32]}"


def _locate(view: Snapshot, name: str, created_at: str | None = None) -> IndexLocation:
    return IndexLocation(view.path, created_at, name)


def _log_rebuild(error: UnusableIndexError) -> None:
    log.warning("%s: %s; rebuilding it", error.path, error.problem)
