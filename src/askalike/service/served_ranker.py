"""Which ranker an archive serves."""

from pathlib import Path

from askalike import rankers
from askalike.rankers import Ranker
from askalike.service.settings import ServiceSettings
from askalike.store.deployments import ServedRanker


def resolve_ranker(settings: ServiceSettings, path: Path, served: ServedRanker | None) -> Ranker:
    """The ranker that the service was started with, else the one in service, else the default. Raises SettingsError."""
    if settings.ranker or served is None:
        return rankers.create(settings.ranker or rankers.default_name(), settings.values, path)
    return rankers.create(served.ranker, {**served.settings, **settings.values}, path)
