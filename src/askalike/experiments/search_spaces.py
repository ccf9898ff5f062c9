"""What there is to tune in a ranker: the grids that it or its parts declare."""

from collections.abc import Mapping, Sequence
from typing import Any

from askalike import rankers, registry
from askalike.errors import SettingsError
from askalike.experiments.grid_search import Grid
from askalike.rankers._ranker import Tunable
from askalike.store.archive import Archive


def tuning_grids(archive: Archive, ranker: str, fixed: Mapping[str, Any]) -> Sequence[Grid]:
    """What there is to tune in a ranker, beside fixed settings: of a similarity, its own grids and its fields' weights.

    A grid's first values are the defaults, so that the first trial is the ranker untuned.
    Raises SettingsError where it declares nothing.
    """
    if ranker in registry.names("similarity"):
        return _similarity_grids(archive, ranker, fixed)
    built = rankers.create(ranker, fixed, archive.path)
    if not isinstance(built, Tunable):
        raise SettingsError(
            f"{ranker} declares nothing to tune; name the values to try, as in tune = {{ KEY = [VALUE, VALUE] }}"
        )
    return [_drop_fixed(grid, fixed) for grid in built.grids]


def lexical_grids(archive: Archive, ranker: str, fixed: Mapping[str, Any]) -> Sequence[Grid]:
    """As `grids`, for a similarity or a hybrid of similarities; raises SettingsError for any other ranker."""
    known = registry.names("similarity")
    built = rankers.create(ranker, fixed, archive.path) if ranker in rankers.names() else None
    parts = built.values.get("parts", ()) if built else ()
    if ranker not in known and not (parts and set(parts) <= set(known)):
        raise SettingsError(
            f"{ranker!r} is not a lexical ranker; those that tune knows are: {', '.join(known)}, and hybrids of them "
            "(hybrid with --set parts=bm25,tfidf)"
        )
    return tuning_grids(archive, ranker, fixed)


def _similarity_grids(archive: Archive, similarity: str, fixed: Mapping[str, Any]) -> Sequence[Grid]:
    weights: Grid = {}
    if fixed.get("fields", "title,body") == "title,body" and _has_bodies(archive):
        weights = registry.load("ranker", "lexical").GRID
    return [_drop_fixed({**weights, **grid}, fixed) for grid in registry.load("similarity", similarity).GRIDS]


def _has_bodies(archive: Archive) -> bool:
    return archive.connection.execute("SELECT 1 FROM questions WHERE body != '' LIMIT 1").fetchone() is not None


def _drop_fixed(grid: Grid, fixed: Mapping[str, Any]) -> Grid:
    return {name: values for name, values in grid.items() if name not in fixed}
