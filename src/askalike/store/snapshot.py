"""What rankers need of the texts that they rank: a view of an archive has it, and so has a list of texts in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from askalike.core.arrays import Ints
from askalike.core.filters import Filter
from askalike.core.records import Answer, DocumentKind, Question
from askalike.store.labels import Clusters


class Snapshot(Protocol):
    """Questions (or answers) by docid at one point in time; see `View`."""

    __slots__ = ()

    @property
    def path(self) -> Path:
        """The directory of the archive."""

    @property
    def kind(self) -> DocumentKind:
        """Whether the documents are questions or answers."""

    @property
    def before(self) -> str | None:
        """The date before which they were created; None for all."""

    @property
    def group(self) -> str | None:
        """The data set that they belong to; None for all."""

    @property
    def engine(self) -> str | None:
        """The address of the engine that holds the indexes; None for the archive's directory."""

    @property
    def language(self) -> str | None:
        """The language of all of them; None if there are several or it is unknown."""

    @property
    def languages(self) -> Sequence[str]:
        """Their languages, if there are several."""

    @property
    def change(self) -> int:
        """The change number up to which indexes are updated: the last one; 0 for an empty archive."""

    @property
    def last_change(self) -> int:
        """The number of the last change, indexed or not; 0 for an empty archive."""

    @property
    def labels_version(self) -> tuple[int, int]:
        """The number of links and the number of the last import, which change when labels are added."""

    def __len__(self) -> int: ...

    def require_in_place(self) -> None:
        """Raise ArchiveError if the directory was moved."""

    def change_date(self, change: int) -> str | None:
        """Return the time of a change (ISO 8601, UTC), which differs between archives; None if it never happened."""

    def count_changed(self, since: int = 0) -> int:
        """Return the number of documents added or changed after change `since`."""

    def deleted_docids(self, since: int = 0) -> list[int]:
        """Return the docids removed after change `since`: deleted, or with a new date after the end of the snapshot."""

    def questions(self, since: int = 0, with_answers: bool = False) -> Iterator[tuple[int, Question]]:
        """Yield docid and question of those changed after change `since`, by docid, reading a few at a time.

        with_answers: also those whose accepted answer has changed.
        """

    def questions_by_docid(self, docids: Iterable[int]) -> dict[int, Question]:
        """Return the questions with these docids, by docid."""

    def answers(self, since: int = 0) -> Iterator[tuple[int, Answer]]:
        """Yield docid and answer of those changed after change `since`, by docid, reading a few at a time."""

    def get_answers(self, ids: Iterable[str]) -> dict[str, Answer]:
        """Return the answers with these ids, by id."""

    def accepted_answers(self, question_docids: Iterable[int]) -> dict[int, Answer]:
        """Map the docid of each question with an accepted answer to that answer."""

    def titles(self) -> Iterator[tuple[int, str, str]]:
        """Yield docid, id and title of every question, by docid."""

    def ids(self, docids: Iterable[int]) -> dict[int, str]:
        """Map each existing docid to its id."""

    def docids(self, ids: Iterable[str]) -> dict[str, int]:
        """Map each existing id to its docid."""

    def ids_of(self, docids: Sequence[int]) -> list[str | None]:
        """Return the id of each docid, None for one that does not exist."""

    def votes(self, docids: Iterable[int]) -> Mapping[int, int]:
        """Map each existing docid to its votes, if these are not 0."""

    def filtered_docids(self, filter: Filter) -> Ints:
        """Return the docids of the questions that satisfy a filter, or of the answers to them, ascending."""

    def clusters(self) -> Clusters:
        """Return the duplicate clusters of the whole archive, with those of held-out splits marked."""
