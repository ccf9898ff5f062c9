"""Resolves queries: each is checked, cleaned and corrected once, before anything is retrieved.

Ids are converted to docids in queries, and back to ids in results; everything in between uses docids. It is here and
not in askalike.search, since experiments, calibration and moderation, on layers below it, resolve the same way.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from askalike.core.errors import InputError
from askalike.core.types import TYPED_QUERY_ID, Question
from askalike.index.rows import Excluded
from askalike.rankers._queries_and_results import ResolvedQuery
from askalike.rankers._searcher import Searcher
from askalike.store import Snapshot
from askalike.text.clean import plain_text
from askalike.text.language import detect_language

PHRASING_NUMBER = re.compile("[1-9][0-9]{0,4}")


def resolve(searcher: Searcher, queries: Mapping[str, Question], prefix: bool = False) -> list[ResolvedQuery]:
    """Return each query ready for the searcher, by its id in the run. prefix: the last words may be unfinished.

    A query with the id of an archive's question is that question, and finds neither itself nor its rephrasings; one
    with the id of a rephrasing (`QUESTION#2`) finds its question by its other phrasings. Raises InputError.
    """
    _check_queries(queries)
    excluded, resolved = find_excluded(searcher.view, queries.values()), []
    candidates = searcher.text_languages if searcher.detects_language else ()
    for id, query in queries.items():
        language = query.language or searcher.language
        if not language and len(candidates) > 1:
            language = detect_language(f"{query.title} {query.body}", candidates)
        text = plain_text(query.title, "text")
        resolved.append(ResolvedQuery(query, excluded.get(query.id), id, text, language, prefix))
    for corrector in searcher.correctors:
        resolved = corrector.correct(resolved)
    for corrector in searcher.correctors if prefix and searcher.completes_words else ():
        resolved = corrector.finish(resolved)
    return resolved


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
