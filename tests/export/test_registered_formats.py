"""Formats of other packages are found as askalike's own are."""

import os
import subprocess
import sys

import pytest

from askalike import Archive, Question, SettingsError, export_archive
from askalike.core import registry

MODULE = """
from askalike import Settings, SettingsError

class LinesExport(Settings):
    prefix: str = "- "

    def write(self, archive, folder, track, log):
        if self.prefix == "#":
            raise SettingsError("export lines: # begins a comment; choose another prefix")
        view = archive.view()
        questions = track(view.questions(), total=len(view), description="lines")
        rows = [self.prefix + question.title for _, question in questions]
        (folder / "lines.txt").write_text("\\n".join(rows))
        log("bodies are left out")
        return {"lines.txt": len(rows)}
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The folder of an installed package with a format of two words, `plain_lines`."""
    folder = tmp_path / "packages"
    metadata = folder / "lines_format-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: lines-format\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[askalike.exports]\nplain_lines = lines_format:LinesExport\n")
    (folder / "lines_format.py").write_text(MODULE)
    monkeypatch.syspath_prepend(folder)
    forget_packages()
    yield folder
    monkeypatch.undo()
    sys.modules.pop("lines_format", None)
    forget_packages()


def forget_packages():
    registry.installed_entry_points.cache_clear()
    registry._entry_points.cache_clear()


@pytest.fixture
def two(archive: Archive) -> Archive:
    archive.upsert([Question("a", "first"), Question("b", "second")])
    return archive


def test_package_format_with_options(two, package, tmp_path):
    remarks = []
    rows = export_archive(two, "plain-lines", tmp_path / "out", options={"prefix": "* "}, log=remarks.append)
    assert (rows, remarks) == ({"lines.txt": 2}, ["bodies are left out"])
    assert (tmp_path / "out" / "lines.txt").read_text() == "* first\n* second"


def test_package_format_refuses(two, package, tmp_path):
    for options, problem in (({"suffix": "."}, "export plain-lines: suffix is not a setting"), ({"prefix": "#"}, "#")):
        with pytest.raises(SettingsError, match=problem):
            export_archive(two, "plain-lines", tmp_path / "out", options=options)
    assert not (tmp_path / "out").exists()


def test_package_format_in_the_command_line(two, package, tmp_path):
    two.close()
    environment = os.environ | {"PYTHONPATH": str(package), "COLUMNS": "200"}

    def run(*words):
        command = [sys.executable, "-m", "askalike", "export", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)

    assert "plain-lines" in run("--help").stdout
    done = run(two.path, "--format", "plain-lines", "--set", "prefix=+", "-o", tmp_path / "out")
    assert (done.stdout, done.stderr) == (f"{tmp_path}/out/lines.txt: 2 rows\n", "bodies are left out\n")
    assert (tmp_path / "out" / "lines.txt").read_text() == "+first\n+second"
    refused = run(two.path, "--format", "plain-lines", "--set", "force=1", "-o", tmp_path / "other")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "export plain-lines: force is not a setting" in refused.stderr
