"""A view for those who search while another process indexes."""

from dataclasses import dataclass

from askalike.store.archive import Archive
from askalike.store.view import View


@dataclass(frozen=True, slots=True)
class CommittedView(View):
    """All questions as they were last indexed: `Ranker.index` opens what is committed and has nothing to follow."""

    @property
    def change(self) -> int:
        """No change: none is for this ranker to apply."""
        return 0


def committed_view(archive: Archive) -> CommittedView:
    """The view of an archive whose index another process keeps."""
    return CommittedView(archive.connection, str(archive.path))
