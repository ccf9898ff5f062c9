"""askalike train: trains a network on an archive's own labels."""

import sys
from pathlib import Path
from typing import Annotated, Any

from typer import Option

import askalike
from askalike import Archive
from askalike.plugin.commands import (
    Directory,
    assignment,
    format_duration,
    parse_settings,
    print_remark,
    raw_stream,
    value,
)
from askalike_learning.recipe_files import list_recipes

RECIPE_HELP = f"A packaged recipe ({', '.join(list_recipes())}), or a TOML file."


def train_command(
    directory: Directory,
    recipe: Annotated[str, value("RECIPE", RECIPE_HELP)],
    settings: Annotated[list[str] | None, assignment("A setting of the recipe")] = None,
    encoder: Annotated[str | None, value("MODEL", "The pre-trained encoder to fine-tune: a folder or package.")] = None,
    signals: Annotated[
        str | None, value("NAMES", "Sources of training pairs, as in duplicates,title_body.", "RECIPE's")
    ] = None,
    dev: Annotated[str | None, value("SPLIT", "The split that chooses the best epoch.", "a held-out tenth")] = None,
    name: Annotated[str | None, value("NAME", "Name of the model.", "my_RECIPE")] = None,
    devices: Annotated[int, Option(min=1, help="Number of training processes, each with its own device.")] = 1,
) -> None:
    """Train a network on the archive's own labels.

    An interrupted run resumes with the same command.

    Examples:

    ```
    askalike train DIR --recipe transformer --encoder models/all-MiniLM-L6-v2
    askalike train DIR --recipe bow_cnn --signals duplicates,title_body --name mine
    ```
    """
    from askalike_learning.trainable import load_recipe  # torch, which takes seconds

    given = {"signals": signals, "encoder": encoder}
    values = parse_settings(settings) | {key: value for key, value in given.items() if value}
    loaded = load_recipe(recipe, values | ({"training.devices": devices} if devices > 1 else {}))
    name = name or f"my_{Path(recipe).stem}"
    with Archive.open(directory) as archive:
        folder = askalike.train(archive, loaded, name, dev=dev, report=_print_training_progress, log=print_remark)
    print(f"{folder}: use it with --ranker {folder.name}")


def _print_training_progress(progress: Any) -> None:
    """Print a line per epoch on stderr, and on a terminal also the current batch, on a line updated in place."""
    on_terminal = sys.stderr.isatty()
    if on_terminal:
        print("\r\033[K", end="", file=raw_stream(sys.stderr))
    line = (
        f"epoch {progress.epoch}/{progress.epochs}  loss {progress.loss:.4f}  "
        f"{progress.examples_per_second:,.0f} examples/s  {_format_remaining(progress)}"
    )
    if progress.value is not None:
        best = f"(best {progress.best:.4f})"
        print_remark(f"{line}  {progress.measure} {progress.value:.4f} on dev {best}")
    elif on_terminal:
        print(f"{line}  batch {progress.batch}/{progress.batches}", end="", file=sys.stderr, flush=True)


def _format_remaining(progress: Any) -> str:
    """Return the time until training ends: it stops early if the dev measure no longer rises."""
    least, most = format_duration(progress.least_remaining_s), format_duration(progress.remaining_s)
    return f"{most} left" if least == most else f"{least} to {most} left"
