"""An archive's tools for assistants, over the Model Context Protocol. Needs the extra `mcp`."""

from importlib.util import find_spec

from askalike import service
from askalike.core.errors import SettingsError

REQUIRED_MODULES = ("mcp", *service.REQUIRED_MODULES)
"""The modules of the extra `mcp`."""


def require_extra() -> None:
    """Raise SettingsError, which names the extra, if one of its libraries is missing."""
    if missing := [name for name in REQUIRED_MODULES if find_spec(name) is None]:
        advice = "not installed here; run: pip install 'askalike[mcp]'"
        raise SettingsError(f"askalike mcp needs {', '.join(missing)}, {advice}")
