"""askalike promote, rollback: which ranker is in service."""

from typing import Annotated

import typer

from askalike import rankers
from askalike.archive import serving
from askalike.archive.store import Archive
from askalike.cli._options import Directory, Json, Settings, print_json, progress, say_compiling
from askalike.config import assignments
from askalike.engines._calibration import kept
from askalike.errors import SettingsError
from askalike.experiment import promoting

REFUSED = 1


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(promote)
    app.command()(rollback)


def promote(
    directory: Directory,
    ranker: Annotated[str, typer.Argument(metavar="RANKER", help="A model of the archive, or a ranker by its name.")],
    settings: Settings = None,
    measure: Annotated[str, typer.Option(help="What to compare by, as ir-measures writes it.")] = promoting.MEASURE,
    force: Annotated[bool, typer.Option("--force", help="Put it into service whatever the comparison says.")] = False,
    json: Json = False,
) -> None:
    """Put a ranker into service if it is significantly better on held-out links and feedback; exit code 1 if not.

    A running service takes it once its index is built, without dropping a request.
    """
    with Archive.open(directory) as archive, progress("comparing") as report:
        say_compiling()
        result = promoting.promote(
            archive, ranker, assignments(settings or []), measure=measure, force=force, progress=report
        )
        uncalibrated = result.promoted and kept(archive, rankers.build(None, {}, archive)) is None
    if json:
        print_json(result.as_dict())
    else:
        print(result.reason)
        if uncalibrated:
            print(f"its scores are no probabilities yet; run: askalike calibrate {directory}")
    if not result.promoted:
        raise typer.Exit(REFUSED)


def rollback(directory: Directory) -> None:
    """Withdraw the ranker in service: the one before it serves again."""
    with Archive.open(directory) as archive:
        withdrawn = serving.served(archive)
        if withdrawn is None:
            raise SettingsError(f"{directory}: nothing was put into service; {rankers.default()} is the default")
        now = serving.back(archive)
    print(
        f"{withdrawn.ranker} is withdrawn; {now.ranker if now else f'the default, {rankers.default()},'} serves again"
    )
