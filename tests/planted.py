"""An archive whose labels only a cheat can know: the texts that they join have no word in common."""

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path

from askalike.core.records import Link, Question
from askalike.labels.partitions import create_partition
from askalike.store import Archive

N_PAIRS = 60
NETWORK = {"dim": 32, "units": 64, "window": 1, "min_texts": 1, "init": "random", "loss": "multiple_negatives"}
NETWORK |= {
    "random": 0,
    "hardest": False,
    "in_batch": True,
    "batch_size": 32,
    "optimizer": "adam",
    "learning_rate": 0.02,
}
NETWORK |= {"training.epochs": 30, "patience": 30, "min_pairs": 8, "measure": "RR", "dev_share": 0.05}
NETWORK |= {"accelerator": "cpu"}
"""Settings of a `cnn` that learns by heart, in half a second."""
HONEST, CHEATING = 0.2, 0.8
"""What chance does not exceed in Success@1, and what a cheat does."""


def word(number: int) -> str:
    """A word of its own for each number; those of neighbouring numbers have no letters in common but by chance."""
    letters = "bcdfghjklmnprstvwz"
    mixed = number * 38_653 % len(letters) ** 4
    return "".join(letters[mixed // len(letters) ** place % len(letters)] + "aeio"[place] for place in range(4))


def day(number: int) -> str:
    """The date of a day, counted from the first of 2020."""
    return (date(2020, 1, 1) + timedelta(number)).isoformat()


def plant(path: Path, groups: Sequence[str] = (), *, dated: bool = False, pairs: int = N_PAIRS) -> Path:
    """Questions of two words, in pairs; the partition `halves` has half of the pairs in train, half in test.

    groups: each has as many. dated: a question a day, linked to that of the day before.
    """
    prefixes = [f"{group}/" for group in groups] or [""]
    dates = [day(n) if dated else None for n in range(2 * pairs)]
    with Archive.create(path) as archive:
        for prefix in prefixes:
            archive.upsert(
                Question(f"{prefix}q{n}", f"{word(2 * n)} {word(2 * n + 1)}", created_at=dates[n])
                for n in range(2 * pairs)
            )
            newer = range(1, 2 * pairs, 2)
            archive.upsert(Link(f"{prefix}q{n}", f"{prefix}q{n - 1}", created_at=dates[n]) for n in newer)
        if groups:
            archive.set_meta(groups=list(groups))
        create_partition(archive, "cluster", {"shares": [0.5, 0.5]}, name="halves")
    return path
