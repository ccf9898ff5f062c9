"""An archive that can only be read, a disk that is full, and a reader who has read enough: one line, or none."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import Mock

import pytest

from askalike.core.records import Question
from askalike.store import Archive
from commands import MAIN, assert_refused, environment, run_command as run


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
def desk(tmp_path: Path) -> Path:
    (tmp_path / "faq.csv").write_text("id,question\n1,How long may I keep a book?\n2,Where is the library?\n")
    assert run("import", "table", tmp_path / "faq.csv", "-o", tmp_path / "a desk #1?", "--language", "en")[0] == 0
    return tmp_path / "a desk #1?"


def test_it_is_searched_measured_and_saved(desk: Path, tmp_path: Path) -> None:
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


def test_harmful_output_is_refused_in_one_line(desk: Path, tmp_path: Path) -> None:
    with read_only(desk):
        for words, advice in (
            (("keys", "create", desk), "the directory is read-only; change its permissions"),
            (("import", "table", tmp_path / "faq.csv", "-o", desk), "read-only"),
            (("search", desk, "keep a book"), "change the directory's permissions"),  # it has no index yet
        ):
            code, out, err = run(*words)
            assert (code, out, err.count("\n"), advice in err.lower()) == (2, "", 1, True), err


@pytest.mark.long
def test_a_disk_that_fills(tmp_path: Path, small_disk: Path) -> None:
    faq = tmp_path / "faq.csv"
    rows = (f"{n},How do I mend the part number {n} of my machine?,Turn it {n} times.,\n" for n in range(20_000))
    faq.write_text("id,question,answer,date\n" + "".join(rows))
    assert_refused(run("import", "table", faq, "-o", small_disk / "out"), "free some space and repeat")
    assert len(json.loads(run("info", small_disk / "out", "--json")[1])) > 0
    whole, full = tmp_path / "whole", small_disk / "full"
    assert run("import", "table", faq, "-o", whole, "--encoder", "none")[0] == 0
    for format in ("csv", "beir"):
        assert_refused(
            run("export", whole, "--format", format, "-o", full),
            "No space left on device",
            "nothing was exported",
        )
        assert not full.exists()
    queries = tmp_path / "queries.jsonl"
    queries.write_text("".join(json.dumps({"id": str(n), "title": "mend my machine"}) + "\n" for n in range(1_000)))
    assert_refused(run("rank", whole, "--queries", queries, "-o", full), "No space left on device")
    assert not full.exists()


def test_an_index_on_a_full_disk(small_disk: Path) -> None:
    with Archive.create(small_disk / "desk") as archive:
        archive.upsert(Question(str(n), f"How do I mend part {n} of machine {n}?") for n in range(800))
    disk = os.statvfs(small_disk)
    (small_disk / "ballast").write_bytes(bytes(disk.f_bavail * disk.f_frsize - 8_192))
    assert_refused(run("search", small_disk / "desk", "mend"), "free some space")
    (small_disk / "ballast").unlink()
    done = run("search", small_disk / "desk", "mend")
    assert done[0] == 0, done


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    """An archive whose hits are longer than a pipe takes at once."""
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert([Question(str(n), f"How do I boil rice in pot {n}?", "rice " * 400) for n in range(100)])
    return tmp_path / "desk"


def test_a_reader_that_stops_is_no_error(kitchen: Path) -> None:
    command = ["search", kitchen, "boil rice", "-k", "100", "-r", "lm_jelinek_mercer", "--json"]
    words = [sys.executable, "-c", MAIN, *map(str, command)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(1)
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert (process.wait(60), errors) == (0, "")


@pytest.mark.parametrize(("command", "unbuffered"), [("info", ""), ("search", "1")])
def test_a_full_disk_is_one_line(kitchen: Path, command: str, unbuffered: str) -> None:
    """Where its last words are written at its end, and where each is at once."""
    more = ["boil rice", "-k", "100", "-r", "lm_jelinek_mercer", "--json"] if command == "search" else []
    words = [sys.executable, "-c", MAIN, command, str(kitchen), *more]
    env = environment() | {"PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, env=env, check=False)
    message = "askalike: the output cannot be written (No space left on device); free some space, or write it elsewhere"
    assert (done.returncode, done.stderr) == (2, f"{message}\n")


def test_memory_errors_are_one_line(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (MemoryError(), OSError(12, "Cannot allocate memory")):
        monkeypatch.setattr("askalike.search.archive_retriever.ArchiveRetriever.search", Mock(side_effect=error))
        assert_refused(run("search", desk, "book"), "the memory does not suffice")
