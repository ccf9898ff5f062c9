"""The bundled example as an archive."""

from dataclasses import replace
from pathlib import Path

from askalike.readers import import_archive
from askalike.store.archive import Archive

EXAMPLE = Path(__file__).parents[2] / "examples/riverside.csv"
DEFAULT_RANKER = "lm_jelinek_mercer"


def riverside(path: Path) -> Path:
    """Import the example into a new directory and return it."""
    import_archive("table", [str(EXAMPLE)], str(path))
    return path


def ask_again(archive: Archive) -> None:
    """Add the first twenty questions, r001 to r020, once more in nearly the same words, as again-r001 and so on."""
    questions = [question for _, question in archive.view().questions()][:20]
    archive.upsert(
        replace(q, id=f"again-{q.id}", title=f"{q.title} Thanks!", rephrasings=(), created_at=None, votes=0)
        for q in questions
    )
