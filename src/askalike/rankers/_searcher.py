"""Queries, a ranker opened at one point in time, and what it retrieves: arrays, to which nothing is added later.

Queries are read once: cleaned, corrected, and with the documents that each must not find. Ids are converted to docids
in queries, and back to ids in results; everything in between uses docids.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, model_validator

from askalike.core.config import FieldNames, NumberList, Settings
from askalike.core.filters import AllowedDocs
from askalike.core.types import TYPED_QUERY_ID, Explanation, Question, TopDocs
from askalike.core.values import check_field_weights, check_weights
from askalike.index.engine import TitlesSearcher
from askalike.index.rows import Excluded, find_distinct
from askalike.store import View
from askalike.text.words import title_key

TITLE_FACTOR = 0.1
"""Factor of the title's weight, beside other fields, in a query that is no title, see `is_title`.

Measured on duplicates among whole questions of cs.stackexchange.com; see experiments/log/2026-11.md.
"""
ANSWER_WEIGHT = 0.5
"""Weight of accepted answers beside title and text; measured on an FAQ, see experiments/log/2026-11.md."""
CODE_SHARE = 1 / 3
"""Share of words with a sign of code from which a query was pasted from code; one title in a hundred has it."""
_FORMULA = re.compile(r"\$[^$]*\$?")
_SIGN_OF_CODE = re.compile(r"[^\w\s'’\"“”?!.,:&/\u2010-\u2015-]")
PHRASING_NUMBER = re.compile("[1-9][0-9]{0,4}")
Scores = NDArray[np.float64]
Docids = NDArray[np.int64]
Texts = Mapping[int, Question]
Explanations = dict[int, Explanation]
"""Docid → why that document has its score."""
TYPED_DEPTH = 48
"""Maximum number of documents from each part of a hybrid while a question is typed."""
DEPTH_FACTOR = 4
"""Factor by which the depth of a search is increased if too few hits remain."""
COLUMNS: Final = ("docids", "scores", "absolute", "similarities")
"""The parts of `Retrieved` that are arrays with a row for each document."""


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
        """Whether a question with exactly the typed title comes first: titles are a field beside others."""
        return "title" in self.field_names and len(self.field_names) > 1

    def titles(self, question: Question) -> Sequence[str]:
        """Return the titles by which a question is found first: its own, and its rephrasings."""
        if not self.finds_titles:
            return ()
        return (question.title, *(question.rephrasings if self.rephrasings else ()))


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query as rankers read it.

    excluded: the question that it is, or the phrasing of one, which it must not find. id: its id in the run. text: the
    plain text of its title. language: None if unknown. prefix: whether its last word may be unfinished. corrections:
    misspelt or unfinished word as typed → the word that replaces it in `query` and `text`. finished: the query with its
    unfinished word completed, for rankers that read whole words; None if it has none.
    """

    query: Question
    excluded: Excluded | None = None
    id: str = ""
    text: str = ""
    language: str | None = None
    prefix: bool = False
    corrections: Mapping[str, str] = field(default_factory=dict)
    finished: Question | None = None


def is_title(query: Question) -> bool:
    """Return whether a query is a title as people type it: it has no body, and was not pasted from code.

    A formula between dollar signs counts as one plain word.
    """
    text = _FORMULA.sub(" formula ", query.title) if "$" in query.title else query.title
    if query.body or not _SIGN_OF_CODE.search(text):
        return not query.body
    words = text.split()
    return sum(map(bool, map(_SIGN_OF_CODE.search, words))) < CODE_SHARE * len(words)


def exclude_own(view: View, queries: Sequence[ResolvedQuery]) -> list[ResolvedQuery]:
    """Return the queries with the questions of another view that they must not find."""
    excluded = find_excluded(view, [one.query for one in queries])
    return [replace(one, excluded=excluded.get(one.query.id)) for one in queries]


def find_excluded(view: View, queries: Collection[Question]) -> dict[str, Excluded]:
    """Return the id of a query → the question that it is, or the phrasing of one."""
    ids = {query.id for query in queries if not query.id.startswith(TYPED_QUERY_ID)}
    if not ids or view.kind == "answers":
        return {}
    own = view.docids(ids)
    parts = {id: id.rpartition("#") for id in ids if id not in own}
    phrased = {id: (base, int(n)) for id, (base, _, n) in parts.items() if base and PHRASING_NUMBER.fullmatch(n)}
    bases = view.docids({base for base, _ in phrased.values()}) if phrased else {}
    excluded = {id: Excluded(docid) for id, docid in own.items()}
    return excluded | {id: Excluded(bases[base], n) for id, (base, n) in phrased.items() if base in bases}


@dataclass(frozen=True, slots=True, eq=False)
class Retrieved:
    """Documents of some queries with their scores: retrieved ones, best first, or given ones in the given order.

    docids, scores: for each query (n,); higher is better, NaN for a document without a score.
    absolute: the scores on a scale shared by all queries, 1 for the same text, (n,) each; None if not known yet, see
    `add_absolute`. similarities: for each query (n,), similarities of the texts that do not depend on other hits; None
    for a ranker without any. vectors: (queries, dim), of length 1, whose products with those of texts are similarities;
    None for a ranker without dense ones.
    parts: for a hybrid, what each of its parts retrieved and scored, over the pool of each query.
    encoded, matches: what the searcher read for these queries, their terms (`PreparedQueries`) or vectors
    (`VectorQueries`), and the terms found in each document (`CandidateMatches`). Only that searcher uses them, to score
    and explain the same documents without reading again.
    """

    queries: Sequence[ResolvedQuery]
    docids: Sequence[Docids]
    scores: Sequence[Scores]
    absolute: Sequence[Scores] | None = None
    similarities: Sequence[Scores] | None = None
    vectors: NDArray[np.float32] | None = None
    parts: Sequence["Retrieved"] = ()
    encoded: Any = None
    matches: Any = None

    @property
    def topdocs(self) -> list[TopDocs]:
        """The documents of each query with their scores."""
        return list(map(TopDocs, self.docids, self.scores))

    @property
    def distinct_docids(self) -> list[int]:
        """The docids retrieved for any query, ascending."""
        docids: list[int] = find_distinct(np.concatenate([np.empty(0, np.int64), *self.docids])).tolist()
        return docids

    def select(self, positions: Sequence[NDArray[Any]]) -> Self:
        """Return some of each query's documents, by their positions."""
        chosen: dict[str, Any] = {}
        for name in COLUMNS:
            if column := getattr(self, name):
                chosen[name] = [own[at] for own, at in zip(column, positions, strict=True)]
        return replace(self, **chosen)

    def replace_rows(self, rows: Sequence[int], others: "Retrieved") -> "Retrieved":
        """Return the same with other documents for some of the queries. others: of these queries alone."""
        changed: dict[str, Any] = {}
        for name in COLUMNS:
            own, new = getattr(self, name), getattr(others, name)
            by_row = None if own is None or new is None else dict(zip(rows, new, strict=True))
            changed[name] = by_row and [by_row.get(row, column) for row, column in enumerate(own)]
        pairs = zip(self.parts, others.parts, strict=True)
        return replace(self, **changed, parts=[part.replace_rows(rows, other) for part, other in pairs])

    def best(self, k: int) -> Self:
        """Return the k best documents of each query, ties by docid, without those that have no score."""
        positions = []
        for docids, scores in zip(self.docids, self.scores, strict=True):
            scored = np.flatnonzero(~np.isnan(scores))
            positions.append(scored[np.lexsort((docids[scored], -scores[scored]))[:k]])
        return self.select(positions)


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

    def __init__(self, name: str, view: View) -> None:
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


def fill_missing(scores: Scores) -> Scores:
    """Return the scores with 0 for missing ones."""
    return np.where(np.isnan(scores), 0.0, scores)
