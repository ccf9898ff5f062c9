"""Pairs of questions that may be duplicates, proposed to moderators, and the progress of the scan for them.

No pair is decided automatically.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Literal, get_args

from askalike.core.errors import ArchiveError
from askalike.core.records import Link, Question
from askalike.core.values import now
from askalike.store.archive import Archive
from askalike.store.database import Database, change_transaction, execute, fetch_int, storage_errors, write_transaction
from askalike.store.editing import MissingRecordError, delete_link_row, insert_link_row
from askalike.store.records import QUESTION_COLUMNS, question_from_row

ProposalState = Literal["open", "accepted", "rejected", "skipped"]
PROPOSAL_STATES: tuple[ProposalState, ...] = get_args(ProposalState)
ProposalDecision = Literal["accept", "reject", "skip"]
STATE_AFTER: Mapping[ProposalDecision, ProposalState] = {"accept": "accepted", "reject": "rejected", "skip": "skipped"}

PROPOSAL_SQL = """SELECT p.duplicate_id, p.original_id, p.probability, p.score, p.ranker, p.number, p.created_at,
    p.state, p.decided_at, p.decided_by FROM proposals p"""
CERTAINTY_ORDER_SQL = "p.probability DESC, p.score DESC, p.number"
BOTH_EXIST_SQL = """EXISTS (SELECT 1 FROM questions WHERE id = p.duplicate_id) AND EXISTS (SELECT 1 FROM questions
    WHERE id = p.original_id)"""
LINKED_SQL = """EXISTS (
    WITH RECURSIVE same(id) AS (
        VALUES (p.duplicate_id) UNION
        SELECT l.target FROM same JOIN links l ON l.source = same.id AND l.kind = 'duplicate' UNION
        SELECT l.source FROM same JOIN links l ON l.target = same.id AND l.kind = 'duplicate'
    ) SELECT 1 FROM same WHERE id = p.original_id
)"""
"""SQL condition: the questions of `p` are already joined by duplicate links, directly or transitively."""
UNSETTLED_SQL = f"{BOTH_EXIST_SQL} AND NOT {LINKED_SQL}"
"""SQL condition: the pair `p` still needs a decision, unless somebody has decided on it."""
REJECTED_SQL = """json_array(MIN(p.duplicate_id, p.original_id), MAX(p.duplicate_id, p.original_id)) IN (
    WITH RECURSIVE same(number, side, id) AS (
        SELECT number, 0, duplicate_id FROM proposals WHERE state = 'rejected' UNION
        SELECT number, 1, original_id FROM proposals WHERE state = 'rejected' UNION
        SELECT number, side, l.target FROM same JOIN links l ON l.source = same.id AND l.kind = 'duplicate' UNION
        SELECT number, side, l.source FROM same JOIN links l ON l.target = same.id AND l.kind = 'duplicate'
    ) SELECT json_array(MIN(a.id, b.id), MAX(a.id, b.id)) FROM same a JOIN same b USING (number) WHERE a.side < b.side
)"""
"""SQL condition: `p` was rejected, but for duplicate links. One value for each pair, as rows of two have no index."""
MIN_LISTED = 0.1
"""Minimum probability of a pair that people decide on."""
LISTED_SQL = f"{UNSETTLED_SQL} AND NOT {REJECTED_SQL} AND p.probability >= {MIN_LISTED}"
"""SQL condition: people decide on the open or skipped pair `p`."""


class AlreadyDecidedError(ArchiveError):
    """A proposal was already decided or has a deleted question; or there is no decision to undo."""


@dataclass(frozen=True, slots=True)
class CandidatePair:
    """A likely duplicate of another question, with its probability and, as score, their similarity by a ranker."""

    duplicate_id: str
    original_id: str
    probability: float
    score: float
    ranker: str


@dataclass(frozen=True, slots=True)
class PairProposal(CandidatePair):
    """A proposed pair, and the decision on it, by whom and when; times are ISO 8601 in UTC."""

    id: int
    created_at: str
    state: ProposalState
    decided_at: str | None
    decided_by: str | None


def add_proposals(archive: Archive, pairs: Iterable[CandidatePair]) -> int:
    """Propose pairs for a decision; return how many are new.

    (a, b) and (b, a) are the same pair. A decided pair stays decided; an open one gets the new probability and score.
    Pairs already joined by duplicate links, directly or transitively, and pairs with a deleted question are left out.
    """
    sql = f"""INSERT INTO proposals (duplicate_id, original_id, probability, score, ranker, created_at)
        SELECT p.duplicate_id, p.original_id, ?3, ?4, ?5, ?6 FROM (SELECT ?1 AS duplicate_id, ?2 AS original_id) p
        WHERE ?1 != ?2 AND {UNSETTLED_SQL}
        ON CONFLICT (MIN(duplicate_id, original_id), MAX(duplicate_id, original_id)) DO UPDATE SET
        duplicate_id = excluded.duplicate_id, original_id = excluded.original_id, probability = excluded.probability,
        score = excluded.score, ranker = excluded.ranker, created_at = excluded.created_at
        WHERE state IN ('open', 'skipped')"""
    rows = [(*astuple(pair), now("milliseconds")) for pair in pairs]
    count_sql = "SELECT COUNT(*) FROM proposals"
    with write_transaction(archive) as connection:
        before = fetch_int(archive, count_sql)
        connection.executemany(sql, rows)
        return fetch_int(archive, count_sql) - before


def limit_open_proposals(archive: Archive, max_open: int) -> None:
    """Delete the open proposals beyond the most certain ones."""
    beyond = f"SELECT p.number FROM proposals p WHERE p.state = 'open' ORDER BY {CERTAINTY_ORDER_SQL} LIMIT -1 OFFSET ?"
    execute(archive, f"DELETE FROM proposals WHERE number IN ({beyond})", max_open)


def pending_proposals(archive: Archive, limit: int = 1) -> list[PairProposal]:
    """Return open proposals, most certain first, then skipped ones, those skipped longest ago first."""
    return (list_proposals(archive, "open", limit) + list_proposals(archive, "skipped", limit))[:limit]


def list_proposals(
    archive: Archive, state: ProposalState, limit: int = 50, after_id: int | None = None
) -> list[PairProposal]:
    """Return proposals in a state: open ones by certainty, skipped ones oldest first, decided ones latest first.

    after_id: the id of the last proposal that the caller has seen; if its decision has since been undone, the list
    starts over. Open and skipped proposals are left out if a question was deleted, if decisions and duplicate links
    say already whether both ask the same, or below MIN_LISTED.
    """
    where, values = _after_clause(archive, state, after_id)
    orders = {"open": CERTAINTY_ORDER_SQL, "skipped": "p.decided_at, p.number"}
    if state in orders:
        where += f" AND {LISTED_SQL}"
    order = orders.get(state, "p.decided_at DESC, p.number DESC")
    sql = f"{PROPOSAL_SQL} WHERE p.state = ?1{where} ORDER BY {order} LIMIT ?2"
    return [PairProposal(*row) for row in archive._connection.execute(sql, (state, limit, *values))]


def get_proposal(archive: Archive, id: int) -> PairProposal:
    """Return a proposal. Raises MissingRecordError if there is none with that id."""
    row = archive._connection.execute(f"{PROPOSAL_SQL} WHERE p.number = ?", (id,)).fetchone()
    if row is None:
        raise MissingRecordError(f"no proposal {id}")
    return PairProposal(*row)


def count_by_state(archive: Archive) -> dict[ProposalState, int]:
    """Return the number of proposals in each state that `list_proposals` returns."""
    sql = f"SELECT state, COUNT(*) FROM proposals p WHERE state NOT IN ('open', 'skipped') OR {LISTED_SQL} GROUP BY 1"
    counts = dict(archive._connection.execute(sql))
    return {state: counts.get(state, 0) for state in PROPOSAL_STATES}


def read_decisions(archive: Archive, ranker: str) -> list[tuple[float, bool]]:
    """Return the similarity of each decided pair that this ranker proposed, and whether it was accepted."""
    sql = "SELECT score, state = 'accepted' FROM proposals WHERE ranker = ? AND state IN ('accepted', 'rejected')"
    return [(score, bool(accepted)) for score, accepted in archive._connection.execute(sql, (ranker,))]


def revise_proposals(archive: Archive, ranker: str, probability: Callable[[float], float]) -> None:
    """Give each undecided pair that a ranker proposed another probability, that of its similarity."""
    sql = "SELECT number, score FROM proposals WHERE ranker = ? AND state IN ('open', 'skipped')"
    with write_transaction(archive) as connection:
        rows = [(probability(score), number) for number, score in connection.execute(sql, (ranker,)).fetchall()]
        connection.executemany("UPDATE proposals SET probability = ? WHERE number = ?", rows)


def latest_decision(archive: Archive, decided_by: str | None = None) -> PairProposal | None:
    """Return the proposal decided last, by anyone or by one user; `undo_decision` would reopen it."""
    sql = f"""{PROPOSAL_SQL} WHERE p.state != 'open' AND (p.decided_by = ?1 OR ?1 IS NULL)
        ORDER BY p.decided_at DESC, p.number DESC LIMIT 1"""
    row = archive._connection.execute(sql, (decided_by,)).fetchone()
    return PairProposal(*row) if row else None


def decide_proposal(archive: Archive, id: int, decision: ProposalDecision, decided_by: str = "") -> PairProposal:
    """Accept, reject or skip an open or skipped proposal. Accepting adds the duplicate link in the same transaction.

    Raises AlreadyDecidedError if it was already decided or has a deleted question, MissingRecordError if there is no
    such proposal.
    """
    sql = f"""UPDATE proposals AS p SET state = ?2, decided_at = ?3, decided_by = ?4, added_link = 0 WHERE number = ?1
        AND state IN ('open', 'skipped') AND {BOTH_EXIST_SQL}"""
    with storage_errors(archive.path), change_transaction(archive._connection):
        decided = execute(archive, sql, id, STATE_AFTER[decision], now("milliseconds"), decided_by).rowcount
        proposal = get_proposal(archive, id)
        if not decided:
            raise AlreadyDecidedError(f"proposal {id} is {proposal.state}, or a question of it was deleted")
        if decision == "accept" and insert_link_row(archive._connection, _duplicate_link(proposal)):
            execute(archive, "UPDATE proposals SET added_link = 1 WHERE number = ?", id)
        return proposal


def undo_decision(archive: Archive, id: int) -> PairProposal:
    """Undo a decision and delete the link that it added: the proposal is open again.

    Raises AlreadyDecidedError if it is open, MissingRecordError if there is no such proposal.
    """
    sql = """UPDATE proposals SET state = 'open', decided_at = NULL, decided_by = NULL, added_link = 0 WHERE number = ?
        AND state != 'open'"""
    with storage_errors(archive.path), change_transaction(archive._connection):
        if fetch_int(archive, "SELECT SUM(added_link) FROM proposals WHERE number = ?", id):
            delete_link_row(archive._connection, _duplicate_link(get_proposal(archive, id)))
        undone = execute(archive, sql, id).rowcount
        proposal = get_proposal(archive, id)
        if not undone:
            raise AlreadyDecidedError(f"proposal {id} is {proposal.state}: nothing to undo")
        return proposal


def _duplicate_link(proposal: PairProposal) -> Link:
    return Link(proposal.duplicate_id, proposal.original_id, "duplicate", now("milliseconds"))


def _after_clause(archive: Archive, state: ProposalState, after_id: int | None) -> tuple[str, tuple[Any, ...]]:
    """Return the SQL condition for proposals after one in the order of its state, with its values from ?3."""
    if after_id is None:
        return "", ()
    last = get_proposal(archive, after_id)
    if state == "open":
        after = " AND (-p.probability, -p.score, p.number) > (-?3, -?4, ?5)"
        return after, (last.probability, last.score, last.id)
    if last.decided_at is None:  # its decision was undone, so its position is unknown: the list starts over
        return "", ()
    sign = ">" if state == "skipped" else "<"
    return f" AND (p.decided_at, p.number) {sign} (?3, ?4)", (last.decided_at, last.id)


@dataclass(slots=True)
class ProposalScan:
    """How far a ranker has looked for pairs: up to the question with a number in a change. Another ranker has another
    fingerprint.
    """

    fingerprint: str
    change: int = 0
    docid: int = 0


def count_unscanned(archive: Database) -> int | None:
    """Return the number of questions that the scan has still to look at; None before it begins."""
    rows = archive._connection.execute("SELECT change, docid FROM proposal_scans").fetchall()
    sql = "SELECT COUNT(*) FROM questions WHERE (change, number) > (?, ?)"
    return fetch_int(archive, sql, *rows[0]) if rows else None


def open_scan(archive: Archive, fingerprint: str) -> ProposalScan:
    """Return the stored scan with that fingerprint, or begin it, without the open proposals of another one."""
    sql = "SELECT fingerprint, change, docid FROM proposal_scans WHERE fingerprint = ?"
    rows = archive._connection.execute(sql, (fingerprint,)).fetchall()
    if rows:
        return ProposalScan(*rows[0])
    scan = ProposalScan(fingerprint)
    with write_transaction(archive):
        execute(archive, "DELETE FROM proposals WHERE state = 'open'")
        execute(archive, "DELETE FROM proposal_scans")
        save_scan(archive, scan)
    return scan


def save_scan(archive: Archive, scan: ProposalScan) -> None:
    """Store a scan."""
    execute(archive, "INSERT OR REPLACE INTO proposal_scans VALUES (?, ?, ?)", *astuple(scan))


def next_changed_questions(database: Database, scan: ProposalScan, limit: int) -> list[Question]:
    """Return the next questions by change and docid, and move the scan past them."""
    columns = ", ".join(("number", "id", *QUESTION_COLUMNS, "change"))
    sql = f"SELECT {columns} FROM questions WHERE (change, number) > (?, ?) ORDER BY change, number LIMIT ?"
    rows = database._connection.execute(sql, (scan.change, scan.docid, limit)).fetchall()
    if rows:
        scan.change, scan.docid = rows[-1][-1], rows[-1][0]
    return [question_from_row(row) for row in rows]
