"""Conditions on the hits of a search: tags, dates and states; and the documents that satisfy them."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal, get_args

from askalike.core.arrays import Ints
from askalike.core.errors import SettingsError
from askalike.core.iteration import lazy_property
from askalike.core.records import MARKS, Mark, State
from askalike.core.values import parse_limit, parse_tag

LeftOut = Literal["closed", "locked", "outdated", "unanswered"]
"""The states that a filter can leave out."""
LEFT_OUT: Final[tuple[LeftOut, ...]] = get_args(LeftOut)
MARK_BY_WORD: Final[dict[str, Mark | None]] = {
    **dict.fromkeys(("answered", "solved", "resolved", "fixed", "completed", "done"), "answered"),
    **dict.fromkeys(("closed", "rejected", "wontfix", "not planned", "not_planned", "invalid"), "closed"),
    **dict.fromkeys(("locked", "archived", "protected"), "locked"),
    **dict.fromkeys(("outdated", "obsolete", "deprecated", "superseded"), "outdated"),
    **dict.fromkeys(("", "open", "available", "active", "published", "unanswered", "duplicate"), None),
}
"""Word in a column of states → the mark; None for `duplicate` and the like, which are links."""


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions on hits: all of the tags, a date in [after, before), and none of the excluded states.

    without: any of closed, locked, outdated and unanswered. A question is unanswered if it has no accepted answer and
    its source does not mark it as solved. A question that was closed as a duplicate of one in the archive does not
    count as closed: its original is shown instead, if that also satisfies the conditions.
    Raises SettingsError.
    """

    tags: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    without: tuple[LeftOut, ...] = ()

    def __post_init__(self) -> None:
        for name in ("tags", "without"):
            if isinstance(given := getattr(self, name), str):
                raise SettingsError(f"{name} is {given!r}; expected a tuple, each a string")
        try:
            object.__setattr__(self, "tags", tuple(map(parse_tag, self.tags)))
            object.__setattr__(self, "without", tuple(sorted(set(map(parse_left_out, self.without)))))
            for name in ("after", "before"):
                if (date := getattr(self, name)) is not None:
                    object.__setattr__(self, name, parse_limit(date))
        except ValueError as error:
            raise SettingsError(str(error)) from None
        if self.after and self.before and self.after >= self.before:
            raise SettingsError(f"after={self.after} must be earlier than before={self.before}")

    def __bool__(self) -> bool:
        return bool(self.tags or self.after or self.before or self.without)

    def __and__(self, other: "Filter | None") -> "Filter":
        """Return the filter that requires both; it matches nothing if their date ranges do not overlap."""
        if not other or not self:
            return other or self
        both = Filter(tuple(dict.fromkeys(self.tags + other.tags)), without=self.without + other.without)
        object.__setattr__(both, "after", max(filter(None, (self.after, other.after)), default=None))
        object.__setattr__(both, "before", min(filter(None, (self.before, other.before)), default=None))
        return both

    def allows(self, tags: Collection[str], created_at: str | None, states: Collection[State]) -> bool:
        """Return whether a question satisfies the conditions; a question without a date satisfies no date condition."""
        if self.after and (created_at is None or created_at < self.after):
            return False
        if self.before and (created_at is None or created_at >= self.before):
            return False
        if "unanswered" in self.without and "answered" not in states:
            return False
        return set(self.tags) <= set(tags) and set(self.without).isdisjoint(states)


class AllowedDocs:
    """The documents that a search may find. An index that stores tags and dates applies the filter itself.

    find_docids: returns their docids, int64 (n), ascending. filter: the condition on them; None if only docids count.
    """

    def __init__(self, find_docids: Callable[[], Ints], filter: Filter | None = None) -> None:
        self._find_docids, self.filter = find_docids, filter

    @lazy_property
    def docids(self) -> Ints:
        """Their docids, int64 (n), ascending."""
        return self._find_docids()


def parse_left_out(text: str) -> LeftOut:
    """Return the name of a state that a filter can leave out. Raises ValueError."""
    for name in LEFT_OUT:
        if text.strip().lower() == name:
            return name
    raise ValueError(f"{text!r}: expected {', '.join(LEFT_OUT[:-1])} or {LEFT_OUT[-1]}")


def parse_marks(text: str) -> tuple[Mark, ...]:
    """Return the marks of the words in a cell, such as `solved, locked`. Raises ValueError for an unknown word."""
    words = [word.strip().lower() for word in re.split(r"[,;|]", text)]
    if unknown := [word for word in words if word not in MARK_BY_WORD]:
        raise ValueError(f"state {unknown[0]!r}: expected open, {', '.join(MARKS)}, or words for them such as solved")
    found = {MARK_BY_WORD[word] for word in words}
    return tuple(mark for mark in MARKS if mark in found)
