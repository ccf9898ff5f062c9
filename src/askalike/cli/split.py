"""`askalike split`: cuts a split into parts, which the archive stores."""

from dataclasses import asdict
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table

from askalike.cli._options import Directory, JsonOption
from askalike.cli._output import print_json
from askalike.errors import SettingsError
from askalike.labels.partitions import Partition, create_partition
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("split")(split_command)


def split_command(
    directory: Directory,
    by: Annotated[
        Literal["cluster", "category", "tag", "time", "folds"], typer.Option(help="What keeps the parts apart.")
    ],
    source_split: Annotated[
        str | None, typer.Option("--of", metavar="SPLIT", help="What to cut; default: the first split.")
    ] = None,
    shares: Annotated[
        str | None, typer.Option(help="Of train, dev, test, by cluster, category or tag [default: 0.8,0.1,0.1].")
    ] = None,
    before: Annotated[str | None, typer.Option(metavar="DATE", help="By time: train ends before it.")] = None,
    after: Annotated[str | None, typer.Option(metavar="DATE", help="By time: test begins at it.")] = None,
    folds: Annotated[int | None, typer.Option(help="How many folds [default: 5].")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the order of clusters [default: 0].")] = None,
    name: Annotated[str | None, typer.Option(help="The parts are called NAME/PART; default: as --by.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Cut anew what has that name.")] = False,
    json: JsonOption = False,
) -> None:
    """Cut a split into train, dev and test, or folds, with no duplicate cluster in two of them.

    The parts are kept in the archive and found by name, as in `askalike evaluate DIR --split cluster/dev`.
    """
    options = {"shares": _parse_shares(shares), "before": before, "after": after, "folds": folds, "seed": seed}
    settings = {key: value for key, value in options.items() if value is not None}
    with Archive.open(directory) as archive:
        partition = create_partition(archive, by, settings, source_split=source_split, name=name, replace=replace)
    if json:
        print_json(asdict(partition))
    else:
        print_partition(partition, Console(highlight=False))


def print_partition(partition: Partition, console: Console) -> None:
    """Print a line for each part, and how the partition was made."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    table.add_column("part")
    for column in ("queries", "clusters", "largest", "links"):
        table.add_column(column, justify="right")
    for part in partition.parts:
        figures = (part.queries, part.clusters, part.largest, part.links)
        table.add_row(part.split, *(f"{figure:,}" for figure in figures))
    console.print(table)
    left_out = f"; {partition.left_out:,} queries are in no part" if partition.left_out else ""
    console.print(f"{partition.description}{left_out}", soft_wrap=True)


def _parse_shares(text: str | None) -> list[float] | None:
    try:
        return [float(part) for part in text.split(",")] if text is not None else None
    except ValueError:
        raise SettingsError(f"--shares {text!r}: expected numbers with commas between, as in 0.8,0.1,0.1") from None
