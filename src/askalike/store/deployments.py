"""The active ranker of an archive, the one deployed last and not withdrawn since, and its pre-trained encoder.

Those who wait for an encoder's vectors see its progress. Whoever computes them holds a lock on a file, and writes the
numbers into it; it is removed once all are computed. One without a lock is of a process that was ended: the next one
continues where it stopped."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from askalike.core.files import folder_errors
from askalike.core.values import now
from askalike.store.archive import Archive
from askalike.store.database import execute


@dataclass(frozen=True, slots=True)
class ServedRanker:
    """A deployed ranker: its name and settings, when it was deployed (ISO 8601, UTC), and the reason in a sentence.

    selection_query_ids: the ids of the queries whose labels were used to select it; empty if none were, or if unknown.
    """

    number: int
    created_at: str
    ranker: str
    settings: Mapping[str, Any]
    reason: str
    selection_query_ids: frozenset[str] = frozenset()

    @property
    def part_names(self) -> tuple[str, ...]:
        """The ranker's name and those of its parts."""
        return (self.ranker, *self.settings.get("parts", ()))


def serve_ranker(
    archive: Archive, ranker: str, settings: Mapping[str, Any], reason: str, selection_query_ids: Iterable[str] = ()
) -> ServedRanker:
    """Deploy a ranker: it becomes the default of all searches. selection_query_ids: see ServedRanker."""
    sql = "INSERT INTO deployments (created_at, ranker, settings, reason, selection_query_ids) VALUES (?, ?, ?, ?, ?)"
    execute(archive, sql, now(), ranker, json.dumps(dict(settings)), reason, json.dumps(sorted(selection_query_ids)))
    return serving_history(archive)[0]


def get_served_ranker(archive: Archive) -> ServedRanker | None:
    """Return the deployed ranker; None (the built-in default) if none was deployed or all were withdrawn."""
    return next(iter(serving_history(archive)), None)


def withdraw_ranker(archive: Archive) -> ServedRanker | None:
    """Withdraw the deployed ranker and return the previous one, now active again; None is the built-in default."""
    execute(
        archive,
        "UPDATE deployments SET withdrawn = 1 WHERE number = (SELECT MAX(number) FROM deployments WHERE NOT withdrawn)",
    )
    return get_served_ranker(archive)


def ready_ranker(archive: Archive) -> ServedRanker | None:
    """Return the ranker whose index a running service has built and uses; None is the built-in default."""
    return next(_served_rankers(archive, "ready"), None)


def mark_ready(archive: Archive, number: int | None) -> None:
    """Record that the index of a deployment is built and ready for use; None is the built-in default."""
    execute(archive, "UPDATE deployments SET ready = number IS ?1 WHERE ready OR number IS ?1", number)


def serving_history(archive: Archive) -> list[ServedRanker]:
    """Return the deployments that were not withdrawn, newest first."""
    return list(_served_rankers(archive, "NOT withdrawn ORDER BY number DESC"))


def _served_rankers(archive: Archive, condition: str) -> Iterator[ServedRanker]:
    sql = f"SELECT number, created_at, ranker, settings, reason, selection_query_ids FROM deployments WHERE {condition}"
    for number, created_at, ranker, settings, reason, query_ids in execute(archive, sql):
        ids = frozenset(json.loads(query_ids or "[]"))
        yield ServedRanker(number, created_at, ranker, json.loads(settings), reason, ids)


META_KEY = "encoder"


@dataclass(frozen=True, slots=True)
class ArchiveEncoder:
    """An archive's own encoder.

    name: its name in `models/`, also the name of its ranker. source: the folder, package or hub name that it came
    from. revision: the commit on the hub; None for a local model. digests: file name → SHA-256.
    """

    name: str
    source: str
    revision: str | None
    digests: Mapping[str, str]


def get_archive_encoder(archive: Archive) -> ArchiveEncoder | None:
    """Return the archive's encoder; None if it has none."""
    values = archive.meta.get(META_KEY)
    return ArchiveEncoder(**values) if values else None


def set_archive_encoder(archive: Archive, encoder: ArchiveEncoder | None) -> None:
    """Set the archive's encoder; None to remove it."""
    archive.set_meta(**{META_KEY: asdict(encoder) if encoder else None})


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
