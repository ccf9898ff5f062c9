"""askalike train: a network learns from the archive's own pairs."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import Directory, parse_settings
from askalike.cli._training import print_remark, print_training_progress, require_torch
from askalike.encoders.recipes import list_trainable
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(train)


def train(
    directory: Directory,
    recipe: Annotated[str, typer.Option(help=f"A packaged recipe ({', '.join(list_trainable())}), or a TOML file.")],
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
    require_torch()
    from askalike.experiments import training

    values = parse_settings(settings) | ({"signals": signals} if signals else {})
    loaded = training.load_recipe(recipe, values | ({"training.devices": devices} if devices > 1 else {}))
    name = name or f"my_{Path(recipe).stem}"
    with Archive.open(directory) as archive:
        folder = training.train(archive, loaded, name, dev=dev, report=print_training_progress, log=print_remark)
    print(f"{folder}: use it with --ranker {folder.name}")
