"""The provenance of numbers: the versions, hardware, data and code that they come from."""

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from askalike import Archive
from askalike.plugin.commands import now
from askalike.plugin.measuring import content_hash

PACKAGES = ("numpy", "scipy", "numba", "ir-measures", "PyStemmer", "wordllama", "torch")
LOADED_ONLY = ("torch",)
"""Packages that are listed only if they were used, as importing them takes seconds."""
CPU_INFO = Path("/proc/cpuinfo")


def collect_provenance(archive: Archive, command: str | None) -> dict[str, Any]:
    """Return versions, platform, hardware, the data's hash, askalike's commit (None outside a git working tree), the
    time, and the command line, if any.
    """
    return {
        "started_at": now(),
        **({"command": command} if command else {}),
        "versions": package_versions(),
        "platform": f"{platform.platform()}, {platform.processor() or platform.machine()}",
        "hardware": describe_hardware(),
        "data": content_hash(archive),
        "commit": git_commit(Path(__file__).parent),
    }


def describe_hardware() -> str:
    """Return the processor's model, its cores and the machine's memory: `AMD EPYC, 2 cores, 8 GB`."""
    model = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = (line.partition(":") for line in CPU_INFO.read_text(encoding="utf-8").splitlines())
        model = next((value.strip() for name, _, value in lines if name.strip() == "model name"), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GB"


def package_versions() -> Mapping[str, str]:
    """Return the versions of Python and of each package that the results depend on."""
    versions = {"python": platform.python_version(), "askalike": sys.modules["askalike"].__version__}
    for package in PACKAGES:
        if package not in LOADED_ONLY or package in sys.modules:
            try:
                versions[package] = version(package)
            except PackageNotFoundError:
                versions[package] = "not installed as a package"
    return versions


def git_commit(folder: Path) -> str | None:
    """Return the commit of a folder under git, with `-dirty` if anything in it has changed since; else None."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    with suppress(OSError, subprocess.CalledProcessError):
        git("ls-files", "--error-unmatch", ".")
        return git("rev-parse", "HEAD") + ("-dirty" if git("status", "--porcelain", ".") else "")
    return None
