"""askalike experiment: one TOML in, one folder out."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import JsonOption, announce_compilation
from askalike.cli._output import print_json
from askalike.cli._progress import nested_progress_bars
from askalike.config import parse_assignments
from askalike.evaluation.tables import to_text
from askalike.experiments.declaration import read_experiment
from askalike.experiments.outcome import describe_findings, summary_table
from askalike.experiments.run import run_experiment


def register(app: typer.Typer) -> None:
    """Add the command."""
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
    json: JsonOption = False,
) -> None:
    """Run the experiment that a TOML file declares, and keep it in a folder that reproduces it."""
    experiment = read_experiment(file, parse_assignments(changes or []))
    folder = output or Path("runs") / file.stem
    announce_compilation()
    with nested_progress_bars() as watch:
        outcome = run_experiment(experiment, folder, resume=resume, force=force, open_bar=watch)
    if json:
        print_json(outcome.as_dict())
    else:
        print(f"{to_text(summary_table(outcome))}{describe_findings(outcome.findings)}")
        print(f"{folder}: report.html, report.json, runs/")
