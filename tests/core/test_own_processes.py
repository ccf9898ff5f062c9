"""Pieces of work in processes of their own: fewer at once where the memory is short."""

import os
import time
from functools import partial

import pytest

from askalike.core import parallel
from askalike.core.parallel import available_memory_share, map_pieces, use_workers

MEMORY = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    {} kB\nHugePages_Total:   0\n"


def meet(folder, number):
    """Write a file that says which process works on a piece, and wait for the file `go`."""
    (folder / f"{number} {os.getpid()}").touch()
    until = time.monotonic() + 60
    while not (folder / "go").exists() and time.monotonic() < until:
        time.sleep(0.01)
    return number


def begun(folder):
    return sorted(path.name.partition(" ")[0] for path in folder.glob("* *"))


@pytest.fixture
def meeting(tmp_path, monkeypatch):
    """Starts three pieces for a function that tells the share of the memory, and returns their results and the log."""

    def start(share):
        monkeypatch.setattr(parallel, "available_memory_share", share)
        lines = []

        def log(line):
            lines.append(line)
            (tmp_path / "go").touch()

        with use_workers(3):
            return list(map_pieces(partial(meet, tmp_path), range(3), apart=log)), lines

    return start


def test_as_many_processes_run_as_there_are_jobs(meeting, tmp_path):
    def share():
        if len(begun(tmp_path)) == 3:
            (tmp_path / "go").touch()
        return 1.0

    assert meeting(share) == ([0, 1, 2], [])


def test_no_process_starts_in_little_memory(meeting, tmp_path):
    seen = []

    def share():
        seen.append(len(begun(tmp_path)))
        assert seen[-1] < 2 or (tmp_path / "go").exists()
        if seen.count(1) == 3:
            (tmp_path / "go").touch()
        return 0.15

    assert meeting(share) == ([0, 1, 2], [])


def test_process_stops_in_short_memory_and_begins_again(meeting, tmp_path):
    def share():
        return 0.05 if len(begun(tmp_path)) == 3 and not (tmp_path / "go").exists() else 1.0

    results, lines = meeting(share)
    assert results == [0, 1, 2]
    assert len(lines) == 1
    assert lines[0].startswith("5% of the memory is available: one process was stopped")
    assert lines[0].endswith("2 at once")
    assert begun(tmp_path) == ["0", "1", "2", "2"]


def test_available_memory_is_that_of_the_container(tmp_path, monkeypatch):
    monkeypatch.setattr(parallel, "MEMORY_FILE", tmp_path / "meminfo")
    monkeypatch.setattr(parallel, "GROUP_FOLDER", tmp_path)
    assert available_memory_share() == 1
    (tmp_path / "meminfo").write_text(MEMORY.format(600))
    assert available_memory_share() == pytest.approx(0.6)
    (tmp_path / "memory.current").write_text("500\n")
    (tmp_path / "memory.stat").write_text("anon 300\ninactive_file 100\n")
    for limit, share in (("max", 0.6), ("1000", 0.6), ("500", 0.2)):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        assert available_memory_share() == pytest.approx(share)
