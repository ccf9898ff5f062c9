"""askalike replay: would the original have been found when the duplicate was asked?"""

from pathlib import Path
from typing import Annotated

import typer

from askalike import rankers
from askalike.cli._options import (
    Directory,
    FieldsOption,
    JsonOption,
    SettingsOption,
    announce_compilation,
    print_json,
    progress_bar,
)
from askalike.config import parse_assignments
from askalike.replay import folder as replay_folder
from askalike.replay.replay import WORDING_REMARK, Replay
from askalike.replay.replay import replay as replay_archive
from askalike.store.archive import Archive


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(replay)


def replay(
    directory: Directory,
    since: Annotated[str, typer.Option(metavar="DATE", help="Ask the questions from this date on again.")],
    until: Annotated[str | None, typer.Option(metavar="DATE", help="… and before this one.")] = None,
    ranker: Annotated[
        list[str] | None,
        typer.Option("--ranker", "-r", help=f"May be repeated. One of: {', '.join(rankers.names())}."),
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
    values = parse_assignments(settings or []) | ({"fields": fields} if fields else {})
    with Archive.open(directory) as archive, progress_bar("replaying") as report:
        announce_compilation()
        served, kept = rankers.active_ranker(archive)
        asked = dict.fromkeys(ranker, values) if ranker else {served: {**kept, **values}}
        result = replay_archive(archive, asked, since, until, k, report)
    written = replay_folder.write_replay(result, output) if output else []
    if json:
        print_json(result.as_dict())
        return
    print(_format_replay(result))
    for path in written:
        print(path)


def _format_replay(result: Replay) -> str:
    lines = [f"{each.ranker}: {each.describe()}" for each in result.results]
    asked = result.selection
    return "\n".join(
        [
            *lines,
            f"not counted: {asked.newer_links} links to a question that is not older, {asked.undated_links} links with "
            "an end that has no date",
            WORDING_REMARK,
        ]
    )
