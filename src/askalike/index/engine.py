"""The indexes that rankers use, which follow an archive, and the engines that open them.

An engine keeps indexes in a place of its own. `FileEngine` has them in the archive's directory; others are registered
as kind `engine` and named by an address: `NAME+URL`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from askalike.core import registry
from askalike.core.arrays import Array, Floats, Vectors
from askalike.core.errors import SettingsError
from askalike.core.filters import AllowedDocs
from askalike.core.hits import TopDocs
from askalike.index.commits import ChangeWriter
from askalike.index.lexical.index import LexicalIndex, LexicalLayout
from askalike.index.lexical.prepared import FieldWeights, QueryTerms
from askalike.index.lexical.searcher import CandidateMatches, TermContributions
from askalike.index.lexical.term_scores import TermScorer
from askalike.index.lexical.vocabulary import NearSearch, NearTerm
from askalike.index.rows import DocAttributes, Excluded
from askalike.index.vectors.index import VectorIndex, VectorLayout
from askalike.index.vectors.searcher import VectorQueries

IN_MEMORY = "memory"
"""The address of indexes in this process."""
SearcherT_co = TypeVar("SearcherT_co", covariant=True)
WriterT_co = TypeVar("WriterT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class IndexLocation:
    """The place of an index: its archive and its name.

    created_at: the date of the archive's first change, None for an empty archive.
    """

    archive: Path
    created_at: str | None
    name: str

    @property
    def folder(self) -> Path:
        """The index's folder in the archive's directory."""
        return self.archive / "index" / self.name


class ArchiveIndex(Protocol[SearcherT_co, WriterT_co]):
    """An index that follows an archive's numbered changes."""

    @property
    def change(self) -> int:
        """The archive's change number up to which the index is synchronised; 0 if it must be built."""

    @property
    def change_date(self) -> str | None:
        """The time of that change, which differs between archives; None if it is unknown."""

    @property
    def searcher(self) -> SearcherT_co:
        """The searcher of the state last read or committed."""

    def refresh(self, *, keep: bool = False) -> object:
        """Read the state again if another process has committed. Raises UnusableIndexError for another version.

        keep: for a search, which continues with the last state if the new one cannot be used.
        """

    def write_lock(self) -> AbstractContextManager[None]:
        """Wait while another thread updates the index."""

    def writer(self, change: int) -> AbstractContextManager[WriterT_co]:
        """Open a writer for the changes up to a number. Raises IndexBusyError if another process writes."""

    def start_rebuild(self) -> None:
        """Make the next writer build the index from scratch."""


class FollowingWriter(ChangeWriter, Protocol):
    """A writer that knows what the index has already."""

    @property
    def change(self) -> int:
        """The change number up to which everything is in the index already."""

    @property
    def sent_docid(self) -> int:
        """Documents up to this docid were sent by an interrupted update that is continued; 0 for none."""


class TermsWriter(FollowingWriter, Protocol):
    """Adds documents as lists of terms; see LexicalWriter."""

    def add(self, docid: int, phrasings: Sequence[tuple[int, Sequence[str]]], attributes: DocAttributes) -> None:
        """Add a question (or an answer) as (phrasing, terms), its own text being phrasing 0. Docids must ascend.

        The terms are those of all fields, see `mark_terms`.
        """


class VectorsWriter(FollowingWriter, Protocol):
    """Adds documents as vectors; see VectorWriter."""

    def add(self, docids: Array, phrasings: Array, vectors: Vectors, attributes: Sequence[DocAttributes]) -> None:
        """Add one row for each (docid, phrasing). Docids must ascend."""


class Speller(Protocol):
    """Finds terms that are spelt similarly to a word; see TermVocabulary."""

    def count(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the df of each term that a live document contains, at least 1; others are left out."""

    def docids_of_each(self, terms: Sequence[str], count: int) -> list[list[int]]:
        """Return the lowest docids of the questions that contain each term, up to a limit."""

    def near_each(self, searches: Sequence[NearSearch]) -> list[list[NearTerm]]:
        """Return the terms near each word, best first."""


class TitlesSearcher(Protocol):
    """Looks up titles in a state of an index."""

    def find_titles(self, keys: Sequence[int], exclusions: Sequence[Excluded | None]) -> Mapping[int, Sequence[int]]:
        """Return the docids of the questions with each query's title, see `rows.find_titles`.

        The mapping may be lazy, so that an engine looks up titles together with the next search.
        """


class PreparedTerms(Protocol):
    """Queries whose terms a searcher has looked up; only that searcher can use them."""

    @property
    def queries(self) -> Sequence[QueryTerms]:
        """The queries."""


class TermsSearcher(TitlesSearcher, Protocol):
    """Searches a state of an inverted index; see PostingsSearcher. `prepared` is what `prepare` returned."""

    @property
    def speller(self) -> Speller:
        """Finds terms that are spelt similarly to a word."""

    def prepare(self, queries: Sequence[QueryTerms], similarity: TermScorer, fields: FieldWeights) -> PreparedTerms:
        """Look up the queries' terms, once for all other methods. fields: how the scores of fields are summed."""

    def search(self, prepared: Any, k: int, allowed: AllowedDocs | None = None) -> Sequence[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing."""

    def match(
        self, prepared: Any, candidates: Sequence[Array], known: Sequence[TopDocs] | None = None
    ) -> CandidateMatches:
        """Match each query with its candidates: docids in any order. known: retrieved ones, with their scores."""

    def contributions(
        self, prepared: Any, candidates: Sequence[Array], known: CandidateMatches | None = None
    ) -> list[list[TermContributions]]:
        """Return the contribution of each term to the score of each query's candidates. known: from `match`."""

    def complete(self, prefix: str) -> list[str]:
        """Return the terms that begin with a prefix, by descending document frequency."""


class VectorsSearcher(TitlesSearcher, Protocol):
    """Searches a state of an index of vectors; see VectorSearcher."""

    def search(self, queries: VectorQueries, k: int, allowed: AllowedDocs | None = None) -> Sequence[TopDocs]:
        """Return the k best questions of each query, each by its best phrasing. A query of zeros finds nothing."""

    def score(
        self, queries: VectorQueries, candidates: Sequence[Array], known: Sequence[TopDocs] | None = None
    ) -> list[Floats]:
        """Return the score of each query's candidates: docids in any order; NaN if a vector is missing or zero.

        known: retrieved ones, which need not be scored again.
        """

    def best_phrasing(self, queries: VectorQueries, q: int, docid: int) -> int:
        """Return the phrasing of a question that scores best for a query; 0 if it has no vector."""


class IndexEngine(Protocol):
    """Opens the indexes of archives; the contract of the kind `engine`."""

    @classmethod
    def connect(cls, url: str) -> Self:
        """Return the engine at an address. Raises SettingsError for an invalid one, EngineError if nothing answers."""

    def lexical(
        self, location: IndexLocation, layout: LexicalLayout, similarity: TermScorer
    ) -> ArchiveIndex[TermsSearcher, TermsWriter]:
        """Open an inverted index. Raises SettingsError for a layout or a similarity that the engine cannot have."""

    def vectors(
        self, location: IndexLocation, layout: VectorLayout, exact_up_to: int, count_documents: Callable[[], int]
    ) -> ArchiveIndex[VectorsSearcher, VectorsWriter]:
        """Open an index of vectors.

        exact_up_to: maximum number of documents at which a search must be exact. count_documents: returns their number.
        """


class FileEngine(IndexEngine):
    """The indexes in the archive's directory."""

    @classmethod
    def connect(cls, url: str) -> Self:
        return cls()

    def lexical(self, location: IndexLocation, layout: LexicalLayout, similarity: TermScorer) -> LexicalIndex:
        return LexicalIndex.open(location.folder, layout)

    def vectors(
        self, location: IndexLocation, layout: VectorLayout, exact_up_to: int, count_documents: Callable[[], int]
    ) -> VectorIndex:
        return VectorIndex.open(location.folder, layout)


class MemoryEngine(FileEngine):
    """Indexes in the memory of this process, which end with it."""

    def lexical(self, location: IndexLocation, layout: LexicalLayout, similarity: TermScorer) -> LexicalIndex:
        return LexicalIndex.create(layout=layout)

    def vectors(
        self, location: IndexLocation, layout: VectorLayout, exact_up_to: int, count_documents: Callable[[], int]
    ) -> VectorIndex:
        return VectorIndex.create(layout=layout)


def open_engine(address: str | None) -> IndexEngine:
    """Return the engine of an address, `NAME+URL` or IN_MEMORY; None for the indexes in the archive's directory.

    Raises SettingsError for an unknown name or an invalid address, EngineError if nothing answers.
    """
    if address is None:
        return FileEngine()
    if address == IN_MEMORY:
        return MemoryEngine()
    name, _, url = parse_address(address).partition("+")
    engine: IndexEngine = registry.load("engine", name).connect(url)
    return engine


def parse_address(address: str) -> str:
    """Return an engine's address, `NAME+URL`. Raises SettingsError if no installed package has that engine."""
    name, plus, _ = address.partition("+")
    if not plus or not registry.find_kind(name, ("engine",)):
        known = ", ".join(registry.names("engine")) or "none, as no installed package adds an engine"
        raise SettingsError(f"engine {hide_login(address)}: expected NAME+URL, with NAME one of: {known}")
    return address


def hide_login(url: str) -> str:
    """Return an address without the user and the password in it."""
    before, at, after = url.rpartition("@")
    return f"{before.partition('//')[0]}//…@{after}" if at else url
