"""Conditions on the hits of a search: tags, dates and states."""

from collections.abc import Collection
from dataclasses import dataclass

from askalike.core.clock import parse_limit
from askalike.core.errors import SettingsError
from askalike.core.states import LeftOut, State, parse_left_out
from askalike.core.values import parse_tag


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
