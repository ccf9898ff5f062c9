"""askalike train: a network learns from the archive's own pairs."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.archive.store import Archive
from askalike.cli._options import Directory
from askalike.cli._training import needs_torch, progress
from askalike.config import assignments
from askalike.encoders._recipe import trainable


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(train)


def train(
    directory: Directory,
    recipe: Annotated[str, typer.Option(help=f"A packaged recipe ({', '.join(trainable())}), or a TOML file.")],
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting of the recipe; may be repeated.")
    ] = None,
    signals: Annotated[
        str | None, typer.Option(help="What pairs are learned from, as in duplicates,title_body.")
    ] = None,
    dev: Annotated[
        str | None, typer.Option(help="The split that chooses the best epoch; default: a part kept from training.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the model is called; default: my_RECIPE.")] = None,
    devices: Annotated[int, typer.Option(min=1, help="How many processes train, each on a device of its own.")] = 1,
) -> None:
    """Train a network; the same command goes on where it was interrupted."""
    needs_torch()
    from askalike.experiment import training

    values = assignments(settings or []) | ({"signals": signals} if signals else {})
    chosen = training.chosen(recipe, values | ({"training.devices": devices} if devices > 1 else {}))
    with Archive.open(directory) as archive, progress() as (report, say):
        folder = training.train(archive, chosen, name or f"my_{Path(recipe).stem}", dev=dev, report=report, say=say)
    print(f"{folder}: use it with --ranker {folder.name}")
