"""The public names for packages that add to askalike, one module for each seam; nobody inside askalike imports them.

What users need as well is in `askalike` itself. docs/extending.md tells which group of entry points takes what.
"""

from askalike.core.registry import Command

__all__ = ["Command"]
