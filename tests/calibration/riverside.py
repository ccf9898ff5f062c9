"""The bundled example as an archive."""

import atexit
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

from askalike.readers import import_archive
from askalike.store.archive import Archive

EXAMPLE = Path(__file__).parents[2] / "examples/riverside.csv"
DEFAULT_RANKER = "lm_jelinek_mercer"


def riverside(path: Path) -> Path:
    """Copy the example, which each process imports once, into a new directory and return it."""
    return Path(shutil.copytree(import_example(), path))


def import_riverside(path: Path) -> Path:
    """Import the example into a new directory and return it; in a cluster, copies of one name would share indexes."""
    import_archive("table", [str(EXAMPLE)], str(path))
    return path


@cache
def import_example() -> Path:
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return import_riverside(Path(folder, "riverside"))


def ask_again(archive: Archive) -> None:
    """Add the first twenty questions, r001 to r020, once more in nearly the same words, as again-r001 and so on."""
    questions = [question for _, question in archive.view().questions()][:20]
    archive.upsert(
        replace(q, id=f"again-{q.id}", title=f"{q.title} Thanks!", rephrasings=(), created_at=None, votes=0)
        for q in questions
    )
