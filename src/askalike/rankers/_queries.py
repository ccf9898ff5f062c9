"""Queries as passed to rankers: checked, and with the documents that each must not find."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from askalike.core.errors import InputError
from askalike.core.types import Question
from askalike.store import View

PHRASING_NUMBER = re.compile("[1-9][0-9]{0,4}")


@dataclass(frozen=True, slots=True)
class ResolvedQuery:
    """A query, the docid of a question that it must not find (−1: none), and the one phrasing of it (−1: all).

    corrections: misspelt or unfinished word as typed → the word that replaces it. finished: the query with its
    unfinished word completed, for rankers that read whole words; None if it has none.
    """

    query: Question
    excluded_docid: int = -1
    excluded_phrasing: int = -1
    corrections: Mapping[str, str] = field(default_factory=dict)
    finished: Question | None = None


def resolve_queries(view: View, queries: Mapping[str, Question]) -> list[ResolvedQuery]:
    """Return each query with what it must not find according to its id: itself, or its own phrasing (`QUESTION#2`)."""
    _check_queries(queries)
    if view.kind == "answers":
        return [ResolvedQuery(query) for query in queries.values()]
    ids = {query.id for query in queries.values()}
    own = view.docids(ids)
    parts = {id: id.rpartition("#") for id in ids if id not in own}
    phrased = {id: (base, int(n)) for id, (base, _, n) in parts.items() if base and PHRASING_NUMBER.fullmatch(n)}
    bases = view.docids({base for base, _ in phrased.values()})
    excluded = {id: (docid, -1) for id, docid in own.items()}
    excluded |= {id: (bases[base], n) for id, (base, n) in phrased.items() if base in bases}
    return [ResolvedQuery(query, *excluded.get(query.id, (-1, -1))) for query in queries.values()]


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
