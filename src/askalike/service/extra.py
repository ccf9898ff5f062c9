"""Says so where the libraries of the extra `service` are not installed."""

from importlib.util import find_spec

from askalike.errors import SettingsError

REQUIRED_MODULES = ("fastapi", "uvicorn", "httptools", "uvloop", "prometheus_client", "nh3")


def require() -> None:
    """Raises SettingsError that names the extra where a library of it is missing."""
    if missing := [name for name in REQUIRED_MODULES if find_spec(name) is None]:
        raise SettingsError(
            f"askalike serve needs {', '.join(missing)}, not installed here; run: pip install 'askalike[service]'"
        )
