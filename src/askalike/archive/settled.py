"""A view for those who search while another process indexes."""

from dataclasses import dataclass

from askalike.archive.store import Archive
from askalike.archive.view import View


@dataclass(frozen=True, slots=True)
class Settled(View):
    """All questions as they were last indexed: `Ranker.index` opens what is committed and has nothing to follow."""

    @property
    def change(self) -> int:
        """No change: none is for this ranker to apply."""
        return 0


def settled(archive: Archive) -> Settled:
    """The view of an archive whose index another process keeps."""
    return Settled(archive.connection, str(archive.path))
