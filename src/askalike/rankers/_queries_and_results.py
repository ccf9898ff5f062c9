"""Queries, their resolution, and results: arrays, to which nothing is added later.

Queries are resolved once: checked, cleaned, corrected, and with the documents that each must not find. Ids are
converted to docids in queries, and back to ids in results; everything in between uses docids.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from askalike.core.arrays import Array, Docids, Floats32, Scores
from askalike.core.errors import InputError
from askalike.core.hits import TYPED_QUERY_ID, Explanation, TopDocs
from askalike.core.records import Question
from askalike.index.rows import Excluded, find_distinct
from askalike.store import Snapshot
from askalike.text.clean import plain_text
from askalike.text.language import detect_foreign_language, detect_language

CODE_SHARE = 1 / 3
"""Share of words with a sign of code from which a query was pasted from code; one title in a hundred has it."""
_FORMULA = re.compile(r"\$[^$]*\$?")
_SIGN_OF_CODE = re.compile(r"[^\w\s'’\"“”?!.,:&/\u2010-\u2015-]")
PHRASING_NUMBER = re.compile("[1-9][0-9]{0,4}")
Texts = Mapping[int, Question]
Explanations = dict[int, Explanation]
"""Docid → why that document has its score."""
ArrayT = TypeVar("ArrayT", bound=Array)


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query as rankers read it.

    excluded: the question that it is, or the phrasing of one, which it must not find. id: its id in the run. text: the
    plain text of its title. language: None if unknown. is_foreign: whether it is in none of the texts' languages, and
    the encoder compares it with them all the same. prefix: whether its last word may be unfinished. corrections:
    misspelt or unfinished word as typed → the word that replaces it in `query` and `text`. finished: the query with its
    unfinished word completed, for rankers that read whole words; None if it is complete. completions: see Completion.
    """

    query: Question
    excluded: Excluded | None = None
    id: str = ""
    text: str = ""
    language: str | None = None
    is_foreign: bool = False
    prefix: bool = False
    corrections: Mapping[str, str] = field(default_factory=dict)
    finished: Question | None = None
    completions: Mapping[str, float] = field(default_factory=dict)


def is_title(query: Question) -> bool:
    """Return whether a query is a title as people type it: it has no body, and was not pasted from code.

    A formula between dollar signs counts as one plain word.
    """
    text = _FORMULA.sub(" formula ", query.title) if "$" in query.title else query.title
    if query.body or not _SIGN_OF_CODE.search(text):
        return not query.body
    words = text.split()
    return sum(map(bool, map(_SIGN_OF_CODE.search, words))) < CODE_SHARE * len(words)


class Corrector(Protocol):
    """Corrects the words of queries by those of an archive; see SpellingCorrector."""

    def correct(self, queries: list[ResolvedQuery], /) -> list[ResolvedQuery]:
        """Return the queries with the misspelt words of their titles corrected."""

    def finish(self, queries: Sequence[ResolvedQuery], /) -> list[ResolvedQuery]:
        """Return the queries with what their unfinished last words may be."""


class QueryReader(Protocol):
    """What the resolution of queries has to know of a searcher; see `Searcher`."""

    view: Snapshot
    language: str | None
    text_languages: Sequence[str]
    own_languages: Sequence[str]
    correctors: Sequence[Corrector]
    detects_language: bool
    bridges_languages: bool


def resolve(
    searcher: QueryReader, queries: Mapping[str, Question], prefix: bool | Collection[str] = False
) -> list[ResolvedQuery]:
    """Return each query ready for the searcher, by its id in the run.

    prefix: whether the last words may be unfinished, or the ids of the queries whose are. None is before a space.
    A query with the id of an archive's question is that question, and finds neither itself nor its rephrasings; one
    with the id of a rephrasing (`QUESTION#2`) finds its question by its other phrasings. Raises InputError.
    """
    _check_queries(queries)
    excluded = find_excluded(searcher.view, queries.values())
    resolved = []
    own = searcher.own_languages
    typed = prefix if isinstance(prefix, Collection) else queries if prefix else ()
    for id, query in queries.items():
        language = find_language(searcher, query)
        is_foreign = bool(searcher.bridges_languages and language and own and language not in own)
        text = plain_text(query.title, "text")
        is_unfinished = id in typed and not (query.body or query.title)[-1:].isspace()
        resolved.append(ResolvedQuery(query, excluded.get(query.id), id, text, language, is_foreign, is_unfinished))
    corrected = [one for one in resolved if not one.is_foreign]
    for corrector in searcher.correctors:
        corrected = corrector.correct(corrected)
    for corrector in searcher.correctors if typed else ():
        corrected = corrector.finish(corrected)
    by_id = {one.id: one for one in corrected}
    return [by_id.get(one.id, one) for one in resolved]


def find_language(searcher: QueryReader, query: Question) -> str | None:
    """Return the language of a query: its own, one of the texts, or another one that the searcher compares with these.

    None if it is unknown. A text that may be in a language of the archive is.
    """
    if query.language:
        return query.language
    own, text = searcher.own_languages, f"{query.title} {query.body}"
    if searcher.bridges_languages and own and (foreign := detect_foreign_language(text, own)):
        return foreign
    candidates = searcher.text_languages if searcher.detects_language else ()
    return detect_language(text, candidates) if len(candidates) > 1 else searcher.language


def exclude_own(view: Snapshot, queries: Sequence[ResolvedQuery]) -> list[ResolvedQuery]:
    """Return the queries with the questions of another view that they must not find."""
    excluded = find_excluded(view, [one.query for one in queries])
    return [replace(one, excluded=excluded.get(one.query.id)) for one in queries]


def find_excluded(view: Snapshot, queries: Collection[Question]) -> dict[str, Excluded]:
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


def _check_queries(queries: Mapping[str, Question]) -> None:
    """Raise InputError if the queries are not a mapping of ids to questions."""
    if not isinstance(queries, Mapping):
        kind = type(queries).__name__
        raise InputError(f"queries: expected a mapping of ids to questions, got a {kind}; `identify_queries` makes one")
    for id, query in queries.items():
        if not isinstance(query, Question):
            raise InputError(f"query {id!r}: expected a Question, got {query!r}; write Question({str(id)!r}, TITLE)")
        for value in (id, query.id):
            if not isinstance(value, str):
                raise InputError(f"query {id!r}: an id is {value!r}; expected a string, such as {str(value)!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Retrieved:
    """Documents of some queries with their scores: retrieved ones, best first, or given ones in the given order.

    docids, scores: for each query (n,); higher is better, NaN for a document without a score.
    absolute: the scores on a scale shared by all queries, 1 for the same text, (n,) each; None if not known yet, see
    `add_absolute`. vectors: (queries, dim), of length 1, whose products with those of texts are similarities; None for
    a ranker without dense ones.
    parts: for a hybrid, what each of its parts retrieved and scored, over the pool of each query.

    A searcher may add, in a class of its own, what it needs to score and explain the same documents without reading
    them again.
    """

    queries: Sequence[ResolvedQuery]
    docids: Sequence[Docids]
    scores: Sequence[Scores]
    absolute: Sequence[Scores] | None = None
    vectors: Floats32 | None = None
    parts: Sequence["Retrieved"] = ()

    @property
    def topdocs(self) -> list[TopDocs]:
        """The documents of each query with their scores."""
        return list(map(TopDocs, self.docids, self.scores))

    @property
    def distinct_docids(self) -> list[int]:
        """The docids retrieved for any query, ascending."""
        docids: list[int] = find_distinct(np.concatenate([np.empty(0, np.int64), *self.docids])).tolist()
        return docids

    def select(self, positions: Sequence[Array]) -> Self:
        """Return some of each query's documents, by their positions."""

        def choose(column: Sequence[Array]) -> list[Any]:
            return [own[at] for own, at in zip(column, positions, strict=True)]

        absolute = None if self.absolute is None else choose(self.absolute)
        return replace(self, docids=choose(self.docids), scores=choose(self.scores), absolute=absolute)

    def replace_rows(self, rows: Sequence[int], others: "Retrieved") -> Self:
        """Return the same with other documents for some of the queries. others: of these queries alone."""

        def exchange(column: Sequence[ArrayT], new: Sequence[ArrayT]) -> list[ArrayT]:
            by_row = dict(zip(rows, new, strict=True))
            return [by_row.get(row, own) for row, own in enumerate(column)]

        are_known = self.absolute is not None and others.absolute is not None
        return replace(
            self,
            docids=exchange(self.docids, others.docids),
            scores=exchange(self.scores, others.scores),
            absolute=exchange(self.absolute or (), others.absolute or ()) if are_known else None,
            parts=[part.replace_rows(rows, other) for part, other in zip(self.parts, others.parts, strict=True)],
        )

    def best(self, k: int) -> Self:
        """Return the k best documents of each query, ties by docid, without those that have no score."""
        positions = []
        for docids, scores in zip(self.docids, self.scores, strict=True):
            scored = np.flatnonzero(~np.isnan(scores))
            positions.append(scored[np.lexsort((docids[scored], -scores[scored]))[:k]])
        return self.select(positions)


def fill_missing(scores: Scores) -> Scores:
    """Return the scores with 0 for missing ones."""
    return np.where(np.isnan(scores), 0.0, scores)
