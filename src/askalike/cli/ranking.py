"""askalike rank, replay: the hits of many queries, in the archive as it is, or as it was when they were asked."""

from pathlib import Path
from typing import Annotated

from typer import Option

from askalike import rankers
from askalike.cli._options import (
    RANKER_HELP,
    After,
    Assignments,
    Before,
    Directory,
    Engine,
    Fields,
    Json,
    RankerName,
    Tags,
    Without,
    announce_compilation,
    build_ranker,
    checked,
    parse_settings,
)
from askalike.cli._output import print_remark, progress_bar, to_json
from askalike.core.counts import format_count
from askalike.core.filters import Filter
from askalike.evaluation.trec import write_run
from askalike.experiments.plotting import NO_FIGURES, can_plot
from askalike.labels.splits import identify_queries, load_split
from askalike.readers import read_candidates, read_queries
from askalike.replay.replay import WORDING_REMARK, parse_moment, replay
from askalike.replay.report import write_replay
from askalike.store import Archive

SPLIT_PREFIX = "split:"


def rank_command(
    directory: Directory,
    queries: Annotated[
        str, Option(metavar="FILE", help="A file of JSON lines, or split:NAME for a split of the archive.")
    ],
    output: Annotated[Path, Option("-o", "--output", metavar="FILE", help="The run to write, in TREC's format.")],
    ranker: RankerName = None,
    settings: Assignments = None,
    fields: Fields = None,
    engine: Engine = None,
    k: Annotated[int, Option("-k", min=1, help="Documents per query.")] = 100,
    candidates: Annotated[
        Path | None, Option(metavar="FILE", help="JSON lines with the documents to rank for each query.")
    ] = None,
    tag: Tags = None,
    before: Before = None,
    after: After = None,
    without: Without = None,
) -> None:
    """Rank the archive's questions for many queries, as a TREC run.

    Examples:

    ```
    askalike rank DIR --queries split:test -o run.trec
    askalike rank DIR --queries queries.jsonl -o bm25.trec --ranker bm25 -k 1000
    ```
    """
    filter = Filter(tuple(tag or ()), after, before, tuple(without or ()))  # type: ignore[arg-type]
    with Archive.open(directory, engine) as archive, progress_bar("indexing") as report:
        is_split = queries.startswith(SPLIT_PREFIX)
        split = load_split(archive, queries.removeprefix(SPLIT_PREFIX)) if is_split else None
        questions = split.queries if split else identify_queries(archive.view(), read_queries(Path(queries)))
        pools = read_candidates(candidates) if candidates else split.candidates if split else None
        searcher = rankers.open_current(build_ranker(archive, ranker, settings, fields), archive.view(), report)
        archive.view().require_tags(tag or ())
        run = rankers.rank(searcher, questions, k, candidates=pools, filter=filter or None)
    write_run(run, output, searcher.name)
    print(f"{format_count(len(run), 'query')} ranked by {searcher.name}: {output}")


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
    if output and not can_plot():
        print_remark(NO_FIGURES)
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
