"""Names for packages that have kinds of their own, or find entries of any kind: classes and objects by their names.

A package's own kinds are found in a folder of its own, one file each, and in a group of entry points.
"""

from askalike.core.registry import Kind, add_kind, load, names

__all__ = ["Kind", "add_kind", "load", "names"]
