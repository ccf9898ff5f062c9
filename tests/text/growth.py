"""How the work of a function grows with its input, measured such that a busy machine changes nothing."""

import math
import time
from collections.abc import Callable
from typing import Any

SIZE = 5_000
FACTOR = 8


def assert_linear(work: Callable[[int], Any]) -> None:
    """Work on FACTOR times as much input takes at most three times FACTOR the processor time.

    Quadratic work would take FACTOR² = 64 times as much. The times are those of this thread alone, each the least of
    as many turns as are needed, after one that counts for nothing.
    """
    work(SIZE)
    small = large = math.inf
    for _ in range(3):
        small, large = min(small, _time(work, SIZE)), min(large, _time(work, FACTOR * SIZE))
        if large < 3 * FACTOR * small:
            return
    raise AssertionError(f"{SIZE} took {small:.3f} s, {FACTOR} times as much {large:.3f} s")


def _time(work: Callable[[int], Any], size: int) -> float:
    start = time.thread_time()
    work(size)
    return time.thread_time() - start
