"""askalike feedback export."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import Directory
from askalike.store import feedback as kept
from askalike.store.archive import Archive

group = typer.Typer(help="What people said of the questions that were shown to them.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Adds the group."""
    app.add_typer(group, name="feedback")


@group.command()
def export(
    directory: Directory, output: Annotated[Path, typer.Option("-o", "--output", help="The CSV file of pairs.")]
) -> None:
    """Write every verdict as a labelled pair, which `import pairs` reads: 1 asks the same, 0 does not."""
    with Archive.open(directory) as archive:
        rows = kept.export_feedback(archive, output)
    print(f"{output}: {rows} pairs")
