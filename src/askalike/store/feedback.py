"""Verdicts on pairs of questions: users' verdicts on search results, and moderators' decisions on proposals.

Some of it is held out: it is never used for training, so that rankers can be compared on it.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from askalike.core.files import write_csv
from askalike.core.records import Question, Split
from askalike.core.values import escape_formula
from askalike.store.archive import Archive
from askalike.store.database import Database

EXPORT_COLUMNS = ("query_id", "query", "candidate_id", "candidate", "label", "verdict", "created_at")
"""The columns of an export; the reader `pairs` reads the first five."""
HELD_OUT_ONE_IN = 3
"""The verdicts of one in this many questions of the archive are held out."""
VERDICTS_SQL = """
    SELECT 'asked-' || MIN(number) OVER (PARTITION BY title, body), title, body, document, verdict, created_at FROM (
        SELECT number, title, body, chosen_id AS document, verdict, created_at FROM feedback
        WHERE verdict IN ('accept', 'reject')
        UNION ALL SELECT number, title, body, each.value, verdict, created_at FROM feedback, json_each(shown_ids) each
        WHERE verdict = 'none_of_these'
    ) ORDER BY created_at, number
"""
DECISIONS_SQL = """
    SELECT q.id, q.title, q.body, p.original_id, p.state, p.decided_at FROM proposals p
    JOIN questions q ON q.id = p.duplicate_id WHERE p.state IN ('accepted', 'rejected') ORDER BY p.decided_at, p.number
"""
POSITIVE_VERDICTS = ("accept", "accepted")


class PairVerdict(NamedTuple):
    """A verdict on a pair: the query, the id of a question of the archive, and whether it asks the same.

    verdict: the word of one person; "" for the majority, which is positive if more were positive than negative.
    """

    query: Question
    document_id: str
    relevant: bool
    verdict: str = ""


def read_verdicts(database: Database, include_decisions: bool = True) -> Iterator[PairVerdict]:
    """Yield the verdicts of users, oldest first, then the decisions of moderators.

    A query has the id `asked-N`, the same for equal texts, and the date of its verdict.
    """
    for sql in (VERDICTS_SQL, DECISIONS_SQL) if include_decisions else (VERDICTS_SQL,):
        for id, title, body, document, verdict, at in database._connection.execute(sql):
            yield PairVerdict(Question(id, title, body, created_at=at), document, verdict in POSITIVE_VERDICTS, verdict)


def judged_pairs(database: Database, before: str | None = None) -> list[PairVerdict]:
    """Return the pairs with a majority of positive, or of negative, verdicts of users; ties are left out.

    before: only verdicts before this date count.
    """
    votes: dict[tuple[str, str], int] = {}
    queries: dict[str, Question] = {}
    for verdict in read_verdicts(database, include_decisions=False):
        if before is None or (verdict.query.created_at or "") < before:
            pair = verdict.query.id, verdict.document_id
            votes[pair] = votes.get(pair, 0) + (1 if verdict.relevant else -1)
            queries[verdict.query.id] = verdict.query
    return [PairVerdict(queries[query], document, sum_ > 0) for (query, document), sum_ in votes.items() if sum_]


def is_held_out(document_id: str) -> bool:
    """Return whether verdicts on the archive's question with this id are never used for training."""
    return hashlib.blake2b(document_id.encode(), digest_size=1).digest()[0] % HELD_OUT_ONE_IN == 0


def training_pairs_from_feedback(database: Database, before: str | None = None) -> list[PairVerdict]:
    """Return the judged pairs for training: those without held-out queries."""
    return [pair for pair, held_out in _mark_held_out(judged_pairs(database, before)) if not held_out]


def held_out_feedback_split(archive: Archive) -> Split:
    """Return the held-out queries with the questions relevant to them; queries without such a question are left out."""
    queries: dict[str, Question] = {}
    qrels: dict[str, dict[str, int]] = {}
    pairs = [pair for pair, held_out in _mark_held_out(judged_pairs(archive)) if held_out and pair.relevant]
    present = archive.view().docids({pair.document_id for pair in pairs})
    for pair in pairs:
        if pair.document_id in present:
            queries[pair.query.id] = pair.query
            qrels.setdefault(pair.query.id, {})[pair.document_id] = 1
    return Split(queries, qrels)


def rejected_documents(database: Database, before: str | None = None) -> Mapping[str, list[str]]:
    """Map the id of a query or question to the questions rejected for it, except held-out queries.

    before: only verdicts before this date count.
    """
    rejected: dict[str, list[str]] = {}
    for pair in training_pairs_from_feedback(database, before):
        if not pair.relevant:
            rejected.setdefault(pair.query.id, []).append(pair.document_id)
    for verdict in read_verdicts(database):
        if verdict.verdict == "rejected" and (before is None or (verdict.query.created_at or "") < before):
            rejected.setdefault(verdict.query.id, []).append(verdict.document_id)
    return rejected


def export_feedback(archive: Archive, path: Path) -> int:
    """Write every verdict whose question still exists as a CSV row for `import pairs`; return the number of rows.

    The label is 1 for a positive verdict and 0 for a negative one. A text that a spreadsheet would run as a formula has
    an apostrophe before it. Raises InputError if the file cannot be written.
    """
    view = archive.view()
    rows = (
        (query.id, query.title, document, text.title, int(relevant), verdict, query.created_at)
        for query, document, relevant, verdict in read_verdicts(archive)
        for text in view.get_questions([document]).values()
    )
    return write_csv(path, EXPORT_COLUMNS, (map(escape_formula, row) for row in rows))


def _mark_held_out(pairs: Iterable[PairVerdict]) -> Iterator[tuple[PairVerdict, bool]]:
    """Yield each pair with whether its query is held out, which it is if one of its relevant questions is."""
    listed = list(pairs)
    held_out = {pair.query.id for pair in listed if pair.relevant and is_held_out(pair.document_id)}
    return ((pair, pair.query.id in held_out) for pair in listed)
