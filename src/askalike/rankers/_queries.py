"""Queries as rankers read them: checked, cleaned, corrected, and with the documents that each must not find.

`resolve` does this once for a batch, before anything is retrieved. It is here and not in askalike.search, since
experiments, calibration and moderation, on layers below it, resolve the same way.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from askalike.core.errors import InputError
from askalike.core.types import Question
from askalike.store import View
from askalike.text.clean import plain_text
from askalike.text.language import detect_language

if TYPE_CHECKING:
    from askalike.rankers._searcher import Searcher

PHRASING_NUMBER = re.compile("[1-9][0-9]{0,4}")
MAX_DETECTED_CHARS = 1_000  # of a query, from which its language is detected


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query, the docid of a question that it must not find (−1: none), and the one phrasing of it (−1: all).

    id: its id in the run. text: the plain text of its title. language: None if unknown. prefix: whether its last word
    may be unfinished. corrections: misspelt or unfinished word as typed → the word that replaces it in `query` and
    `text`. finished: the query with its unfinished word completed, for rankers that read whole words; None if it has
    none.
    """

    query: Question
    excluded_docid: int = -1
    excluded_phrasing: int = -1
    id: str = ""
    text: str = ""
    language: str | None = None
    prefix: bool = False
    corrections: Mapping[str, str] = field(default_factory=dict)
    finished: Question | None = None


def resolve(searcher: "Searcher", queries: Mapping[str, Question], prefix: bool = False) -> list[ResolvedQuery]:
    """Return each query ready for the searcher, by its id in the run. prefix: the last words may be unfinished.

    A query with the id of an archive's question is that question, and finds neither itself nor its rephrasings; one
    with the id of a rephrasing (`QUESTION#2`) finds its question by its other phrasings. Raises InputError.
    """
    _check_queries(queries)
    view = searcher.view
    excluded = find_excluded(view, queries.values())
    known = view.language
    detected = view.languages if known is None and searcher.detects_language else ()
    resolved = [
        ResolvedQuery(
            query, *excluded.get(query.id, (-1, -1)), id, plain_text(query.title, "text"),
            query.language or known or _detect(query, detected), prefix,
        )
        for id, query in queries.items()
    ]  # fmt: skip
    for corrector in searcher.correctors:
        resolved = corrector.correct(resolved)
    for corrector in searcher.correctors if prefix and searcher.completes_words else ():
        resolved = corrector.finish(resolved)
    return resolved


def exclude_own(view: View, queries: Sequence[ResolvedQuery]) -> list[ResolvedQuery]:
    """Return the queries with the questions of another view that they must not find."""
    excluded = find_excluded(view, [one.query for one in queries])
    rows = [(one, *excluded.get(one.query.id, (-1, -1))) for one in queries]
    return [replace(one, excluded_docid=docid, excluded_phrasing=phrasing) for one, docid, phrasing in rows]


def find_excluded(view: View, queries: Collection[Question]) -> dict[str, tuple[int, int]]:
    """Return the id of a query → the docid of the question that it is, and the number of its phrasing (−1: all)."""
    if view.kind == "answers":
        return {}
    ids = {query.id for query in queries}
    own = view.docids(ids)
    parts = {id: id.rpartition("#") for id in ids if id not in own}
    phrased = {id: (base, int(n)) for id, (base, _, n) in parts.items() if base and PHRASING_NUMBER.fullmatch(n)}
    bases = view.docids({base for base, _ in phrased.values()}) if phrased else {}
    excluded = {id: (docid, -1) for id, docid in own.items()}
    return excluded | {id: (bases[base], n) for id, (base, n) in phrased.items() if base in bases}


def _detect(query: Question, languages: Sequence[str]) -> str | None:
    if len(languages) < 2:
        return None
    return detect_language(f"{query.title} {query.body}"[:MAX_DETECTED_CHARS], languages)


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
