"""The built package has all that it needs."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1]


@pytest.mark.long
def test_wheel_has_its_recipes(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=PACKAGE, check=True, capture_output=True)
    [wheel] = tmp_path.iterdir()
    names = zipfile.ZipFile(wheel).namelist()
    expected = {"recipes/static.toml", "papers/recipes/bow_cnn.toml", "py.typed"}
    assert {f"askalike_learning/{name}" for name in expected} <= set(names)
