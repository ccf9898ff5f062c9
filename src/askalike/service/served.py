"""Which ranker an archive serves."""

from pathlib import Path

from askalike import rankers
from askalike.rankers import Ranker
from askalike.service.settings import ServiceSettings


def served_ranker(settings: ServiceSettings, path: Path) -> Ranker:
    """The ranker of the archive in `path`: the one that was named, else the default one. Raises SettingsError."""
    return rankers.build(settings.ranker, settings.values, path)
