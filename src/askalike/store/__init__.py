"""The archive: questions, answers and links in one SQLite file, and what rankers may see of them."""

from askalike.store.archive import Archive
from askalike.store.view import View

__all__ = ["Archive", "View"]
