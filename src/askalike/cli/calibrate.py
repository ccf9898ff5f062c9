"""askalike calibrate: what a ranker's scores mean on an archive."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.calibration.calibrate import calibrate, measure_abstention
from askalike.calibration.samples import MAX_PER_CLUSTER, MAX_QUERIES, load_off_topic_queries
from askalike.cli._calibration import format_abstention, format_report, format_saved
from askalike.cli._options import (
    Directory,
    FieldsOption,
    JsonOption,
    RankerOption,
    SettingsOption,
    announce_compilation,
    build_ranker,
)
from askalike.cli._output import print_json
from askalike.cli._progress import progress_bar
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("calibrate")(calibrate_command)


def calibrate_command(
    directory: Directory,
    ranker: RankerOption = None,
    settings: SettingsOption = None,
    fields: FieldsOption = None,
    split: Annotated[str | None, typer.Option(help="Whose queries; default: dev, else the first with enough.")] = None,
    precision: Annotated[
        float | None, typer.Option(help="Pick the line above which this share of first hits is right.")
    ] = None,
    off_topic: Annotated[
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
    max_queries: Annotated[int, typer.Option("--queries", min=1, help="At most so many queries.")] = MAX_QUERIES,
    per_cluster: Annotated[int, typer.Option(min=1, help="At most so many of one cluster.")] = MAX_PER_CLUSTER,
    seed: Annotated[int, typer.Option(help="Decides about queries, folds and resamples.")] = 0,
    json: JsonOption = False,
) -> None:
    """Turn a ranker's scores into probabilities of asking the same, and measure what these are worth.

    From then on `search` shows probabilities, and nothing below the line where one was picked: the one that --precision
    asks for, else the one at which nine in ten of the queries that --off-topic names get nothing. The calibration
    holds for this ranker with these settings, until a tenth of the archive has changed.
    """
    with Archive.open(directory) as archive, progress_bar("indexing") as report:
        off_topic_queries = load_off_topic_queries(off_topic, seed=seed) if off_topic else []
        announce_compilation()
        built = build_ranker(archive, ranker, settings, fields)
        share = prevalence if prevalence is not None else 0.5 if off_topic and precision is None else 1.0
        result = calibrate(
            archive, built, split, precision=precision, prevalence=share, titles_only=titles, max_queries=max_queries,
            max_per_cluster=per_cluster, seed=seed, progress=report,
        )  # fmt: skip
        curve = measure_abstention(archive, built, result, off_topic_queries) if off_topic_queries else None
        threshold = curve.threshold if curve and precision is None else result.calibration.threshold
        path = result.calibration.model_copy(update={"threshold": threshold}).save(directory)
    if json:
        print_json(
            {
                **result.as_dict(),
                "abstention": curve and curve.as_dict(),
                "line": threshold and threshold.model_dump(),
                "path": str(path),
            }
        )
        return
    print(format_report(result, directory, seed))
    if curve and off_topic:
        print(f"\n{format_abstention(curve, off_topic)}")
    print(f"\n{format_saved(threshold, result.calibration.prevalence)}\nkept in {path}")
