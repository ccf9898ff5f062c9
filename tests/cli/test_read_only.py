"""An archive in a folder that cannot be written, such as one on a mounted snapshot: it can be read and searched."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take the permission to write to a folder; root, who needs none, has it mounted read-only."""
    if os.geteuid() == 0:
        for command in (["mount", "--bind", folder, folder], ["mount", "-o", "remount,ro,bind", folder]):
            if subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip("needs to mount a folder, or another user than root")
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)
        return
    folders = [folder, *filter(Path.is_dir, folder.rglob("*"))]
    for each in folders:
        each.chmod(0o555)
    try:
        yield
    finally:
        for each in folders:
            each.chmod(0o755)


@pytest.fixture
def desk(tmp_path: Path, run: Run) -> Path:
    (tmp_path / "faq.csv").write_text("id,question\n1,How long may I keep a book?\n2,Where is the library?\n")
    assert run("import", "table", tmp_path / "faq.csv", "-o", tmp_path / "a desk #1?", "--language", "en")[0] == 0
    return tmp_path / "a desk #1?"


def test_it_is_searched_measured_and_saved(run: Run, desk: Path, tmp_path: Path) -> None:
    assert run("search", desk, "keep a book")[0] == 0  # which makes the index
    files = sorted(desk.rglob("*"))
    with read_only(desk):
        code, out, _ = run("search", desk, "keep a book")
        assert (code, "How long may I keep a book?" in out) == (0, True)
        assert run("info", desk)[0] == 0
        assert run("export", desk, "--format", "csv", "-o", tmp_path / "exported")[0] == 0
        assert run("backup", desk, tmp_path / "saved.tar")[0] == 0
    assert sorted(desk.rglob("*")) == files
    assert run("restore", tmp_path / "saved.tar", tmp_path / "restored")[0] == 0


def test_what_would_change_it_is_refused_in_one_line(run: Run, desk: Path, tmp_path: Path) -> None:
    with read_only(desk):
        for words, advice in (
            (("keys", "create", desk), "the directory is read-only; change its permissions"),
            (("import", "table", tmp_path / "faq.csv", "-o", desk), "read-only"),
            (("search", desk, "keep a book"), "change the directory's permissions"),  # it has no index yet
        ):
            code, out, err = run(*words)
            assert (code, out, err.count("\n"), advice in err.lower()) == (2, "", 1, True), err
