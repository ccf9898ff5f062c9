"""The archive: questions, answers and links in one SQLite file, and what rankers may see of them."""

from askalike.archive.store import Archive
from askalike.archive.view import View

__all__ = ["Archive", "View"]
