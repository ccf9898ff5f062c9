"""The progress of an encoder that reads an archive's questions, for those who wait for its vectors.

The process that computes the vectors holds a lock on a file and writes the numbers into it; at the end it removes the
file. A file without a lock is left by a process that was ended: the next one continues where it stopped.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from askalike.core.files import folder_errors

FOLDER = Path("index/encoded")
SUFFIX = ".progress"
WRITE_S = 0.5
"""The pause between two writes of the numbers."""


@dataclass(frozen=True, slots=True)
class EncodingProgress:
    """The number of an archive's questions that an encoder has read, of those that it has to read.

    running: whether a process computes them now. problem: why the last one stopped, if it failed.
    """

    done: int
    total: int
    running: bool
    problem: str = ""

    def describe(self) -> str:
        """Return it as part of a sentence: `1,000 of 44,148 questions are encoded`."""
        text = f"{self.done:,} of {self.total:,} questions are encoded"
        return text if self.running or not self.problem else f"{text}; it stopped: {self.problem}"


def read_encoding(archive: Path, encoder: str) -> EncodingProgress | None:
    """Return how far an encoder is; None if no vectors are missing as far as is known."""
    try:
        with open(_path(archive, encoder), encoding="utf-8") as file:
            running = not _try_lock(file.fileno(), fcntl.LOCK_SH)
            content = json.loads(file.read())
            return EncodingProgress(int(content["done"]), int(content["total"]), running, str(content["problem"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def announce_encoding(archive: Path, encoder: str, total: int) -> None:
    """Record that an encoder has to read that many questions, before a process begins."""
    with folder_errors(archive / FOLDER, "free some space"):
        path = _path(archive, encoder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_to_json(0, total), encoding="utf-8")


@contextmanager
def record_encoding(archive: Path, encoder: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of questions read so far; at the end the record is removed."""
    path = _path(archive, encoder)
    with folder_errors(archive / FOLDER, "free some space"):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    written_at = 0.0

    def report(done: int, problem: str = "") -> None:
        nonlocal written_at
        if problem or time.monotonic() >= written_at + WRITE_S:
            written_at = time.monotonic()
            text = _to_json(done, total, problem).encode()
            with suppress(OSError):  # a full disk is reported by whoever writes the vectors
                os.pwrite(file, text + b" " * 400, 0)

    try:
        _try_lock(file, fcntl.LOCK_EX)
        report(0)
        yield report
        path.unlink(missing_ok=True)
    finally:
        os.close(file)


def _to_json(done: int, total: int, problem: str = "") -> str:
    return json.dumps({"done": done, "total": total, "problem": problem})


def _path(archive: Path, encoder: str) -> Path:
    return archive / FOLDER / f"{encoder}{SUFFIX}"


def _try_lock(file: int, operation: int) -> bool:
    try:
        fcntl.flock(file, operation | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
