"""Which ranker an archive serves."""

from pathlib import Path

from askalike import rankers
from askalike.archive.serving import Served
from askalike.rankers import Ranker
from askalike.service.settings import ServiceSettings


def ranker_of(settings: ServiceSettings, path: Path, served: Served | None) -> Ranker:
    """The ranker that the service was started with, else the one in service, else the default. Raises SettingsError."""
    if settings.ranker or served is None:
        return rankers.build(settings.ranker or rankers.default(), settings.values, path)
    return rankers.build(served.ranker, {**served.settings, **settings.values}, path)
