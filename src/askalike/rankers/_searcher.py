"""A ranker opened at one point in time."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

from askalike.core.filters import AllowedDocs
from askalike.index.engine import TitlesSearcher
from askalike.rankers._queries_and_results import Docids, Explanations, ResolvedQuery, Retrieved, Texts
from askalike.store import Snapshot
from askalike.text.words import title_key

TYPED_DEPTH = 48
"""Maximum number of documents from each part of a hybrid while a question is typed."""
DEPTH_FACTOR = 4
"""Factor by which the depth of a search is increased if too few hits remain."""


class Corrector(Protocol):
    """Corrects the words of queries by those of an archive; see SpellingCorrector."""

    def correct(self, queries: list[ResolvedQuery], /) -> list[ResolvedQuery]:
        """Return the queries with the misspelt words of their titles corrected."""

    def finish(self, queries: Sequence[ResolvedQuery], /) -> list[ResolvedQuery]:
        """Return the queries with their unfinished last words completed."""


class Searcher(ABC):
    """A ranker at one point in time: the index as it was committed when `Ranker.open` was called. Threads share it."""

    correctors: Sequence[Corrector] = ()
    """Correct the spelling of queries with the searcher's own words."""
    completes_words = False
    """Whether unfinished words of queries are completed, for a part that reads whole words."""
    detects_language = False
    """Whether the language of a query matters where neither query nor archive has one."""
    languages: Sequence[str] | None = None
    """The languages that its encoder knows, see Ranker.languages."""
    proposes = True
    """Whether it can retrieve, and not only score documents that other rankers retrieve."""
    titles: TitlesSearcher | None = None
    """Looks up titles; None if titles are no field beside others."""
    adds_titles = True
    """Whether a question with exactly the typed title that was not retrieved is added."""
    has_similarity = False
    """Whether a score is a similarity of two texts, independent of the other hits, as a cosine is."""

    def __init__(self, name: str, view: Snapshot) -> None:
        self.name, self.view = name, view
        self.language = view.language
        """The language of the whole archive; None if it has several or an unknown one."""
        self.text_languages = view.languages if self.language is None else ()
        """The languages of a multilingual archive; empty for any other."""

    def find_titles(self, queries: Sequence[ResolvedQuery]) -> Mapping[int, Sequence[int]]:
        """Look up the questions whose titles are equal to those of the queries but for case and punctuation.

        Returns the row of a query → their docids, ascending. A query with a body has none.
        """
        if self.titles is None:
            return {}
        keys = [0 if one.query.body else title_key(one.query.title) for one in queries]
        return self.titles.find_titles(keys, [one.excluded for one in queries])

    @abstractmethod
    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        """Return the k best documents of each query, ties by docid. allowed: those that may be found; None for all."""

    @abstractmethod
    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        """Return each query's documents in the given order, retrieved or not, with their scores and absolute scores.

        known: what this searcher retrieved for the same queries, so that nothing is encoded or scored twice.
        """

    @abstractmethod
    def explain(self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts) -> list[Explanations]:
        """Return for each query docid → why it has its score, for some of its retrieved documents.

        retrieved: from this searcher. texts: the documents by docid.
        """


def add_absolute(searcher: Searcher, retrieved: Retrieved) -> Retrieved:
    """Return what was retrieved with the absolute score of each document."""
    if retrieved.absolute is not None:
        return retrieved
    return searcher.score(retrieved.queries, retrieved.docids, retrieved)
