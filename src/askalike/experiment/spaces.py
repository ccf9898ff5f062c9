"""What there is to tune in a ranker: the grids that it or its parts declare."""

from collections.abc import Mapping, Sequence
from typing import Any

from askalike import rankers, registry
from askalike.archive.store import Archive
from askalike.errors import SettingsError
from askalike.experiment.tuning import Grid
from askalike.rankers._ranker import Tunable


def grids(archive: Archive, ranker: str, fixed: Mapping[str, Any]) -> Sequence[Grid]:
    """What there is to tune in a ranker, beside fixed settings: of a similarity, its own grids and its fields' weights.

    A grid's first values are the defaults, so that the first trial is the ranker untuned.
    Raises SettingsError where it declares nothing.
    """
    if ranker in registry.names("similarity"):
        return _of_similarity(archive, ranker, fixed)
    built = rankers.build(ranker, fixed)
    if not isinstance(built, Tunable):
        raise SettingsError(
            f"{ranker} declares nothing to tune; name the values to try, as in tune = {{ KEY = [VALUE, VALUE] }}"
        )
    return [_unfixed(grid, fixed) for grid in built.grids]


def lexical(archive: Archive, ranker: str, fixed: Mapping[str, Any]) -> Sequence[Grid]:
    """As `grids`, for a similarity or a hybrid of similarities; raises SettingsError for any other ranker."""
    known = registry.names("similarity")
    parts = rankers.build(ranker, fixed).values.get("parts", ()) if ranker in rankers.names() else ()
    if ranker not in known and not (parts and set(parts) <= set(known)):
        raise SettingsError(
            f"{ranker!r} is not a lexical ranker; those that tune knows are: {', '.join(known)}, and hybrids of them "
            "(hybrid with --set parts=bm25,tfidf)"
        )
    return grids(archive, ranker, fixed)


def _of_similarity(archive: Archive, similarity: str, fixed: Mapping[str, Any]) -> Sequence[Grid]:
    weights: Grid = {}
    if fixed.get("fields", "title,body") == "title,body" and _has_bodies(archive):
        weights = registry.load("ranker", "lexical").GRID
    return [_unfixed({**weights, **grid}, fixed) for grid in registry.load("similarity", similarity).GRIDS]


def _has_bodies(archive: Archive) -> bool:
    return archive.connection.execute("SELECT 1 FROM questions WHERE body != '' LIMIT 1").fetchone() is not None


def _unfixed(grid: Grid, fixed: Mapping[str, Any]) -> Grid:
    return {name: values for name, values in grid.items() if name not in fixed}
