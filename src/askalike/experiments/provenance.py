"""Where an experiment's numbers come from: the software, the machine, the data."""

import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from askalike.clock import now
from askalike.store.archive import Archive
from askalike.store.content import content_hash

PACKAGES = ("numpy", "scipy", "numba", "ir-measures", "PyStemmer", "wordllama", "torch")
LOADED_ONLY = ("torch",)
"""Packages that count only where they were used: importing one to ask would take seconds."""


def collect_provenance(archive: Archive) -> dict[str, Any]:
    """Versions, platform, the data's hash, askalike's commit (None where it is not in a git working tree), the time."""
    return {
        "started_at": now(),
        "versions": package_versions(),
        "platform": f"{platform.platform()}, {platform.processor() or platform.machine()}",
        "data": content_hash(archive),
        "commit": git_commit(Path(__file__).parent),
    }


def package_versions() -> Mapping[str, str]:
    """Python's version, and that of each package that decides about the numbers."""
    found = {"python": platform.python_version(), "askalike": sys.modules["askalike"].__version__}
    for package in PACKAGES:
        if package not in LOADED_ONLY or package in sys.modules:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = "not installed as a package"
    return found


def git_commit(folder: Path) -> str | None:
    """The commit that a folder under git is at, with `-dirty` where something in it has changed since; else None."""
    if _run_git(folder, "ls-files", "--error-unmatch", ".") is None:
        return None
    found = _run_git(folder, "rev-parse", "HEAD")
    return f"{found}-dirty" if found and _run_git(folder, "status", "--porcelain", ".") else found


def _run_git(folder: Path, *arguments: str) -> str | None:
    """What git prints, or None where there is no git, no working tree, or nothing of the folder in it."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
