"""What there is to tune in a ranker: the grids that its parts declare."""

from collections.abc import Mapping, Sequence
from typing import Any

from askalike import registry
from askalike.archive.store import Archive
from askalike.errors import SettingsError
from askalike.experiment.tuning import Grid


def lexical(archive: Archive, similarity: str, fixed: Mapping[str, Any]) -> Sequence[Grid]:
    """A similarity's own grids, crossed with the fields' weights where titles and bodies are searched together.

    A grid's first values are the defaults, so that the first trial is the ranker untuned.
    Raises SettingsError for a name that is no similarity.
    """
    if similarity not in registry.names("similarity"):
        raise SettingsError(
            f"{similarity!r} is not a lexical ranker; those that tune knows are: "
            f"{', '.join(registry.names('similarity'))}"
        )
    weights: Grid = {}
    if fixed.get("fields", "title,body") == "title,body" and _has_bodies(archive):
        weights = registry.load("ranker", "lexical").GRID
    grids = registry.load("similarity", similarity).GRIDS
    return [_unfixed({**weights, **grid}, fixed) for grid in grids]


def _has_bodies(archive: Archive) -> bool:
    return archive.connection.execute("SELECT 1 FROM questions WHERE body != '' LIMIT 1").fetchone() is not None


def _unfixed(grid: Grid, fixed: Mapping[str, Any]) -> Grid:
    return {name: values for name, values in grid.items() if name not in fixed}
