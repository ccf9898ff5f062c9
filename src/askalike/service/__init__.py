"""The HTTP service: similar questions as they are typed, for people and for other sites. Needs the extra `service`."""

from collections.abc import Sequence
from importlib.util import find_spec

from askalike.core.errors import SettingsError

REQUIRED_MODULES = ("fastapi", "uvicorn", "httptools", "uvloop", "prometheus_client", "nh3", "babel")


def require_extra(command: str = "serve", extra: str = "service", modules: Sequence[str] = REQUIRED_MODULES) -> None:
    """Raise SettingsError, which names the extra of a command, if one of its libraries is missing."""
    if missing := [name for name in modules if find_spec(name) is None]:
        advice = f"not installed here; run: pip install 'askalike[{extra}]'"
        raise SettingsError(f"askalike {command} needs {', '.join(missing)}, {advice}")
