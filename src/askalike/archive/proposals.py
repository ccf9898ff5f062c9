"""Pairs of questions that may ask the same, for a person to decide: nothing here is ever closed by itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from askalike.archive.editing import MissingError, add_link, drop_link
from askalike.archive.store import Archive, storage_errors
from askalike.archive.writer import atomic, transaction
from askalike.clock import now
from askalike.errors import ArchiveError
from askalike.types import Link

State = Literal["open", "accepted", "rejected", "skipped"]
STATES: tuple[State, ...] = get_args(State)
Decision = Literal["accept", "reject", "skip"]
BECOMES: Mapping[Decision, State] = {"accept": "accepted", "reject": "rejected", "skip": "skipped"}
DECISIONS: tuple[Decision, ...] = get_args(Decision)

COLUMNS = "p.number, p.question, p.other, p.probability, p.score, p.model, p.found_at, p.state, p.decided_at, p.by"
CERTAINTY = "COALESCE(p.probability, -1) DESC, p.score DESC, p.number"
BOTH_THERE = (
    "EXISTS (SELECT 1 FROM questions WHERE id = p.question) AND EXISTS (SELECT 1 FROM questions WHERE id = p.other)"
)
LINKED = """EXISTS (
    WITH RECURSIVE same(id) AS (
        VALUES ({one}) UNION
        SELECT l.target FROM same JOIN links l ON l.source = same.id AND l.kind = 'duplicate' UNION
        SELECT l.source FROM same JOIN links l ON l.target = same.id AND l.kind = 'duplicate'
    ) SELECT 1 FROM same WHERE id = {other}
)"""
"""Whether duplicate links, or chains of them, join two questions already."""


class DecidedError(ArchiveError):
    """Somebody has decided a proposal already, or a question of it has gone; or there is nothing to take back."""


@dataclass(frozen=True, slots=True)
class Found:
    """`question` may be a duplicate of `other`: how probable that is (None: uncalibrated), and who says so."""

    question: str
    other: str
    probability: float | None
    score: float
    model: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pair that was found, and what was decided of it, by whom and when; times are ISO 8601 in UTC."""

    id: int
    question: str
    other: str
    probability: float | None
    score: float
    model: str
    found_at: str
    state: State
    decided_at: str | None
    by: str | None


def propose(archive: Archive, found: Iterable[Found]) -> int:
    """Puts pairs up for a decision; returns how many are new.

    A pair is one, whichever way round. One that was decided stays decided; one that is open takes the newest figures.
    Left out are questions that duplicate links join already, directly or by a chain, and what is not there.
    """
    sql = (
        "INSERT INTO proposals (question, other, probability, score, model, found_at) "
        "SELECT p.question, p.other, ?3, ?4, ?5, ?6 FROM (SELECT ?1 AS question, ?2 AS other) p "
        f"WHERE ?1 != ?2 AND {BOTH_THERE} AND NOT {LINKED.format(one='p.question', other='p.other')} "
        "ON CONFLICT (MIN(question, other), MAX(question, other)) DO UPDATE SET question = excluded.question, "
        "other = excluded.other, probability = excluded.probability, score = excluded.score, model = excluded.model, "
        "found_at = excluded.found_at WHERE state IN ('open', 'skipped')"
    )
    rows = [(f.question, f.other, f.probability, f.score, f.model, now("milliseconds")) for f in found]
    with storage_errors(archive.path), atomic(archive.connection):
        before = _total(archive)
        archive.connection.executemany(sql, rows)
        return _total(archive) - before


def forget(archive: Archive, *, most: int | None = None, before: str | None = None) -> int:
    """Drops open proposals: those beyond the `most` most certain ones, or last found before a moment; how many."""
    beyond = f"SELECT p.number FROM proposals p WHERE p.state = 'open' ORDER BY {CERTAINTY} LIMIT -1 OFFSET ?2"
    sql = f"DELETE FROM proposals WHERE state = 'open' AND (found_at < ?1 OR ?2 IS NOT NULL AND number IN ({beyond}))"
    with storage_errors(archive.path):
        return archive.connection.execute(sql, (before, most)).rowcount


def pending(archive: Archive, most: int = 1) -> list[Proposal]:
    """What waits for a decision: the most certain first, and what was skipped at the end, the longest ago first."""
    first = listed(archive, "open", most)
    return first + listed(archive, "skipped", most - len(first)) if len(first) < most else first


def listed(archive: Archive, state: State, most: int = 50, after: int | None = None) -> list[Proposal]:
    """The proposals in a state: open ones by certainty, skipped ones by when they were, decided ones the latest first.

    `after`: the id of the last one that was seen. What waits is left out where a question has gone, or where duplicate
    links have joined both.
    """
    where, values = _after(archive, state, after)
    order = {"open": CERTAINTY, "skipped": "p.decided_at, p.number"}.get(state, "p.decided_at DESC, p.number DESC")
    waits = f" AND {BOTH_THERE} AND NOT {LINKED.format(one='p.question', other='p.other')}"
    sql = (
        f"SELECT {COLUMNS} FROM proposals p WHERE p.state = ?1{where}{waits if state in ('open', 'skipped') else ''} "
        f"ORDER BY {order} LIMIT ?2"
    )
    return [Proposal(*row) for row in archive.connection.execute(sql, (state, most, *values))]


def get(archive: Archive, id: int) -> Proposal:
    """A proposal. Raises MissingError where there is none."""
    row = archive.connection.execute(f"SELECT {COLUMNS} FROM proposals p WHERE p.number = ?", (id,)).fetchone()
    if row is None:
        raise MissingError(f"there is no proposal {id}")
    return Proposal(*row)


def counts(archive: Archive) -> dict[State, int]:
    """How many there are in each state, those included that have settled themselves."""
    found = dict(archive.connection.execute("SELECT state, COUNT(*) FROM proposals GROUP BY state"))
    return {state: found.get(state, 0) for state in STATES}


def latest(archive: Archive, by: str | None = None) -> Proposal | None:
    """The proposal decided last, by one person where `by` names them: what `undo` would take back."""
    sql = (
        f"SELECT {COLUMNS} FROM proposals p WHERE p.state != 'open' AND (p.by = ?1 OR ?1 IS NULL) "
        "ORDER BY p.decided_at DESC, p.number DESC LIMIT 1"
    )
    row = archive.connection.execute(sql, (by,)).fetchone()
    return Proposal(*row) if row else None


def decide(archive: Archive, id: int, decision: Decision, by: str = "") -> Proposal:
    """Accepts, rejects or skips what waits. Accepting adds the duplicate link; both are on disk after, or neither.

    Raises DecidedError where it is decided already, or a question of it has gone; MissingError where there is none.
    """
    sql = (
        "UPDATE proposals AS p SET state = ?2, decided_at = ?3, by = ?4, linked = 0 WHERE number = ?1 "
        f"AND state IN ('open', 'skipped') AND {BOTH_THERE}"
    )
    with storage_errors(archive.path), transaction(archive.connection):
        if not archive.connection.execute(sql, (id, BECOMES[decision], now("milliseconds"), by)).rowcount:
            raise DecidedError(f"proposal {id} is {get(archive, id).state}, or a question of it has gone")
        if decision == "accept" and add_link(archive.connection, _link(archive, id)):
            archive.connection.execute("UPDATE proposals SET linked = 1 WHERE number = ?", (id,))
        return get(archive, id)


def undo(archive: Archive, id: int) -> Proposal:
    """Takes a decision back, and the link that it added: the proposal is open again.

    Raises DecidedError where nothing was decided, MissingError where there is none.
    """
    sql = (
        "UPDATE proposals SET state = 'open', decided_at = NULL, by = NULL, linked = 0 "
        "WHERE number = ? AND state != 'open'"
    )
    with storage_errors(archive.path), transaction(archive.connection):
        if archive.connection.execute("SELECT linked FROM proposals WHERE number = ?", (id,)).fetchone() == (1,):
            drop_link(archive.connection, _link(archive, id))
        if not archive.connection.execute(sql, (id,)).rowcount:
            raise DecidedError(f"proposal {id} is {get(archive, id).state}: there is nothing to take back")
        return get(archive, id)


def _link(archive: Archive, id: int) -> Link:
    proposal = get(archive, id)
    return Link(proposal.question, proposal.other, "duplicate", now("milliseconds"))


def _after(archive: Archive, state: State, after: int | None) -> tuple[str, tuple[Any, ...]]:
    """The condition for what comes after a proposal in its state's order, with its values from the third on."""
    if after is None:
        return "", ()
    last = get(archive, after)
    if state == "open":
        certainty = -1 if last.probability is None else last.probability
        return (
            " AND (-COALESCE(p.probability, -1), -p.score, p.number) > (-?3, -?4, ?5)",
            (certainty, last.score, last.id),
        )
    sign = ">" if state == "skipped" else "<"
    return f" AND (p.decided_at, p.number) {sign} (?3, ?4)", (last.decided_at or "", last.id)


def _total(archive: Archive) -> int:
    return int(archive.connection.execute("SELECT COUNT(*) FROM proposals").fetchone()[0])
