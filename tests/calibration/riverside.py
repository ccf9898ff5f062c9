"""The bundled example as an archive."""

from pathlib import Path

from askalike.readers import import_archive

EXAMPLE = Path(__file__).parents[2] / "examples/riverside.csv"


def riverside(path: Path) -> Path:
    """Imported into a new directory."""
    import_archive("table", [str(EXAMPLE)], str(path))
    return path
