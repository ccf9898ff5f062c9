"""The HTTP service: similar questions as they are typed, for people and for other sites. Needs the extra `service`."""

from importlib.util import find_spec

from askalike.core.errors import SettingsError

REQUIRED_MODULES = ("fastapi", "uvicorn", "httptools", "uvloop", "prometheus_client", "nh3", "babel")
"""The modules of the extra `service`."""


def require_extra() -> None:
    """Raise SettingsError, which names the extra, if one of its libraries is missing."""
    if missing := [name for name in REQUIRED_MODULES if find_spec(name) is None]:
        advice = "not installed here; run: pip install 'askalike[service]'"
        raise SettingsError(f"askalike serve needs {', '.join(missing)}, {advice}")
