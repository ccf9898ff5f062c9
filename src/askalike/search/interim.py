"""Words answer while the vectors of an archive's encoder are computed in the background.

The first search of a large archive would otherwise wait for minutes. A process of its own computes the vectors, with
low priority; the next search after it has finished uses them. A service does the same with its own processes.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from askalike import rankers
from askalike.calibration.abstention import fit_abstention
from askalike.core.children import start_module
from askalike.core.errors import AskalikeError, IndexBusyError
from askalike.index.files import MANIFEST
from askalike.rankers import Ranker
from askalike.store import Archive
from askalike.store.deployments import get_archive_encoder

NICENESS = 5
"""Niceness of the process, which has all processors but one: searches stay fast, and other work does not starve it."""
AT_ONCE = 300
"""The number of questions up to which a search computes the vectors itself: that takes few seconds."""


def missing_encoder(archive: Archive, ranker: Ranker) -> str | None:
    """Return the archive's encoder if the ranker uses it and its vectors were never complete, else None."""
    encoder, view = get_archive_encoder(archive), archive.view()
    parts = (ranker.name, *(part.name for part in ranker.parts))
    if not encoder or encoder.name not in parts or archive.engine or len(view) <= AT_ONCE:
        return None
    return None if all((path / MANIFEST).exists() for path in ranker.index_paths(view)) else encoder.name


def start_encoding(archive: Path) -> None:
    """Start a process that computes the vectors of an archive's active ranker; it ends at once if one runs already."""
    start_module(__name__, [str(archive.resolve())])


def encode(archive: Path) -> None:
    """Build the index of an archive's active ranker; if another process builds it, do nothing."""
    try:
        with Archive.open(archive) as opened:
            ranker = rankers.create(None, {}, opened)
            ranker.build(opened.view())
            fit_abstention(opened, ranker)
    except IndexBusyError:
        return
    except AskalikeError as error:
        print(f"askalike: {error}", file=sys.stderr)
        raise SystemExit(2) from None


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
    encode(Path(sys.argv[1]))
