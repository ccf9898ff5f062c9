"""askalike experiment: one TOML in, one folder out."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._bars import bars
from askalike.cli._options import Json, print_json, say_compiling
from askalike.config import assignments
from askalike.evaluation.tables import to_text
from askalike.experiment.reading import read
from askalike.experiment.record import as_dict
from askalike.experiment.run import run
from askalike.experiment.summary import table, verdict


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("experiment")(experiment_command)


def experiment_command(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What is to be ranked, by what, measured how.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="The folder; default: runs/ and FILE's name.")
    ] = None,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key of FILE; may be repeated.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what was interrupted.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Throw away the experiment that is in the folder.")] = False,
    json: Json = False,
) -> None:
    """Run the experiment that a TOML file declares, and keep it in a folder that reproduces it."""
    experiment = read(file, assignments(changes or []))
    folder = output or Path("runs") / file.stem
    say_compiling()
    with bars() as watch:
        outcome = run(experiment, folder, resume=resume, force=force, watch=watch)
    if json:
        print_json(as_dict(outcome))
    else:
        print(f"{to_text(table(outcome))}{verdict(outcome.findings)}\n{folder}: report.html, report.json, runs/")
