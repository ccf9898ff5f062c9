"""askalike promote, rollback: which ranker is in service."""

from typing import Annotated

import typer

from askalike import rankers
from askalike.calibration.calibration import load_calibration
from askalike.cli._options import Directory, JsonOption, SettingsOption, announce_compilation, parse_settings
from askalike.cli._output import print_json
from askalike.cli._progress import progress_bar
from askalike.errors import SettingsError
from askalike.experiments.measuring import LEADING_MEASURE
from askalike.store import Archive, get_served_ranker, withdraw_ranker
from askalike.tuning.promotion import promote

REFUSED_EXIT_CODE = 1


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("promote")(promote_command)
    app.command()(rollback)


def promote_command(
    directory: Directory,
    ranker: Annotated[str, typer.Argument(metavar="RANKER", help="A model of the archive, or a ranker by its name.")],
    settings: SettingsOption = None,
    measure: Annotated[str, typer.Option(help="What to compare by, as ir-measures writes it.")] = LEADING_MEASURE,
    force: Annotated[bool, typer.Option("--force", help="Put it into service whatever the comparison says.")] = False,
    json: JsonOption = False,
) -> None:
    """Put a ranker into service if it is significantly better on held-out links and feedback; exit code 1 if not.

    A running service takes it once its index is built, without dropping a request.
    """
    with Archive.open(directory) as archive, progress_bar("comparing") as report:
        announce_compilation()
        result = promote(archive, ranker, parse_settings(settings), measure=measure, force=force, progress=report)
        uncalibrated = result.promoted and load_calibration(archive, rankers.create(None, {}, archive)) is None
    if json:
        print_json(result.as_dict())
    else:
        print(result.reason)
        if uncalibrated:
            print(f"its scores are no probabilities yet; run: askalike calibrate {directory}")
    if not result.promoted:
        raise typer.Exit(REFUSED_EXIT_CODE)


def rollback(directory: Directory) -> None:
    """Withdraw the ranker in service: the one before it serves again."""
    with Archive.open(directory) as archive:
        withdrawn = get_served_ranker(archive)
        if withdrawn is None:
            raise SettingsError(f"{directory}: nothing was put into service; {rankers.default_name()} is the default")
        successor = withdraw_ranker(archive)
    active = successor.ranker if successor else f"the default, {rankers.default_name()},"
    print(f"{withdrawn.ranker} is withdrawn; {active} serves again")
