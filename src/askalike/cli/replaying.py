"""askalike replay: what a ranker would have found when each known duplicate was asked."""

from pathlib import Path
from typing import Annotated

from typer import Option

from askalike import rankers
from askalike.cli._options import (
    RANKER_HELP,
    Assignments,
    Before,
    Directory,
    Fields,
    Json,
    announce_compilation,
    checked,
    parse_settings,
)
from askalike.cli._output import to_json
from askalike.cli._progress import progress_bar
from askalike.core.counts import format_count
from askalike.core.filters import Filter
from askalike.replay.replay import WORDING_REMARK, parse_moment, replay
from askalike.replay.report import write_replay
from askalike.store import Archive


def replay_command(
    directory: Directory,
    after: Annotated[
        str,
        Option(metavar="DATE", callback=checked(parse_moment), help="Only questions asked on or after this date."),
    ],
    before: Before = None,
    ranker: Annotated[
        list[str] | None,
        Option(
            "--ranker",
            "-r",
            metavar="NAME",
            envvar="ASKALIKE_RANKER",
            help=f"{RANKER_HELP} May be repeated.",
            show_default="the active one",
        ),
    ] = None,
    settings: Assignments = None,
    fields: Fields = None,
    k: Annotated[int, Option("-k", min=1, help="The original counts as found among this many hits.")] = 5,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="FOLDER", help="The folder for results, runs and plot.")
    ] = None,
    json: Json = False,
) -> None:
    """Search again for every known duplicate, in the archive as it was when somebody asked it.

    Texts, statistics and the training data of rankers are those of that moment.

    Examples:

    ```
    askalike replay DIR --after 2023-01-01
    askalike replay DIR --after 2023-01-01 --ranker bm25 --ranker hybrid -o replay
    ```
    """
    values = parse_settings(settings, fields)
    Filter(after=after, before=before)  # raises if no date is between them
    with Archive.open(directory) as archive, progress_bar("replaying") as report:
        announce_compilation()
        active, active_settings = rankers.active_ranker(archive)
        settings_by_ranker = dict.fromkeys(ranker, values) if ranker else {active: {**active_settings, **values}}
        result = replay(archive, settings_by_ranker, after, before, k, report)
    paths = write_replay(result, output) if output else []
    if json:
        print(to_json(result.as_dict()))
        return
    selection = result.selection
    print(
        *(f"{each.ranker}: {each.describe()}" for each in result.results),
        f"not counted: {format_count(selection.newer_links, 'link')} to a question that is not older, "
        f"{format_count(selection.undated_links, 'link')} with an end that has no date",
        WORDING_REMARK,
        *paths,
        sep="\n",
    )
