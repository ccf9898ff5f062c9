"""The built package, installed into a fresh virtual environment, has all that it needs to import, search and serve."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path
from typing import Any

import pytest

from needs import need
from service.serving import Service
from waiting import wait_for

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "riverside.csv"


def run(*command: Any, cwd: Path) -> str:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, source: Path, folder: Path) -> Path:
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder, cwd=source)
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def source_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("hatchling")
    return build("sdist", ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel_of_sources(source_package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(source_package) as package:
        package.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return build("wheel", unpacked, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel_of_sources: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of an environment with the wheel; other packages are those of this environment."""
    place = tmp_path_factory.mktemp("fresh") / "env"
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    options = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "--python", python, "install", *options, wheel_of_sources, cwd=place)
    (site,) = (place / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place / "bin"


def test_wheel_of_the_sources_equals_the_checkouts(wheel_of_sources: Path, tmp_path: Path) -> None:
    need("hatchling")
    wheel = build("wheel", ROOT, tmp_path)
    shown = [
        run(sys.executable, "-m", "zipfile", "-l", path, cwd=tmp_path).splitlines()[1:]
        for path in (wheel, wheel_of_sources)
    ]
    names = [sorted(line.split()[0] for line in lines) for lines in shown]
    assert names[0] == names[1]


def test_it_imports_and_searches(installed: Path, tmp_path: Path) -> None:
    module = run(installed / "python", "-c", "import askalike; print(askalike.__file__)", cwd=tmp_path)
    assert Path(module.strip()).is_relative_to(installed.parent)
    run(installed / "askalike", "import", "table", EXAMPLE, "-o", "riverside", cwd=tmp_path)
    hits = run(installed / "askalike", "search", "riverside", "my bicycle was stolen", "-r", "bm25", cwd=tmp_path)
    assert "1. The bike I hired was stolen." in hits


def test_it_serves_pages_and_the_widget(installed: Path, tmp_path: Path) -> None:
    need("fastapi", "uvicorn")
    run(installed / "askalike", "import", "table", EXAMPLE, "-o", "riverside", cwd=tmp_path)
    service = Service(tmp_path / "riverside", program=installed / "askalike")
    try:
        wait_for(lambda: service.get("/readyz").status == 200)
        page = service.get("/a/riverside?title=my+bicycle+was+stolen")
        assert (page.status, b"The bike I hired was stolen." in page.body) == (200, True)
        assert service.get("/widget.js").status == 200
    finally:
        service.end()
