"""Options that several commands share, and what becomes of them."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from askalike import index, rankers
from askalike.config import parse_assignments
from askalike.rankers import Ranker
from askalike.store import Archive

RANKER_NAMES = ", ".join(rankers.names())
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The archive's directory.")]
RankerOption = Annotated[
    str | None,
    typer.Option("--ranker", "-r", help=f"A model of the archive, or one of: {RANKER_NAMES}.", show_default=False),
]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the ranker; may be repeated.")
]
FieldsOption = Annotated[str | None, typer.Option(help="title, body, or title,body (the default).")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

COMPILED_PATTERN = "maxscore.search_queries-*.nbi"


def announce_compilation() -> None:
    """Say on stderr why the first search after an installation takes its time."""
    if any(
        Path(index.__file__).parent.rglob(COMPILED_PATTERN)
    ):  # where numba mostly puts it, and slow to import to ask
        return
    from askalike.index.lexical.maxscore import search_queries

    if not any(Path(search_queries.stats.cache_path or ".").glob(COMPILED_PATTERN)):
        print("askalike: compiling the search for this machine, once (about half a minute) …", file=sys.stderr)


def build_ranker(archive: Archive, name: str | None, settings: list[str] | None, fields: str | None = None) -> Ranker:
    """Return the ranker that --ranker, --set and --fields describe; the active one where none is named."""
    return rankers.create(name, parse_settings(settings, fields), archive)


def parse_settings(settings: list[str] | None, fields: str | None = None) -> dict[str, object]:
    """Return what --set and --fields say, as setting → value."""
    return parse_assignments(settings or []) | ({"fields": fields} if fields else {})


def split_list(text: str) -> list[str]:
    """Return the names in a list with commas or spaces between them."""
    return text.replace(",", " ").split()
