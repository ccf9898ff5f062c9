"""How these tests import: see those of askalike's own readers."""

from readers.conftest import imported, refused

__all__ = ["imported", "refused"]
