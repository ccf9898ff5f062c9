"""Long work says how far it is: lines where no terminal draws bars."""

import re

import pytest

from askalike.cli.output import progress_bar
from askalike.core import iteration


@pytest.fixture
def clock(monkeypatch):
    """Sets the time that progress is told at."""
    moment = [0.0]
    monkeypatch.setattr(iteration.time, "monotonic", lambda: moment[0])

    def set_clock(seconds):
        moment[0] = seconds

    return set_clock


def test_progress_without_terminal_is_lines(clock, capsys):
    with progress_bar("indexing") as report:
        for seconds in range(0, 40, 2):
            clock(seconds)
            report(100 * seconds, 6_000)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert lines[0] == "indexing: 1,000 of 6,000; about 50 s left"
    assert all(re.fullmatch(r"indexing: [\d,]+ of 6,000; about .* left", line) for line in lines)


def test_progress_of_short_work_says_nothing(clock, capsys):
    with progress_bar("indexing") as report:
        for done in range(10):
            report(done, 10)
    assert capsys.readouterr().err == ""


def test_progress_of_the_next_work_begins_anew(clock, capsys):
    with progress_bar("indexing") as report:
        for seconds, done in ((0, 0), (8, 800), (9, 0), (19, 100)):
            clock(seconds)
            report(done, 1_000)
    assert capsys.readouterr().err == "indexing: 100 of 1,000; about 90 s left\n"
