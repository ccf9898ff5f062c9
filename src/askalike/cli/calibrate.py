"""askalike calibrate: what a ranker's scores mean on an archive."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.archive.store import Archive
from askalike.cli import _calibrated
from askalike.cli._options import (
    Directory,
    Fields,
    Json,
    RankerName,
    Settings,
    chosen,
    print_json,
    progress,
    say_compiling,
)
from askalike.curation.calibrate import calibrate as calibrated
from askalike.curation.hits import PER_CLUSTER, QUERIES
from askalike.curation.off_topic import abstention, off_topic


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(calibrate)


def calibrate(
    directory: Directory,
    ranker: RankerName = None,
    settings: Settings = None,
    fields: Fields = None,
    split: Annotated[str | None, typer.Option(help="Whose queries; default: dev, else the first with enough.")] = None,
    precision: Annotated[
        float | None, typer.Option(help="Pick the line above which this share of first hits is right.")
    ] = None,
    off: Annotated[
        Path | None,
        typer.Option("--off-topic", help="Queries that nothing should be found for: JSON lines, or another archive."),
    ] = None,
    prevalence: Annotated[
        float | None,
        typer.Option(
            help="The share of what people ask that was asked before; default: 1, for --off-topic's line 0.5.",
            show_default=False,
        ),
    ] = None,
    titles: Annotated[bool, typer.Option("--titles", help="Ask by titles alone, as people type.")] = False,
    most: Annotated[int, typer.Option("--queries", min=1, help="At most so many queries.")] = QUERIES,
    per_cluster: Annotated[int, typer.Option(min=1, help="At most so many of one cluster.")] = PER_CLUSTER,
    seed: Annotated[int, typer.Option(help="Decides about queries, folds and resamples.")] = 0,
    json: Json = False,
) -> None:
    """Turn a ranker's scores into probabilities of asking the same, and measure what these are worth.

    From then on `search` shows probabilities, and nothing below the line where one was picked: the one that --precision
    asks for, else the one at which nine in ten of the queries that --off-topic names get nothing. What is kept holds
    for this ranker with these settings, until a tenth of the archive has changed.
    """
    with Archive.open(directory) as archive, progress("indexing") as report:
        strange = off_topic(off, seed=seed) if off else []
        say_compiling()
        built = chosen(archive, ranker, settings, fields)
        share = prevalence if prevalence is not None else 0.5 if off and precision is None else 1.0
        result = calibrated(
            archive, built, split, precision=precision, prevalence=share, titles=titles, most=most,
            per_cluster=per_cluster, seed=seed, progress=report,
        )  # fmt: skip
        curve = abstention(archive, built, result, strange) if strange else None
        line = curve.line if curve and precision is None else result.calibration.line
        path = result.calibration.model_copy(update={"line": line}).save(directory)
    if json:
        print_json(
            {
                **result.as_dict(),
                "abstention": curve and curve.as_dict(),
                "line": line and line.model_dump(),
                "path": str(path),
            }
        )
        return
    print(_calibrated.text(result, directory, seed))
    if curve and off:
        print(f"\n{_calibrated.abstention(curve, off)}")
    print(f"\n{_calibrated.kept(line, result.calibration.prevalence)}\nkept in {path}")
