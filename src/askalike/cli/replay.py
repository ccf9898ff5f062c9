"""askalike replay: would the original have been found when the duplicate was asked?"""

from pathlib import Path
from typing import Annotated

import typer

from askalike import rankers
from askalike.cli._options import (
    RANKER_NAMES,
    Directory,
    FieldsOption,
    JsonOption,
    SettingsOption,
    announce_compilation,
    parse_settings,
)
from askalike.cli._output import print_json
from askalike.cli._progress import progress_bar
from askalike.replay.replay import WORDING_REMARK, Replay, replay
from askalike.replay.report import write_replay
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("replay")(replay_command)


def replay_command(
    directory: Directory,
    since: Annotated[str, typer.Option(metavar="DATE", help="Ask the questions from this date on again.")],
    until: Annotated[str | None, typer.Option(metavar="DATE", help="… and before this one.")] = None,
    ranker: Annotated[
        list[str] | None,
        typer.Option("--ranker", "-r", help=f"May be repeated. One of: {RANKER_NAMES}."),
    ] = None,
    settings: SettingsOption = None,
    fields: FieldsOption = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Among how many the original is looked for.")] = 5,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A folder for results, runs and plot.")] = None,
    json: JsonOption = False,
) -> None:
    """Ask every question that was later closed as a duplicate again, at its own time.

    Each is ranked against only what existed at that moment: texts, statistics and what a ranker has learned.
    """
    values = parse_settings(settings, fields)
    with Archive.open(directory) as archive, progress_bar("replaying") as report:
        announce_compilation()
        active, active_settings = rankers.active_ranker(archive)
        settings_by_ranker = dict.fromkeys(ranker, values) if ranker else {active: {**active_settings, **values}}
        result = replay(archive, settings_by_ranker, since, until, k, report)
    paths = write_replay(result, output) if output else []
    if json:
        print_json(result.as_dict())
        return
    print(_format_replay(result))
    for path in paths:
        print(path)


def _format_replay(result: Replay) -> str:
    lines = [f"{each.ranker}: {each.describe()}" for each in result.results]
    selection = result.selection
    return "\n".join(
        [
            *lines,
            f"not counted: {selection.newer_links} links to a question that is not older, "
            f"{selection.undated_links} links with an end that has no date",
            WORDING_REMARK,
        ]
    )
