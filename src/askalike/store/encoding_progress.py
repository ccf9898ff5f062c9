"""The progress of an encoder that reads an archive's questions, for those who wait for its vectors.

Each process that computes them shares a lock on a file and writes the numbers into it; at the end it removes the file.
A file without a lock is left by a process that failed or was ended: it says why, and when the next one may begin.
"""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askalike.core.errors import ArchiveError, IndexBusyError
from askalike.core.files import folder_errors, identify, make_folders, try_lock

FOLDER = Path("index/encoded")
SUFFIX = ".progress"
WRITE_S = 0.5
"""The pause between two writes of the numbers."""
RECORD_BYTES = 2_048
"""Length of a record, which is overwritten in place: a full disk does not keep the reason of a failure out of it."""
MAX_PROBLEM = 300
FAILED_PAUSE_S, ENDED_PAUSE_S, BEGIN_S = 600.0, 60.0, 10.0
"""The wait before the background begins again, after a failure and after the begin of a process that said nothing; and
the time that a process has to begin."""
ENDED = "its process was ended"
NOT_WRITABLE = "the archive's folder cannot be written"
clock = time.monotonic
"""Seconds since the machine was started: whoever sets its time does not change them."""


@dataclass(frozen=True, slots=True)
class EncodingProgress:
    """The number of an archive's questions that an encoder has read, of those that it has to read.

    running: whether a process computes them now, or waits for its turn. waiting: whether it waits. problem: why the
    last one stopped. is_due: whether the background may begin, which waits a while after a failure.
    """

    done: int
    total: int
    running: bool
    problem: str = ""
    waiting: bool = False
    is_due: bool = True

    def describe(self) -> str:
        """Return it as part of a sentence: `1,000 of 44,148 questions are encoded`."""
        text = f"{self.done:,} of {self.total:,} questions are encoded"
        if self.running:
            return f"{text}; those of another archive come first" if self.waiting else text
        return f"{text}; it stopped: {self.problem}" if self.problem else text


class EncodingRecord:
    """The open file in which a process records its progress; others see that it runs until it closes the file."""

    def __init__(self, path: Path, total: int) -> None:
        self._path = path
        self._done, self._total = 0, total
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self._written_at = -WRITE_S
        try:
            fcntl.flock(self._file, fcntl.LOCK_SH)  # readers hold theirs for an instant
            if os.fstat(self._file).st_size < RECORD_BYTES:
                os.pwrite(self._file, b" " * RECORD_BYTES, 0)
        except OSError:
            os.close(self._file)
            raise

    def report(self, done: int) -> None:
        """Record the number of questions read so far, now and then."""
        self._done = done
        if clock() >= self._written_at + WRITE_S:
            self.write()

    def write(self, problem: str = ENDED, pause_s: float = ENDED_PAUSE_S, waiting: bool = False) -> None:
        """Record the reason shown once the process has ended, and the time after which another may begin."""
        self._written_at = clock()
        content = {"done": self._done, "total": self._total, "problem": problem[:MAX_PROBLEM], "waiting": waiting}
        with suppress(OSError):
            os.pwrite(self._file, _to_record(content | {"retry_at": clock() + pause_s}), 0)

    def fail(self, error: Exception) -> None:
        """Record why the process failed; nothing if the archive is elsewhere, where it may begin at once."""
        with suppress(ValueError, KeyError):  # what another part of this process has recorded
            content = json.loads(os.pread(self._file, RECORD_BYTES, 0))
            self._done, self._total = content["done"], content["total"]
        if self._is_in_place() and not isinstance(error, IndexBusyError):
            self.write(str(error) or type(error).__name__, FAILED_PAUSE_S)
        else:
            self.write("", 0)

    def remove(self) -> None:
        """Remove the file: no vectors are missing."""
        if self._is_in_place():
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others see that the process no longer computes vectors."""
        os.close(self._file)

    def _is_in_place(self) -> bool:
        stat = os.fstat(self._file)
        return identify(self._path) == (stat.st_dev, stat.st_ino)


def read_encoding(archive: Path, encoder: str) -> EncodingProgress | None:
    """Return how far an encoder is; None if no vectors are missing as far as is known."""
    try:
        with open(_path(archive, encoder), encoding="utf-8") as file:
            running = not try_lock(file.fileno())
            content = json.loads(file.read())
            done = int(content["done"])
            total = int(content["total"])
            problem = str(content["problem"])
            waiting = bool(content["waiting"])
            wait_s = float(content["retry_at"]) - clock()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not running and not os.access(archive, os.W_OK):
        problem = problem or NOT_WRITABLE
    return EncodingProgress(done, total, running, problem, waiting, not 0 < wait_s <= FAILED_PAUSE_S)


def announce_encoding(archive: Path, encoder: str, total: int, pause_s: float = 0) -> None:
    """Record that an encoder has to read that many questions, before a process begins. pause_s: as it begins now."""
    with _open_record(archive, encoder, total) as record:
        record.write("", pause_s)


@contextmanager
def record_encoding(archive: Path, encoder: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number of questions read so far; at the end the record is removed."""
    with _open_record(archive, encoder, total) as record:
        record.report(0)
        yield record.report
        record.remove()


@contextmanager
def await_turn(archive: Path, encoder: str, total: int) -> Iterator[EncodingRecord]:
    """Yield the record of a process in the background, from before its turn; at the end it is removed."""
    with _open_record(archive, encoder, total) as record:
        record.write()
        yield record
        record.remove()


@contextmanager
def _open_record(archive: Path, encoder: str, total: int) -> Iterator[EncodingRecord]:
    """Yield a record. What its block raises is recorded as the reason why it stopped."""
    with folder_errors(archive / FOLDER, "free some space"):
        opened = identify(archive)
        make_folders(archive, archive / FOLDER)
        record = EncodingRecord(_path(archive, encoder), total)
    try:
        if identify(archive) != opened:  # so that the record is another archive's
            record.remove()
            raise ArchiveError(f"{archive}: was removed, moved or replaced in the meantime")
        yield record
    except Exception as error:
        record.fail(error)
        raise
    finally:
        record.close()


def _to_record(content: dict[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace").ljust(RECORD_BYTES)


def _path(archive: Path, encoder: str) -> Path:
    return archive / FOLDER / f"{encoder}{SUFFIX}"
