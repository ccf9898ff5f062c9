"""The states of questions: open, answered, closed, locked or outdated."""

import re
from typing import Final, Literal, get_args

Mark = Literal["answered", "closed", "locked", "outdated"]
"""The mark of a question by its source. answered: it is solved, whether or not an answer is accepted."""
State = Literal["open", "answered", "closed", "locked", "outdated", "duplicate"]
LeftOut = Literal["closed", "locked", "outdated", "unanswered"]
"""The states that a filter can leave out."""

MARKS: Final[tuple[Mark, ...]] = get_args(Mark)
LEFT_OUT: Final[tuple[LeftOut, ...]] = get_args(LeftOut)
MARK_BY_WORD: Final[dict[str, Mark | None]] = {
    **dict.fromkeys(("answered", "solved", "resolved", "fixed", "completed", "done"), "answered"),
    **dict.fromkeys(("closed", "rejected", "wontfix", "not planned", "not_planned", "invalid"), "closed"),
    **dict.fromkeys(("locked", "archived", "protected"), "locked"),
    **dict.fromkeys(("outdated", "obsolete", "deprecated", "superseded"), "outdated"),
    **dict.fromkeys(("", "open", "available", "active", "published", "unanswered", "duplicate"), None),
}
"""Word in a column of states → the mark; None for `duplicate` and the like, which are links."""


ANSWERED_FIRST: Final = 0.05
"""An open, answered question stands before a closed or unanswered one whose score is higher by at most this share.

Measured: experiments/log/2026-11.md, 2026-11-26.
"""


def parse_marks(text: str) -> tuple[Mark, ...]:
    """Return the marks of the words in a cell, such as `solved, locked`. Raises ValueError for an unknown word."""
    words = [word.strip().lower() for word in re.split(r"[,;|]", text)]
    if unknown := [word for word in words if word not in MARK_BY_WORD]:
        raise ValueError(f"state {unknown[0]!r}: expected open, {', '.join(MARKS)}, or words for them such as solved")
    found = {MARK_BY_WORD[word] for word in words}
    return tuple(mark for mark in MARKS if mark in found)


def parse_left_out(text: str) -> LeftOut:
    """Return the name of a state that a filter can leave out. Raises ValueError."""
    for name in LEFT_OUT:
        if text.strip().lower() == name:
            return name
    raise ValueError(f"{text!r}: expected {', '.join(LEFT_OUT[:-1])} or {LEFT_OUT[-1]}")


def derive_states(marks: tuple[Mark, ...], closed_at: str | None, accepted_answer_id: str | None) -> tuple[State, ...]:
    """Return a question's states: its marks, or closed if it has a closing date; answered if an answer is accepted.

    A closing date means closed only without marks. Marks give the reason for closing: an issue that was closed because
    it is solved is answered, not closed.
    """
    states: set[State] = set(marks)
    if closed_at and not marks:
        states.add("closed")
    if accepted_answer_id:
        states.add("answered")
    return tuple(mark for mark in MARKS if mark in states) or ("open",)
