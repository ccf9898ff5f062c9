"""How training is shown: a line for each epoch on stderr, and between them one that a terminal renews."""

import importlib.util
import sys
from typing import Any

from askalike.encoders import NEURAL_EXTRA_MODULES
from askalike.errors import SettingsError


def require_torch() -> None:
    """Raise SettingsError where the extra `neural` is not installed."""
    for module in NEURAL_EXTRA_MODULES:
        if importlib.util.find_spec(module) is None:
            raise SettingsError(f"train: {module} is not installed; pip install 'askalike[neural]'")


def print_remark(line: str) -> None:
    """Print one line on stderr."""
    print(line, file=sys.stderr, flush=True)


def print_training_progress(progress: Any) -> None:
    """Print one state of training."""
    line = (
        f"epoch {progress.epoch}/{progress.epochs}  loss {progress.loss:.4f}  "
        f"{progress.examples_per_second:,.0f} examples/s  {_format_duration(progress.remaining_s)} left"
    )
    if progress.value is not None:
        line += f"  {progress.measure} {100 * progress.value:.1f} on dev (best {100 * progress.best:.1f})"
        print(f"\r\033[K{line}" if sys.stderr.isatty() else line, file=sys.stderr, flush=True)
    elif sys.stderr.isatty():
        print(f"\r\033[K{line}  batch {progress.batch}/{progress.batches}", end="", file=sys.stderr, flush=True)


def _format_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
