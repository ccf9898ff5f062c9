"""How training is shown: a line for each epoch on stderr, and between them one that a terminal keeps renewing."""

import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from askalike.encoders import NEURAL
from askalike.errors import SettingsError

Say = Callable[[str], None]


def needs_torch() -> None:
    """Raises SettingsError where the extra `neural` is not installed."""
    for module in NEURAL:
        if importlib.util.find_spec(module) is None:
            raise SettingsError(f"train: {module} is not installed; pip install 'askalike[neural]'")


@contextmanager
def progress() -> Iterator[tuple[Callable[[Any], None], Say]]:
    """What takes the trainer's progress, and what takes a remark."""
    yield show, remark


def remark(line: str) -> None:
    """One line on stderr."""
    print(line, file=sys.stderr, flush=True)


def show(progress: Any) -> None:
    """One state of training."""
    line = (
        f"epoch {progress.epoch}/{progress.epochs}  loss {progress.loss:.4f}  "
        f"{progress.examples_per_second:,.0f} examples/s  {_duration(progress.left_s)} left"
    )
    if progress.value is not None:
        line += f"  {progress.measure} {100 * progress.value:.1f} on dev (best {100 * progress.best:.1f})"
        print(f"\r\033[K{line}" if sys.stderr.isatty() else line, file=sys.stderr, flush=True)
    elif sys.stderr.isatty():
        print(f"\r\033[K{line}  batch {progress.batch}/{progress.batches}", end="", file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
