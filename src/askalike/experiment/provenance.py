"""Where an experiment's numbers come from: the software, the machine, the data."""

import platform
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from askalike.archive.content import content_hash
from askalike.archive.store import Archive
from askalike.clock import now

PACKAGES = ("numpy", "scipy", "numba", "ir-measures", "PyStemmer", "wordllama", "torch")
LOADED_ONLY = ("torch",)
"""Packages that count only where they were used: importing one to ask would take seconds."""


def provenance(archive: Archive) -> dict[str, Any]:
    """Versions, platform, the data's hash, askalike's commit (None where it is not in a git working tree), the time."""
    return {
        "started_at": now(),
        "versions": versions(),
        "platform": f"{platform.platform()}, {platform.processor() or platform.machine()}",
        "data": content_hash(archive),
        "commit": commit(Path(__file__).parent),
    }


def versions() -> Mapping[str, str]:
    """Python's version, and that of each package that decides about the numbers."""
    found = {"python": platform.python_version(), "askalike": sys.modules["askalike"].__version__}
    for package in PACKAGES:
        if package not in LOADED_ONLY or package in sys.modules:
            try:
                found[package] = version(package)
            except PackageNotFoundError:
                found[package] = "not installed as a package"
    return found


def commit(folder: Path) -> str | None:
    """The commit that a folder under git is at, with `-dirty` where something in it has changed since; else None."""
    if _git(folder, "ls-files", "--error-unmatch", ".") is None:
        return None
    found = _git(folder, "rev-parse", "HEAD")
    return f"{found}-dirty" if found and _git(folder, "status", "--porcelain", ".") else found


def _git(folder: Path, *words: str) -> str | None:
    """What git prints, or None where there is no git, no working tree, or nothing of the folder in it."""
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
