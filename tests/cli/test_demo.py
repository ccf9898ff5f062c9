"""`askalike demo` shows the main job on the example that comes with the package."""

import subprocess
import sys

from commands import askalike


def test_demo_imports_searches_and_measures(tmp_path, monkeypatch) -> None:
    def call(command: list[str]) -> int:
        assert command[:3] == [sys.executable, "-m", "askalike"]
        done = askalike(*command[3:])
        print(done.stdout)
        return done.returncode

    monkeypatch.setattr(subprocess, "call", call)
    done = askalike("demo", tmp_path / "a demo")
    assert done.returncode == 0, done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith("$ askalike ")]
    assert [line.split()[2] for line in shown] == ["import", "index", *["search"] * 4, "evaluate"]
    for text in ("1. The bike I hired was stolen.", "nothing similar", "Success@10", "askalike serve"):
        assert text in done.stdout


def test_demo_needs_a_folder(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    refused = askalike("demo", tmp_path / "file")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "name a folder" in refused.stderr
