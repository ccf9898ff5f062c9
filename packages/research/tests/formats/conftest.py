"""How these tests import: see those of askalike's own readers."""

from readers.conftest import expect_refusal, imported

__all__ = ["expect_refusal", "imported"]
