"""askalike backtest: what a bot would have said to the latest questions, before one is switched on."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from typer import Argument, Option

from askalike.cli._command import DIRECTORY_VARIABLE
from askalike.cli._options import Assignments, Fields, Json, RankerName, build_ranker, checked
from askalike.cli._output import print_remark, progress_bar, to_json
from askalike.readers import import_archive
from askalike.replay.backtest import DEFAULT_LAST, MAX_SUGGESTIONS, backtest
from askalike.replay.backtest_report import to_report, write_backtest
from askalike.replay.judging import read_judged
from askalike.store import Archive


def parse_score(text: str) -> str:
    """Return the text of a number from 0 to 1 unchanged. Raises ValueError for any other text."""
    with suppress(ValueError):
        if 0 <= float(text) <= 1:
            return text
    raise ValueError(f"threshold {text!r}: expected a number from 0 to 1")


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
    ranker: RankerName = None,
    settings: Assignments = None,
    fields: Fields = None,
    k: Annotated[int, Option("-k", min=1, max=9, help="Suggestions in a comment.")] = MAX_SUGGESTIONS,
    threshold: Annotated[
        list[str] | None,
        Option(
            "--threshold",
            metavar="SCORE",
            callback=checked(parse_score),
            help="The least score of a suggestion; may be repeated.",
            show_default="where 10, 5 and 2 % get a comment",
        ),
    ] = None,
    precision: Annotated[
        float | None,
        Option(min=0, max=1, help="Also measure the threshold that calibrate --precision chooses on older labels."),
    ] = None,
    guarantee: Annotated[
        float | None,
        Option(min=0, max=1, help="Also measure the threshold that calibrate --guarantee chooses on older labels."),
    ] = None,
    judged: Annotated[
        Path | None, Option(metavar="FILE", help="The sample.csv of an earlier call, with its column right filled in.")
    ] = None,
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="FOLDER", help="The folder for page, JSON and sample.")
    ] = None,
    json: Json = False,
) -> None:
    """Measure what comments on the latest questions would have been made, and how many of them right.

    Each question is searched among the older ones, with the texts, statistics, labels and calibration of that moment.

    Examples:

    ```
    askalike backtest DIR
    askalike backtest issues.json --weeks 4 -o backtest
    askalike backtest issues.json --weeks 4 -o backtest --judged backtest/sample.csv
    ```
    """
    judgements = read_judged(judged) if judged else None
    with _open(archive) as opened, progress_bar("asking again") as report:
        result = backtest(
            opened, build_ranker(opened, ranker, settings, fields), last=last, weeks=weeks, k=k,
            thresholds=list(map(float, threshold or ())), precision=precision, guarantee=guarantee, judged=judgements,
            progress=report,
        )  # fmt: skip
    paths = write_backtest(result, output) if output else []
    print(to_json(result.as_dict()) if json else to_report(result))
    for path in paths:
        print_remark(str(path))


@contextmanager
def _open(path: Path) -> Iterator[Archive]:
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
