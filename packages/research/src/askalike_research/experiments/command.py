"""askalike experiment: a TOML file in, a folder of results out."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from askalike.plugin import commands as options
from askalike.plugin.measuring import to_text
from askalike_research.experiments.declaration import read_experiment
from askalike_research.experiments.outcome import describe_findings, summary_table
from askalike_research.experiments.run import run_experiment


def experiment_command(
    file: Annotated[Path, Argument(metavar="FILE", help="A TOML file with data, rankers and measures.")],
    output: Annotated[Path | None, options.output("FOLDER", "The folder of results.", "runs/ and FILE's name")] = None,
    changes: Annotated[list[str] | None, options.assignment("A key of FILE to change")] = None,
    quick: Annotated[
        bool, Option("--quick", help="Try it out in minutes: few queries, pairs, epochs and values, one seed.")
    ] = False,
    force: Annotated[bool, Option("--force", help="Discard an earlier experiment in the folder.")] = False,
    jobs: options.Jobs = 1,
    ray: options.Ray = None,
    json: options.Json = False,
) -> None:
    """Run the experiment that a TOML file declares, into a folder that reproduces it.

    An interrupted experiment resumes with the same command.

    Examples:

    ```
    askalike experiment two.toml
    askalike experiment two.toml --set k=10 -o runs/shallow
    askalike experiment two.toml --quick
    ```
    """
    experiment = read_experiment(file, options.parse_assignments(changes or []))
    folder = output or Path("runs") / (file.stem + "-quick" * quick)
    options.announce_compilation()
    log = options.lines_without_terminal()
    with options.use_workers(jobs, ray), options.nested_progress_bars() as watch:
        outcome = run_experiment(
            experiment, folder, quick=quick, resume=True, force=force, open_bar=watch, log=log,
            command=_experiment_command_line(file, output, changes or [], quick=quick),
        )  # fmt: skip
    if json:
        print(options.to_json(outcome.as_dict()))
    else:
        print(f"{to_text(summary_table(outcome))}{describe_findings(outcome.findings)}")
        print(f"{folder}: report.html, report.json, runs/")


def _experiment_command_line(file: Path, output: Path | None, changes: Sequence[str], *, quick: bool) -> str:
    given = [part for change in changes for part in ("--set", change)] + (["-o", str(output)] if output else [])
    given += ["--quick"] if quick else []
    return shlex.join(["askalike", "experiment", str(file), *given])
