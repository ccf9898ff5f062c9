"""How far the search for likely duplicates has come, and the questions that it looks at next."""

import json
from dataclasses import astuple, dataclass, field

from askalike.store.archive import Archive
from askalike.store.database import Database, fetch_int, storage_errors
from askalike.store.view import QUESTION_SQL, question_from_row
from askalike.store.writer import QUESTION_COLUMNS
from askalike.types import Question


@dataclass(slots=True)
class ProposalScan:
    """The state of a scan. A new calibration, ranker or setting has another fingerprint and begins another scan.

    New are all questions changed after `change`, and those changed in it with a larger number than `docid`. Of the
    backlog all questions from `backlog_docid` on are done.
    """

    fingerprint: str
    started_at: str
    change: int
    docid: int
    backlog_docid: int
    sample_probabilities: list[float | None] = field(default_factory=list)
    """The probability of the first hit of each question in the sample; None for a question without a hit."""
    duplicate_rate: float | None = None
    """The estimated share of questions with a duplicate; None until the sample is complete."""


def load_scan(archive: Database, fingerprint: str) -> ProposalScan | None:
    """Return the stored scan with that fingerprint, if there is one."""
    row = archive._connection.execute("SELECT * FROM proposing WHERE fingerprint = ?", (fingerprint,)).fetchone()
    if row is None:
        return None
    fingerprint, started_at, change, docid, backlog_docid, probabilities, rate = row
    return ProposalScan(fingerprint, started_at, change, docid, backlog_docid, json.loads(probabilities), rate)


def save_scan(archive: Archive, scan: ProposalScan) -> None:
    """Store a scan in place of every other one."""
    *position, probabilities, rate = astuple(scan)
    with storage_errors(archive.path):
        archive._connection.execute("DELETE FROM proposing WHERE fingerprint != ?", (scan.fingerprint,))
        archive._connection.execute(
            "INSERT OR REPLACE INTO proposing VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*position, json.dumps(probabilities), rate),
        )


def last_docid(database: Database) -> int:
    """Return the largest docid of a question; 0 where there is no question."""
    return fetch_int(database, "SELECT MAX(number) FROM questions")


def count_linked_questions(database: Database) -> int:
    """Return how many questions are an end of a duplicate link."""
    ends = " UNION ".join(f"SELECT {end} AS id FROM links WHERE kind = 'duplicate'" for end in ("source", "target"))
    return fetch_int(database, f"SELECT COUNT(*) FROM questions JOIN ({ends}) USING (id)")


def question_from_docid(database: Database, docid: int) -> Question | None:
    """Return the question with this docid, or with the next larger one that exists."""
    row = database._connection.execute(f"{QUESTION_SQL} WHERE number >= ? ORDER BY number LIMIT 1", (docid,)).fetchone()
    return question_from_row(row) if row else None


def next_changed_questions(database: Database, scan: ProposalScan, limit: int) -> list[Question]:
    """Return the next new questions by change and docid, and move the scan past them."""
    columns = ", ".join(("number", "id", *QUESTION_COLUMNS, "change"))
    sql = f"SELECT {columns} FROM questions WHERE (change, number) > (?, ?) ORDER BY change, number LIMIT ?"
    rows = database._connection.execute(sql, (scan.change, scan.docid, limit)).fetchall()
    if rows:
        scan.change, scan.docid = rows[-1][-1], rows[-1][0]
    return [question_from_row(row) for row in rows]


def next_backlog_questions(database: Database, scan: ProposalScan, limit: int) -> list[Question]:
    """Return the next questions of the backlog, the newest first, and move the scan past them."""
    sql = f"{QUESTION_SQL} WHERE number < ? ORDER BY number DESC LIMIT ?"
    rows = database._connection.execute(sql, (scan.backlog_docid, limit)).fetchall()
    if rows:
        scan.backlog_docid = rows[-1][0]
    return [question_from_row(row) for row in rows]
