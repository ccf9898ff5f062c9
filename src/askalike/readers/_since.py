"""Follow-up imports: only what changed on or after a date."""

from pydantic import Field

from askalike.core.config import DateText, Settings
from askalike.readers._source import SourceFiles


class FollowUpReader(Settings):
    """Settings of a reader whose files have dates of changes."""

    since: DateText | None = Field(
        None, description="import only what changed on or after this date, e.g. 2026-01-31; for follow-up imports"
    )

    def is_unchanged(self, changed_at: str | None, source: SourceFiles) -> bool:
        """Return whether an item last changed before `since`, and must be left out; it is then counted.

        changed_at: ISO 8601 in UTC. An item without a date is imported.
        """
        if self.since is None:
            return False
        is_older = bool(changed_at) and (changed_at or "") < self.since
        source.note("older than --since left out", is_older)
        return is_older
