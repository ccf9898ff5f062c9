"""The provenance of an experiment's numbers: the software, the machine, the data."""

import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from askalike.clock import now
from askalike.store import Archive, content_hash

PACKAGES = ("numpy", "scipy", "numba", "ir-measures", "PyStemmer", "wordllama", "torch")
LOADED_ONLY = ("torch",)
"""Packages that count only where they were used: to import one takes seconds."""


def collect_provenance(archive: Archive) -> dict[str, Any]:
    """Return versions, platform, the data's hash, askalike's commit (None outside a git working tree), the time."""
    return {
        "started_at": now(),
        "versions": package_versions(),
        "platform": f"{platform.platform()}, {platform.processor() or platform.machine()}",
        "data": content_hash(archive),
        "commit": git_commit(Path(__file__).parent),
    }


def package_versions() -> Mapping[str, str]:
    """Return the versions of Python and of each package that the numbers depend on."""
    versions = {"python": platform.python_version(), "askalike": sys.modules["askalike"].__version__}
    for package in PACKAGES:
        if package not in LOADED_ONLY or package in sys.modules:
            try:
                versions[package] = version(package)
            except PackageNotFoundError:
                versions[package] = "not installed as a package"
    return versions


def git_commit(folder: Path) -> str | None:
    """Return the commit of a folder under git, with `-dirty` where something in it has changed since; else None."""
    if _run_git(folder, "ls-files", "--error-unmatch", ".") is None:
        return None
    commit = _run_git(folder, "rev-parse", "HEAD")
    return f"{commit}-dirty" if commit and _run_git(folder, "status", "--porcelain", ".") else commit


def _run_git(folder: Path, *arguments: str) -> str | None:
    """Return what git prints; None where there is no git or no working tree, or the folder is not in it."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
