"""askalike replay, backtest: the hits of many queries, in the archive as it was when they came."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from typer import Argument, Option

from askalike import Archive, Filter, import_archive
from askalike.plugin import commands as options
from askalike.plugin.commands import (
    DIRECTORY_VARIABLE,
    Excludes,
    format_count,
    print_remark,
    progress_bar,
    rules,
    to_json,
)
from askalike.plugin.rankers import active_ranker
from askalike_research.experiments.figures import NO_FIGURES, can_plot
from askalike_research.replay.backtest import DEFAULT_LAST, MAX_SUGGESTIONS, backtest
from askalike_research.replay.backtest_report import to_report, write_backtest
from askalike_research.replay.judging import read_judged
from askalike_research.replay.replay import WORDING_REMARK, parse_moment, replay, write_replay


def replay_command(
    directory: options.Directory,
    after: Annotated[str, options.value("DATE", "Only questions asked on or after this date.", parse=parse_moment)],
    before: options.Before = None,
    ranker: Annotated[
        list[str] | None,
        Option(
            "--ranker",
            "-r",
            metavar="NAME",
            envvar="ASKALIKE_RANKER",
            help=f"{options.RANKER_HELP} May be repeated.",
            show_default="the active one",
        ),
    ] = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    k: Annotated[int, Option("-k", min=1, help="The original counts as found among this many hits.")] = 5,
    output: Annotated[Path | None, options.output("FOLDER", "The folder for results, runs and plot.")] = None,
    json: options.Json = False,
) -> None:
    """Search again for every known duplicate, in the archive as it was when somebody asked it.

    Texts, statistics and the training data of rankers are those of that moment.

    Examples:

    ```
    askalike replay DIR --after 2023-01-01
    askalike replay DIR --after 2023-01-01 --ranker bm25 --ranker hybrid -o replay
    ```
    """
    values = options.parse_settings(settings, fields)
    Filter(after=after, before=before)  # raises if no date is between them
    with Archive.open(directory) as archive, progress_bar("replaying") as report:
        options.announce_compilation()
        active, active_settings = active_ranker(archive)
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


def parse_score(text: str) -> str:
    """Return the text of a number from 0 to 1 unchanged. Raises ValueError for any other text."""
    with suppress(ValueError):
        if 0 <= float(text) <= 1:
            return text
    raise ValueError(f"threshold {text!r}: expected a number from 0 to 1")


@rules(Excludes("last", "weeks"))
def backtest_command(
    archive: Annotated[
        Path,
        Argument(
            metavar="ARCHIVE",
            envvar=DIRECTORY_VARIABLE,
            help="An archive's directory, or a file of gh issue list --json …",
        ),
    ],
    last: Annotated[int, Option("--last", min=1, metavar="N", help="The number of latest questions to ask.")] = (
        DEFAULT_LAST
    ),
    weeks: Annotated[
        int | None,
        Option(
            "--weeks", min=1, metavar="N", help="The latest weeks to ask, instead of --last.", show_default="--last"
        ),
    ] = None,
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    k: Annotated[int, Option("-k", min=1, max=9, help="Suggestions in a comment.")] = MAX_SUGGESTIONS,
    threshold: Annotated[
        list[str] | None,
        Option(
            "--threshold",
            metavar="SCORE",
            callback=options.checked(parse_score),
            help="The least score of a suggestion; may be repeated.",
            show_default="where 10, 5 and 2 % get a comment",
        ),
    ] = None,
    precision: Annotated[
        float | None, options.share("Also measure the threshold that calibrate --precision chooses on older labels.")
    ] = None,
    guarantee: Annotated[
        float | None, options.share("Also measure the threshold that calibrate --guarantee chooses on older labels.")
    ] = None,
    judged: Annotated[
        Path | None, options.value("FILE", "The sample.csv of an earlier call, with its column right filled in.")
    ] = None,
    output: Annotated[Path | None, options.output("FOLDER", "The folder for page, JSON and sample.")] = None,
    json: options.Json = False,
) -> None:
    """Measure which comments a bot would have made on the latest questions, and how many of them are right.

    Each question is searched among the older ones, with the texts, statistics, labels and calibration of that moment.

    Examples:

    ```
    askalike backtest DIR
    askalike backtest issues.json --weeks 4 -o backtest
    askalike backtest issues.json --weeks 4 -o backtest --judged backtest/sample.csv
    ```
    """
    judgements = read_judged(judged) if judged else None
    with _open_issues(archive) as opened, progress_bar("asking again") as report:
        result = backtest(
            opened, options.build_ranker(opened, ranker, settings, fields), last=last, weeks=weeks, k=k,
            thresholds=list(map(float, threshold or ())), precision=precision, guarantee=guarantee, judged=judgements,
            progress=report,
        )  # fmt: skip
    paths = write_backtest(result, output) if output else []
    print(to_json(result.as_dict()) if json else to_report(result))
    for path in paths:
        print_remark(str(path))


@contextmanager
def _open_issues(path: Path) -> Iterator[Archive]:
    """Open an archive, or a temporary one with the issues in a file."""
    if not path.is_file():
        with Archive.open(path) as archive:
            yield archive
        return
    with TemporaryDirectory(prefix="askalike-issues-") as folder:
        directory = Path(folder) / path.stem
        summary = import_archive("github", path, directory)
        print_remark(f"{path}: {summary}")
        with Archive.open(directory) as archive:
            yield archive
