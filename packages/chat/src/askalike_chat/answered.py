"""The threads that a bot has answered, in a file of its own, so that it answers none twice.

It holds ids and no texts: one JSON object a line, of which the last one of a thread counts.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Self

from askalike_chat.errors import BotError


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """A thread's only answer. first, answer: ids of messages; `answer` is empty until the answer is there.

    shown: the id of the question that it names. withdrawn: whether it was deleted. verdicts: who has judged it, as
    digests.
    """

    thread: str
    channel: str
    first: str
    shown: str
    answer: str = ""
    withdrawn: bool = False
    verdicts: tuple[str, ...] = ()


class AnsweredThreads:
    """The answers of one product's bot. One process at a time may hold them."""

    def __init__(self, path: Path | None = None) -> None:
        """path: of the file; None for a dry run, which remembers them only while it lasts. Raises BotError."""
        self._by_thread: dict[str, GivenAnswer] = {}
        self._by_message: dict[tuple[str, str], str] = {}
        self._file = _open_locked(path) if path else None
        for answer in _read(self._file) if self._file else ():
            self._remember(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    def __contains__(self, thread: str) -> bool:
        return thread in self._by_thread

    def find(self, channel: str, id: str) -> GivenAnswer | None:
        """Return the answer that a message is, or to which it is the first message of the thread."""
        return self._by_thread.get(self._by_message.get((channel, id), ""))

    def put(self, given: GivenAnswer, /, **changes: object) -> GivenAnswer:
        """Store an answer with changes, durably. Raises BotError."""
        given = replace(given, **changes)  # type: ignore[arg-type]
        self._remember(given)
        if self._file:
            try:
                self._file.write(json.dumps(asdict(given)) + "\n")
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError as error:
                raise BotError(f"{self._file.name}: {error.strerror}; free some space") from None
        return given

    def _remember(self, given: GivenAnswer) -> None:
        self._by_thread[given.thread] = given
        for id in filter(None, (given.first, given.answer)):
            self._by_message[given.channel, id] = given.thread


def _open_locked(path: Path) -> IO[str]:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115  # closed with its owner
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise BotError(f"{path}: another bot answers there; end it, or name another file with --state") from None
    except OSError as error:
        raise BotError(f"{path}: {error.strerror}; name a file that the bot may write with --state") from None
    return file


def _read(file: IO[str]) -> Iterator[GivenAnswer]:
    """Yield the answers in a file; a line that a killed process left unfinished is skipped, and closed."""
    file.seek(0)
    line = "\n"
    for line in file:
        try:
            values = json.loads(line)
            yield GivenAnswer(**{**values, "verdicts": tuple(values["verdicts"])})
        except (ValueError, TypeError, KeyError):
            continue
    if not line.endswith("\n"):
        file.write("\n")
