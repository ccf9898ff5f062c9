"""The public names for packages that add to askalike, one module for each seam; nobody inside askalike imports them.

What users need as well is in `askalike` itself. docs/extending.md tells which group of entry points takes what. Here
are the names to register commands, to find classes and objects of any kind by their names, and to add kinds of a
package's own, which are found in a folder of its own, one file each, and in a group of entry points.
"""

from askalike.core.registry import Command as Command, Kind as Kind, add_kind as add_kind, load as load, names as names
