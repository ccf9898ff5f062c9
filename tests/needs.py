"""What tests need that may be missing: packages, which are not imported as some take seconds, and real archives."""

import importlib.util
from pathlib import Path

import pytest

SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
"""The real archives that lie beside the project."""


def need(*packages: str) -> None:
    """Skip the test, or the whole module where none is running, unless all packages are installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}", allow_module_level=True)
