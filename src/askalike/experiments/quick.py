"""A quick run of an experiment: every system and step of it, with few queries, pairs, epochs and values to try."""

from collections.abc import Mapping
from typing import Any

from askalike.core.counts import format_count
from askalike.experiments.declaration import Experiment, SystemSettings

MAX_QUERIES = 100
"""Maximum number of queries that are measured, and that tune."""
VALUES_TRIED = 2
"""Number of values of a setting that tuning tries."""
LIMITS: Mapping[str, int] = {
    "training.epochs": 1, "training.dev_documents": 500, "data.max_pairs": 500, "embeddings.init_epochs": 1,
    "features.longest": 40, "negatives.random": 2, "epochs": 1,
}  # fmt: skip
"""The highest values of settings of networks and of encoders of texts. Skip-gram vectors are random ones instead."""


def shorten(experiment: Experiment) -> Experiment:
    """Return a resolved experiment for trying it out in minutes; its figures mean nothing."""
    queries, pairs = format_count(MAX_QUERIES, "query"), format_count(LIMITS["data.max_pairs"], "pair")
    difference = f"A quick run: at most {queries} and {pairs}, one epoch, one seed."
    changes = {
        "seeds": experiment.seeds[:1],
        "max_queries": min(experiment.max_queries or MAX_QUERIES, MAX_QUERIES),
        "known_differences": (difference, *experiment.known_differences),
        "system": tuple(map(_shorten_system, experiment.system)),
    }
    return experiment.model_copy(update=changes)


def _shorten_system(system: SystemSettings) -> SystemSettings:
    settings = {name: _shorten_setting(name, value) for name, value in system.settings.items()}
    grids = system.tune if isinstance(system.tune, tuple) else ()
    few = tuple({name: values[:VALUES_TRIED] for name, values in grid.items()} for grid in grids[:1])
    return system.model_copy(update={"settings": settings, **({"tune": few} if few else {})})


def _shorten_setting(name: str, value: Any) -> Any:
    if name.endswith("embeddings.init") and value == "skipgram":
        return "random"
    limit = next((limit for end, limit in LIMITS.items() if f".{name}".endswith(f".{end}")), None)
    return value if limit is None else min(value or limit, limit) if name.endswith("max_pairs") else min(value, limit)
