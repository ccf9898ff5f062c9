"""`demo` shows the main job on the example that comes with the package; `compile` readies the inner loops."""

import subprocess
import sys

from askalike.cli import install
from askalike.native.compiled import StoredCode
from commands import askalike, run_command as run


def test_demo_imports_searches_and_measures(tmp_path, monkeypatch) -> None:
    def call(command: list[str]) -> int:
        assert command[:4] == [sys.executable, "-P", "-m", "askalike"]
        done = askalike(*command[4:])
        print(done.stdout)
        return done.returncode

    monkeypatch.setattr(subprocess, "call", call)
    done = askalike("demo", tmp_path / "a demo")
    assert done.returncode == 0, done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith("$ askalike ")]
    assert [line.split()[2] for line in shown] == ["import", "index", *["search"] * 4, "evaluate", "encoder"]
    for text in (
        "1. The bike I hired was stolen.",
        "nothing similar",
        "Success@10",
        "askalike serve",
        "words and minilm_l6",
    ):
        assert text in done.stdout


def test_demo_needs_a_folder(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    refused = askalike("demo", tmp_path / "file")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "name a folder" in refused.stderr


def test_compile_tells_how_many_functions_are_compiled(monkeypatch):
    monkeypatch.setattr(install, "find_modules", lambda: ["askalike.similarities.tfidf"])
    code, out, err = run("compile", "--jobs", "1")
    assert (code, err) == (0, "")
    assert out.startswith("1 function compiled in ")


def test_compile_advises_where_no_code_can_be_written(monkeypatch):
    monkeypatch.setattr(install, "find_modules", lambda: ["a", "b"])
    monkeypatch.setattr(install, "store_code", lambda module: StoredCode(1, 2))
    code, out, err = run("compile", "--jobs", "1")
    assert (code, out) == (2, "")
    assert err.startswith("askalike: the machine code of 4 functions cannot be written; set NUMBA_CACHE_DIR to ")
