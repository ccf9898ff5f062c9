"""The archive, one SQLite file: its records, and all else that is kept with it. The only SQL of the package."""

from askalike.store.archive import Archive
from askalike.store.view import View

__all__ = ["Archive", "View"]
