"""How the work of a function grows with its input, measured such that a busy machine changes nothing."""

import time
from collections.abc import Callable
from typing import Any

SIZE = 5_000
FACTOR = 8


def assert_linear(work: Callable[[int], Any]) -> None:
    """Work on FACTOR times as much input takes at most three times FACTOR the processor time.

    Quadratic work would take FACTOR² = 64 times as much. The times are those of this thread alone, each the least of
    several, and the sizes take turns.
    """
    times = [
        min(times) for times in zip(*((_time(work, SIZE), _time(work, FACTOR * SIZE)) for _ in range(3)), strict=True)
    ]
    assert times[1] < 3 * FACTOR * times[0]


def _time(work: Callable[[int], Any], size: int) -> float:
    start = time.thread_time()
    work(size)
    return time.thread_time() - start
