"""Words answer while the vectors of an archive's encoder are computed in the background.

The first search of a large archive, or the one after many changes, would otherwise wait for minutes. A process of its
own computes the vectors, with low priority; the next search after it has finished uses them. A service does the same
with its own processes. Of all these processes of a user one computes at a time, and it ends once its archive is gone.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from askalike import rankers
from askalike.calibration.abstention import fit_abstention
from askalike.core.errors import ArchiveError, AskalikeError, UnwritableIndexError
from askalike.core.files import try_lock, user_cache
from askalike.core.parallel import start_module
from askalike.rankers import Ranker
from askalike.store import Archive
from askalike.store.deployments import get_archive_encoder
from askalike.store.encoding_progress import (
    BEGIN_S,
    NOT_WRITABLE,
    EncodingProgress,
    announce_encoding,
    await_turn,
    read_encoding,
)

NICENESS = 5
"""Niceness of the process, which has all processors but one: searches stay fast, and other work does not starve it."""
AT_ONCE = 300
"""The number of new or changed questions up to which a search computes the vectors itself: that takes few seconds."""
WORDS = "lm_jelinek_mercer"
TURN_FILE = "encoding.lock"
"""The file in the user's cache whose lock the process has that computes vectors."""
POLL_S = 0.5


class MissingVectors(NamedTuple):
    """An archive's encoder, and the number of new or changed questions whose vectors its index lacks."""

    encoder: str
    questions: int


def missing_vectors(archive: Archive, ranker: Ranker | None = None) -> MissingVectors | None:
    """Return what an index of the archive's encoder lacks if a search cannot compute it soon; None if nothing.

    ranker: the one that may use the encoder; by default the active one.
    """
    encoder = get_archive_encoder(archive)
    if not encoder or archive.engine:
        return None
    view = archive.view()
    ranker = ranker or rankers.create(None, {}, archive)
    parts = (part for part in (ranker, *ranker.parts) if part.name == encoder.name)
    counts = (view.count_changed(index.change) for part in parts for index in part.indexes(view))
    count = max(counts, default=0)
    return MissingVectors(encoder.name, count) if count > AT_ONCE else None


def start_encoding(archive: Archive, missing: MissingVectors) -> EncodingProgress:
    """Start a process that computes the vectors of an archive's active ranker; return how far they are.

    None is started while one runs, for a while after one has failed, and in a folder that cannot be written.
    """
    encoder, total = missing
    progress = read_encoding(archive.path, encoder)
    if progress and (progress.running or not progress.is_due):
        return progress
    if not os.access(archive.path, os.W_OK):
        return progress or EncodingProgress(0, total, False, NOT_WRITABLE)
    try:
        announce_encoding(archive.path, encoder, total if progress is None else progress.total, BEGIN_S)
    except ArchiveError as error:
        return EncodingProgress(0, total, False, str(error))
    start_module(__name__, [str(archive.path.resolve())])
    return progress or EncodingProgress(0, total, False)


def word_ranker(archive: Archive) -> Ranker:
    """Return the ranker that answers meanwhile: the default one, or words alone where its index cannot be written."""
    for name in (rankers.DEFAULT_NAME, WORDS):
        ranker = rankers.create(name, {}, archive)
        with suppress(UnwritableIndexError):
            rankers.follow(ranker, archive.view())
            break
    return ranker


def encode(path: Path) -> None:
    """Build the index of an archive's active ranker in the background, unless a process does so or waits to do so."""
    with Archive.open(path) as archive:
        encoder = get_archive_encoder(archive)
        progress = read_encoding(path, encoder.name) if encoder else None
        if progress is None or not progress.running:
            build_in_background(archive, rankers.create(None, {}, archive))


def build_in_background(archive: Archive, ranker: Ranker) -> None:
    """Build a ranker's index and its rule; if it uses the archive's encoder, once no other process computes vectors.

    Why it fails is recorded. Raises ArchiveError once the archive was removed, moved or replaced.
    """
    encoder = get_archive_encoder(archive)
    view = archive.view()
    if not encoder or not _uses(ranker, encoder.name):
        _build(archive, ranker)
        return
    with (
        await_turn(archive.path, encoder.name, len(view)) as record,
        _take_turn(archive.require_in_place, lambda: record.write(waiting=True)),
    ):
        record.write()
        _build(archive, ranker)


def _build(archive: Archive, ranker: Ranker) -> None:
    """Build it once no other process writes it."""
    rankers.open_current(ranker, archive.view(), lambda done, total: archive.require_in_place())
    archive.require_in_place()
    fit_abstention(archive, ranker)


def _uses(ranker: Ranker, encoder: str) -> bool:
    return encoder in (ranker.name, *(part.name for part in ranker.parts))


@contextmanager
def _take_turn(check: Callable[[], None], begin_to_wait: Callable[[], None]) -> Iterator[None]:
    """Wait until no other process of this user is in such a block. A process that dies leaves it.

    check: called while it waits; what it raises ends the wait. Without a cache folder, nobody waits.
    """
    lock = None
    with suppress(OSError, RuntimeError):
        user_cache().mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(user_cache() / TURN_FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        if lock is not None and not try_lock(lock):
            begin_to_wait()
            while not try_lock(lock):
                check()
                time.sleep(POLL_S)
        yield
    finally:
        if lock is not None:
            os.close(lock)


def lower_priority(niceness: int) -> None:
    """Make this process yield to others, of other sessions too, and leave them a processor of several.

    Linux shares processors among sessions first, so that `nice` alone does nothing for a session of its own.
    """
    os.nice(niceness)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(niceness), encoding="ascii")
    with suppress(AttributeError, OSError):  # only Linux has them
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[1:])  # none of one is an error


if __name__ == "__main__":
    lower_priority(NICENESS)
    try:
        encode(Path(sys.argv[1]))
    except AskalikeError as error:
        print(f"askalike: {error}", file=sys.stderr)
        raise SystemExit(2) from None
