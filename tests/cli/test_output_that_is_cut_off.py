"""A command whose reader has read enough ends well; one whose output cannot be written says so."""

import subprocess
import sys

import pytest

from askalike import Archive, Question
from commands import MAIN, environment


@pytest.mark.parametrize("read", [0, 1])
def test_a_reader_that_stops_is_no_error(tmp_path, read) -> None:
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert([Question(str(n), f"How do I boil rice in pot {n}?", "rice " * 400) for n in range(100)])
    command = ["search", tmp_path / "desk", "boil rice", "-k", "100", "-r", "lm_jelinek_mercer", "--json"]
    words = [sys.executable, "-c", MAIN, *map(str, command)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.read(read)
        process.stdout.close()
        errors = process.stderr.read().decode()
        assert (process.wait(60), errors) == (0, "")


@pytest.mark.parametrize(
    ("command", "buffered"),
    [("search", {"PYTHONUNBUFFERED": "1"}), ("search", {"PYTHONUNBUFFERED": ""}), ("info", {"PYTHONUNBUFFERED": ""})],
)
def test_a_full_disk_is_one_line(tmp_path, command, buffered) -> None:
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert([Question(str(n), f"How do I boil rice in pot {n}?", "rice " * 400) for n in range(100)])
    more = ["boil rice", "-k", "100", "-r", "lm_jelinek_mercer", "--json"] if command == "search" else []
    words = [sys.executable, "-c", MAIN, command, str(tmp_path / "desk"), *more]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            words, stdout=full, stderr=subprocess.PIPE, text=True, env=environment() | buffered, check=False
        )
    message = "askalike: the output cannot be written (No space left on device); free some space, or write it elsewhere"
    assert (done.returncode, done.stderr) == (2, f"{message}\n")
