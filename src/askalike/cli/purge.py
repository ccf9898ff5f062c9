"""askalike purge: forgets what people asked over HTTP."""

from typing import Annotated

import typer

from askalike.cli._options import Directory
from askalike.store import Archive
from askalike.store.query_log import delete_older_than


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(purge)


def purge(
    directory: Directory,
    days: Annotated[float, typer.Option(min=0, help="What is older than so many days goes; 0 is everything.")],
) -> None:
    """Delete what people asked over HTTP, and their feedback. Questions of the archive stay."""
    with Archive.open(directory) as archive:
        questions, feedback = delete_older_than(archive, days)
    print(f"{questions} questions asked and {feedback} pieces of feedback deleted")
