"""askalike encoder: the pre-trained encoders at hand, and the one of an archive."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from rich.table import Table
from rich.text import Text
from typer import Argument, Option, Typer

import askalike.cli._options as options
from askalike.cli._output import open_console, plain_table, print_remark, to_json
from askalike.core.values import format_count
from askalike.encoders import PACKAGED_ENCODERS, find_package
from askalike.store import Archive
from askalike.store.deployments import get_archive_encoder
from askalike.tuning.adoption import MAX_QUESTIONS, EncoderTrial, adopt_encoder, try_encoders

encoder_command = Typer(
    help="""List the pre-trained encoders at hand, and choose the one of an archive.

    Examples:

    ```
    askalike encoder list DIR
    askalike encoder use DIR minilm_l6
    ```
    """,
    no_args_is_help=True,
)
encoder_command.callback()(lambda: None)


@encoder_command.command("use")
def use_encoder_command(
    directory: options.Directory,
    model: Annotated[
        str,
        Argument(metavar="MODEL", help="A name of askalike encoder list, a folder, a package, or a name on the hub."),
    ],
    name: Annotated[str, options.value("NAME", "Its name in the archive.", "the last part of MODEL")] = "",
    download: Annotated[bool, Option("--download", help="Fetch MODEL from the Hugging Face hub.")] = False,
    json: options.Json = False,
) -> None:
    """Make a pre-trained encoder the archive's, and activate its hybrid with the lexical ranker.

    A folder or a package is copied into the archive; an encoder of an extra stays where it is installed.

    A running service keeps its ranker until the new vectors are complete.

    Examples:

    ```
    askalike encoder use DIR minilm_l6
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


@encoder_command.command("list")
def list_encoders_command(
    directory: Annotated[
        Path | None, Argument(metavar="DIR", help="An archive on which to try those that are installed.")
    ] = None,
    json: options.Json = False,
) -> None:
    """List the encoders that extras bring: languages, size, licence, and what each would give an archive.

    With DIR, those that are installed are tried on a sample of its questions: how often is a question first when 60 %
    of its title is typed, or a rephrasing of it?

    Examples:

    ```
    askalike encoder list
    askalike encoder list DIR
    ```
    """
    packages = {name: find_package(name) for name in PACKAGED_ENCODERS}
    installed = [name for name, package in packages.items() if package.is_installed]
    trials, own = [], None
    if directory is not None:
        with Archive.open(directory) as archive:
            own = get_archive_encoder(archive)
            added = [own.name] if own and own.name not in packages else []
            trials = try_encoders(archive, [*installed, *added])
    if json:
        described = {
            name: {
                "model": package.model, "installed": package.is_installed, "extra": package.extra,
                "languages": package.languages, "licence": package.licence,
                "size_mb": package.size_mb, "package": package.weights.package, "sha256": package.weights.sha256,
            }
            for name, package in packages.items()
        }  # fmt: skip
        print(to_json({"encoders": described, "trials": [asdict(trial) for trial in trials]}))
        return
    table = plain_table("encoder", "languages", ">MB", "licence", "installed")
    for name, package in packages.items():
        languages = ", ".join(package.languages) if package.languages else "about 100"
        have = "yes" if package.is_installed else f"no: pip install 'askalike[{package.extra}]'"
        table.add_row(name, languages, str(package.size_mb), package.licence, Text(have))
    console = open_console(highlight=False)
    console.print(table)
    if trials:
        console.print()
        console.print(_trial_table(trials))
        n = format_count(trials[0].questions, "question")
        print_remark(f"first for 60 % of its title, first for a rephrasing; {n} drawn, at most {MAX_QUESTIONS:,}")
    if directory is not None:
        use = f"the archive's encoder: {own.name}" if own else f"words alone; askalike encoder use {directory} ENCODER"
        print_remark(use)
    elif installed:
        print_remark("what each would give an archive, and how fast: askalike encoder list DIR")


def _trial_table(trials: list[EncoderTrial]) -> Table:
    table = plain_table("ranker", ">title", ">rephrasing", ">ms a search", ">questions/s")
    for row in map(_trial_row, trials):
        table.add_row(*row)
    return table


def _trial_row(trial: EncoderTrial) -> Iterator[str]:
    yield f"words and {trial.encoder}" if trial.encoder else "without an encoder"
    yield f"{100 * trial.typed_titles:.1f} %"
    yield "–" if trial.rephrasings is None else f"{100 * trial.rephrasings:.1f} %"
    yield f"{trial.query_ms:.1f}"
    yield f"{trial.questions_per_s:,.0f}"
