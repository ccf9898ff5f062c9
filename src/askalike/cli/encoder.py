"""askalike encoder: the pre-trained encoder of an archive."""

from dataclasses import asdict
from typing import Annotated

from typer import Argument, Option, Typer

from askalike.cli._options import Directory, Json
from askalike.cli._output import to_json
from askalike.core.counts import format_count
from askalike.store import Archive
from askalike.tuning.adoption import adopt_encoder

encoder_command = Typer(
    help="""Choose the pre-trained encoder of an archive.

    Examples:

    ```
    askalike encoder use DIR models/all-MiniLM-L6-v2
    askalike encoder use --help
    ```
    """,
    no_args_is_help=True,
)
encoder_command.callback()(lambda: None)


@encoder_command.command("use")
def use_encoder_command(
    directory: Directory,
    model: Annotated[
        str, Argument(metavar="MODEL", help="A model's folder, a package that contains one, or a name on the hub.")
    ],
    name: Annotated[
        str, Option(metavar="NAME", help="Its name in the archive.", show_default="the last part of MODEL")
    ] = "",
    download: Annotated[bool, Option("--download", help="Fetch MODEL from the Hugging Face hub.")] = False,
    json: Json = False,
) -> None:
    """Copy a pre-trained encoder into the archive and activate its hybrid with the lexical ranker.

    A running service keeps its ranker until the new vectors are complete.

    Examples:

    ```
    askalike encoder use DIR models/all-MiniLM-L6-v2
    askalike encoder use DIR sentence-transformers/all-MiniLM-L6-v2 --download
    ```
    """
    with Archive.open(directory) as archive:
        encoder = adopt_encoder(archive, model, name=name, download=download)
        questions = len(archive.view())
    if json:
        print(to_json(asdict(encoder)))
        return
    print(f"{encoder.name} is the archive's encoder; active ranker: hybrid of lm_jelinek_mercer and {encoder.name}")
    count = format_count(questions, "question")
    print(f"a running service encodes the {count} by itself; else run: askalike index {directory}")
