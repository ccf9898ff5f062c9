"""`tools/make-venv` where Python cannot make a virtual environment: what to install is said in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "make-venv"
WITHOUT_VENV = """#!/bin/sh
case "$*" in *ensurepip*|*venv*) exit 1;; esac
exec {python} "$@"
"""
OLD = "#!/bin/sh\nexit 1\n"


def made(tmp_path: Path, python: str) -> "subprocess.CompletedProcess[str]":
    """The tool's answer on a machine whose one Python is this script."""
    (tmp_path / "bin").mkdir()
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
        (tmp_path / "bin" / name).write_text(python)
        (tmp_path / "bin" / name).chmod(0o755)
    env = {name: value for name, value in os.environ.items() if name != "PYTHON"}
    env["PATH"] = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    return subprocess.run(["sh", TOOL], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("python", "line"),
    [
        (WITHOUT_VENV.format(python=sys.executable), "    sudo apt-get install python3-venv"),
        (OLD, "Install one, or name it: make demo PYTHON=/path/to/python3.12"),
    ],
)
def test_missing_thing_is_said_with_its_cure(tmp_path: Path, python: str, line: str) -> None:
    done = made(tmp_path, python)
    assert done.returncode == 1
    assert line in done.stderr.splitlines()
    assert not (tmp_path / ".venv").exists()
