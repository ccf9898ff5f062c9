"""Skips what needs packages that are not installed, without importing them: some take seconds."""

import importlib.util

import pytest


def need(*packages: str) -> None:
    """Skip the test, or the whole module where none is running, unless all packages are installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}", allow_module_level=True)
