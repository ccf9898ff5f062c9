"""Options that several commands share, and how long work is shown on stderr."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from askalike import rankers
from askalike.config import parse_assignments
from askalike.index import lexical
from askalike.rankers import Ranker
from askalike.store.archive import Archive
from askalike.types import Progress as Report

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The archive's directory.")]
RankerOption = Annotated[
    str | None,
    typer.Option(
        "--ranker", "-r", help=f"A model of the archive, or one of: {', '.join(rankers.names())}.", show_default=False
    ),
]
SettingsOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the ranker; may be repeated.")
]
FieldsOption = Annotated[str | None, typer.Option(help="title, body, or title,body (the default).")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

COMPILED_PATTERN = "maxscore.search_queries-*.nbi"


def announce_compilation() -> None:
    """Says on stderr why the first search after an installation takes its time."""
    beside = Path(lexical.__file__).parent / "__pycache__"  # where numba mostly keeps it, and slow to import to ask
    if any(beside.glob(COMPILED_PATTERN)):
        return
    from askalike.index.lexical.maxscore import search_queries

    if not any(Path(search_queries.stats.cache_path or ".").glob(COMPILED_PATTERN)):
        print("askalike: compiling the search for this machine, once (about half a minute) …", file=sys.stderr)


def build_ranker(archive: Archive, name: str | None, settings: list[str] | None, fields: str | None = None) -> Ranker:
    """The ranker that --ranker, --set and --fields describe; the default one where none is named."""
    values = parse_assignments(settings or [])
    return rankers.create(name, values | ({"fields": fields} if fields else {}), archive)


def split_list(text: str) -> list[str]:
    """What is named in a list with commas or spaces."""
    return text.replace(",", " ").split()


def print_json(value: Any) -> None:
    """One JSON object on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


@contextmanager
def progress_bar(description: str) -> Iterator[Report | None]:
    """A progress bar on stderr, where stderr is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn(description), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
