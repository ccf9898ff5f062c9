"""Pairs of questions that may ask the same, for a person to decide: nothing here is ever closed by itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from askalike.clock import now
from askalike.errors import ArchiveError
from askalike.store.archive import Archive
from askalike.store.database import change_transaction, fetch_int, storage_errors, write_transaction
from askalike.store.editing import MissingRecordError, delete_link_row, insert_link_row
from askalike.types import Link

ProposalState = Literal["open", "accepted", "rejected", "skipped"]
PROPOSAL_STATES: tuple[ProposalState, ...] = get_args(ProposalState)
ProposalDecision = Literal["accept", "reject", "skip"]
STATE_AFTER_DECISION: Mapping[ProposalDecision, ProposalState] = {
    "accept": "accepted",
    "reject": "rejected",
    "skip": "skipped",
}
DECISIONS: tuple[ProposalDecision, ...] = get_args(ProposalDecision)

PROPOSAL_COLUMNS = (
    "p.number, p.question, p.other, p.probability, p.score, p.model, p.found_at, p.state, p.decided_at, p.by"
)
CERTAINTY_ORDER_SQL = "COALESCE(p.probability, -1) DESC, p.score DESC, p.number"
BOTH_EXIST_SQL = (
    "EXISTS (SELECT 1 FROM questions WHERE id = p.question) AND EXISTS (SELECT 1 FROM questions WHERE id = p.other)"
)
LINKED_SQL = """EXISTS (
    WITH RECURSIVE same(id) AS (
        VALUES ({one}) UNION
        SELECT l.target FROM same JOIN links l ON l.source = same.id AND l.kind = 'duplicate' UNION
        SELECT l.source FROM same JOIN links l ON l.target = same.id AND l.kind = 'duplicate'
    ) SELECT 1 FROM same WHERE id = {other}
)"""
"""Whether duplicate links, or chains of them, join two questions already."""


class AlreadyDecidedError(ArchiveError):
    """Somebody has decided a proposal already, or a question of it has gone; or there is nothing to take back."""


@dataclass(frozen=True, slots=True)
class CandidatePair:
    """`question` may be a duplicate of `other`: how probable that is (None: uncalibrated), and who says so."""

    question: str
    other: str
    probability: float | None
    score: float
    model: str


@dataclass(frozen=True, slots=True)
class PairProposal:
    """A pair that was found, and what was decided of it, by whom and when; times are ISO 8601 in UTC."""

    id: int
    question: str
    other: str
    probability: float | None
    score: float
    model: str
    found_at: str
    state: ProposalState
    decided_at: str | None
    by: str | None


def add_proposals(archive: Archive, pairs: Iterable[CandidatePair]) -> int:
    """Puts pairs up for a decision; returns how many are new.

    A pair is one, whichever way round. One that was decided stays decided; one that is open takes the newest figures.
    Left out are questions that duplicate links join already, directly or by a chain, and what is not there.
    """
    sql = (
        "INSERT INTO proposals (question, other, probability, score, model, found_at) "
        "SELECT p.question, p.other, ?3, ?4, ?5, ?6 FROM (SELECT ?1 AS question, ?2 AS other) p "
        f"WHERE ?1 != ?2 AND {BOTH_EXIST_SQL} AND NOT {LINKED_SQL.format(one='p.question', other='p.other')} "
        "ON CONFLICT (MIN(question, other), MAX(question, other)) DO UPDATE SET question = excluded.question, "
        "other = excluded.other, probability = excluded.probability, score = excluded.score, model = excluded.model, "
        "found_at = excluded.found_at WHERE state IN ('open', 'skipped')"
    )
    rows = [(f.question, f.other, f.probability, f.score, f.model, now("milliseconds")) for f in pairs]
    with write_transaction(archive) as connection:
        before = _count_proposals(archive)
        connection.executemany(sql, rows)
        return _count_proposals(archive) - before


def drop_open_proposals(archive: Archive, *, max_open: int | None = None, found_before: str | None = None) -> int:
    """Drops open proposals: those beyond the `most` most certain ones, or last found before a moment; how many."""
    beyond = (
        f"SELECT p.number FROM proposals p WHERE p.state = 'open' ORDER BY {CERTAINTY_ORDER_SQL} LIMIT -1 OFFSET ?2"
    )
    sql = f"DELETE FROM proposals WHERE state = 'open' AND (found_at < ?1 OR ?2 IS NOT NULL AND number IN ({beyond}))"
    with storage_errors(archive.path):
        return archive._connection.execute(sql, (found_before, max_open)).rowcount


def pending_proposals(archive: Archive, limit: int = 1) -> list[PairProposal]:
    """What waits for a decision: the most certain first, and what was skipped at the end, the longest ago first."""
    first = list_proposals(archive, "open", limit)
    return first + list_proposals(archive, "skipped", limit - len(first)) if len(first) < limit else first


def list_proposals(
    archive: Archive, state: ProposalState, limit: int = 50, after_id: int | None = None
) -> list[PairProposal]:
    """The proposals in a state: open ones by certainty, skipped ones by when they were, decided ones the latest first.

    `after`: the id of the last one that was seen. What waits is left out where a question has gone, or where duplicate
    links have joined both.
    """
    where, values = _after_clause(archive, state, after_id)
    order = {"open": CERTAINTY_ORDER_SQL, "skipped": "p.decided_at, p.number"}.get(
        state, "p.decided_at DESC, p.number DESC"
    )
    waits = f" AND {BOTH_EXIST_SQL} AND NOT {LINKED_SQL.format(one='p.question', other='p.other')}"
    sql = (
        f"SELECT {PROPOSAL_COLUMNS} FROM proposals p WHERE p.state = ?1{where}{waits if state in ('open', 'skipped') else ''} "
        f"ORDER BY {order} LIMIT ?2"
    )
    return [PairProposal(*row) for row in archive._connection.execute(sql, (state, limit, *values))]


def get_proposal(archive: Archive, id: int) -> PairProposal:
    """A proposal. Raises MissingError where there is none."""
    row = archive._connection.execute(
        f"SELECT {PROPOSAL_COLUMNS} FROM proposals p WHERE p.number = ?", (id,)
    ).fetchone()
    if row is None:
        raise MissingRecordError(f"there is no proposal {id}")
    return PairProposal(*row)


def count_by_state(archive: Archive) -> dict[ProposalState, int]:
    """How many there are in each state, those included that have settled themselves."""
    found = dict(archive._connection.execute("SELECT state, COUNT(*) FROM proposals GROUP BY state"))
    return {state: found.get(state, 0) for state in PROPOSAL_STATES}


def latest_decision(archive: Archive, decided_by: str | None = None) -> PairProposal | None:
    """The proposal decided last, by one person where `by` names them: what `undo` would take back."""
    sql = (
        f"SELECT {PROPOSAL_COLUMNS} FROM proposals p WHERE p.state != 'open' AND (p.by = ?1 OR ?1 IS NULL) "
        "ORDER BY p.decided_at DESC, p.number DESC LIMIT 1"
    )
    row = archive._connection.execute(sql, (decided_by,)).fetchone()
    return PairProposal(*row) if row else None


def decide_proposal(archive: Archive, id: int, decision: ProposalDecision, decided_by: str = "") -> PairProposal:
    """Accepts, rejects or skips what waits. Accepting adds the duplicate link; both are on disk after, or neither.

    Raises DecidedError where it is decided already, or a question of it has gone; MissingError where there is none.
    """
    sql = (
        "UPDATE proposals AS p SET state = ?2, decided_at = ?3, by = ?4, linked = 0 WHERE number = ?1 "
        f"AND state IN ('open', 'skipped') AND {BOTH_EXIST_SQL}"
    )
    with storage_errors(archive.path), change_transaction(archive._connection):
        if not archive._connection.execute(
            sql, (id, STATE_AFTER_DECISION[decision], now("milliseconds"), decided_by)
        ).rowcount:
            raise AlreadyDecidedError(
                f"proposal {id} is {get_proposal(archive, id).state}, or a question of it has gone"
            )
        if decision == "accept" and insert_link_row(archive._connection, _duplicate_link(archive, id)):
            archive._connection.execute("UPDATE proposals SET linked = 1 WHERE number = ?", (id,))
        return get_proposal(archive, id)


def undo_decision(archive: Archive, id: int) -> PairProposal:
    """Takes a decision back, and the link that it added: the proposal is open again.

    Raises DecidedError where nothing was decided, MissingError where there is none.
    """
    sql = (
        "UPDATE proposals SET state = 'open', decided_at = NULL, by = NULL, linked = 0 "
        "WHERE number = ? AND state != 'open'"
    )
    with storage_errors(archive.path), change_transaction(archive._connection):
        if archive._connection.execute("SELECT linked FROM proposals WHERE number = ?", (id,)).fetchone() == (1,):
            delete_link_row(archive._connection, _duplicate_link(archive, id))
        if not archive._connection.execute(sql, (id,)).rowcount:
            raise AlreadyDecidedError(
                f"proposal {id} is {get_proposal(archive, id).state}: there is nothing to take back"
            )
        return get_proposal(archive, id)


def _duplicate_link(archive: Archive, id: int) -> Link:
    proposal = get_proposal(archive, id)
    return Link(proposal.question, proposal.other, "duplicate", now("milliseconds"))


def _after_clause(archive: Archive, state: ProposalState, after_id: int | None) -> tuple[str, tuple[Any, ...]]:
    """The condition for what comes after a proposal in its state's order, with its values from the third on."""
    if after_id is None:
        return "", ()
    last = get_proposal(archive, after_id)
    if state == "open":
        certainty = -1 if last.probability is None else last.probability
        return (
            " AND (-COALESCE(p.probability, -1), -p.score, p.number) > (-?3, -?4, ?5)",
            (certainty, last.score, last.id),
        )
    sign = ">" if state == "skipped" else "<"
    return f" AND (p.decided_at, p.number) {sign} (?3, ?4)", (last.decided_at or "", last.id)


def _count_proposals(archive: Archive) -> int:
    return fetch_int(archive, "SELECT COUNT(*) FROM proposals")
