"""askalike feedback export: what people said of hits, as labelled pairs."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import Directory
from askalike.store import Archive
from askalike.store.feedback import export_feedback

group = typer.Typer(help="What people said of the questions that were shown to them.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add the group."""
    app.add_typer(group, name="feedback")


@group.command()
def export(
    directory: Directory, output: Annotated[Path, typer.Option("-o", "--output", help="The CSV file of pairs.")]
) -> None:
    """Write every verdict as a labelled pair, which `import pairs` reads: 1 asks the same, 0 does not."""
    with Archive.open(directory) as archive:
        rows = export_feedback(archive, output)
    print(f"{output}: {rows} pairs")
