"""Reports of progress as lines."""

import pytest

from askalike.core import iteration
from askalike.core.iteration import log_progress


class Clock:
    """Seconds that a test sets."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(iteration, "time", clock)
    monkeypatch.setattr(iteration, "REPORT_S", 30)
    return clock


def test_log_progress_says_the_time_left(clock: Clock) -> None:
    lines: list[str] = []
    report = log_progress("encoding: {:,} of {:,}", lines.append)
    for clock.now, done in ((10, 500), (40, 2_000), (50, 2_500), (80, 4_000), (100, 4_000)):
        report(done, 4_000)
    assert lines == ["encoding: 2,000 of 4,000; about 40 s left"]


def test_log_progress_begins_anew_with_another_pass(clock: Clock) -> None:
    lines: list[str] = []
    report = log_progress("{} of {}", lines.append)
    for clock.now, done, total in ((100, 90, 100), (101, 0, 50), (141, 40, 50)):
        report(done, total)
    assert len(lines) == 2
    assert lines[1] == "40 of 50; about 10 s left"
