"""askalike calibrate-run: the scores of another system's run as probabilities, by each hit's score alone."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import numpy as np
from typer import Argument

from askalike import InputError, Run, read_run
from askalike.plugin import commands as options
from askalike.plugin.commands import format_count, to_json
from askalike.plugin.measuring import (
    CALIBRATION_DEPTH,
    COLUMN_COUNT,
    FEATURES,
    MIN_QUERIES,
    PREVALENCE_HELP,
    SAMENESS_COLUMN,
    CalibrationReport,
    CalibrationSample,
    GuaranteedPrecision,
    Precision,
    QueryRows,
    RankerDescription,
    ResultTable,
    Verbose,
    calibrate_sample,
    collect_labelled_hits,
    format_report,
    format_verdict,
    to_text,
)
from askalike.plugin.training import Qrels
from askalike_research.comparing.run_sources import load_judgements


def calibrate_run_command(
    run: Annotated[Path, Argument(metavar="RUN", help="A run of any system.")],
    qrels: options.QrelsFile = None,
    archive: Annotated[Path | None, options.value("DIR", "The archive with the judgements.")] = None,
    split: Annotated[str | None, options.value("SPLIT", "The archive's split.", "test, else the first")] = None,
    precision: Precision = None,
    guarantee: GuaranteedPrecision = None,
    prevalence: Annotated[float, options.share(PREVALENCE_HELP)] = 1.0,
    seed: options.Seed = 0,
    verbose: Verbose = False,
    json: options.Json = False,
) -> None:
    """Turn the scores of another system's run into probabilities by judgements, and measure how reliable they are.

    Nothing is saved. Thresholds are also given as scores of the run.

    Examples:

    ```
    askalike calibrate-run run.trec --qrels qrels.txt
    askalike calibrate-run run.trec --archive DIR --split test --guarantee 0.9
    ```
    """
    judgements = load_judgements((), qrels, archive, split)
    report = calibrate_run(
        str(run), read_run(run), judgements.qrels, precision=precision, guarantee=guarantee, prevalence=prevalence,
        seed=seed,
    )  # fmt: skip
    scores = {probability: find_score(report, probability) for probability in (0.1, 0.25, 0.5, 0.75, 0.9)}
    threshold = report.calibration.threshold
    lowest = find_score(report, threshold.probability) if threshold else None
    if json:
        curve = report.calibration.first_hit_curve.model_dump(mode="json")
        print(to_json({**report.as_dict(), "curve": curve, "scores": scores, "threshold_score": lowest}))
        return
    print(format_verdict(report))
    rows = [(f"{p:.2f}", "none" if score is None else f"{score:.6g}") for p, score in scores.items()]
    print(f"\n{to_text(ResultTable('first hits', ('probability', 'from score'), rows)).rstrip()}")
    if verbose:
        print(f"\n{format_report(report, run, seed)}")
    if threshold and lowest is not None:
        print(f"\nshow nothing below the score {lowest:.6g} ({threshold.criterion} {threshold.share:.0%})")


def calibrate_run(
    name: str, run: Run, qrels: Qrels, *, precision: float | None = None, guarantee: float | None = None,
    prevalence: float = 1.0, seed: int = 0,
) -> CalibrationReport:  # fmt: skip
    """Return the report on a run: curves from scores to probabilities, and thresholds; see `calibrate`.

    The queries are those with a relevant document; each is a cluster of its own. A hit with the id of its query is
    dropped. Raises InputError if there are too few queries, or too few right or wrong first hits.
    """
    queries = [id for id in run if any(grade > 0 for grade in qrels.get(id, {}).values())]
    first, later, wrong = collect_labelled_hits(_label_hits(run, id, qrels[id]) for id in queries)
    n_right = int(first.relevant.sum())
    needed = MIN_QUERIES // 10
    if len(queries) < MIN_QUERIES or min(n_right, len(first.relevant) - n_right) < needed:
        found = f"{format_count(len(queries), 'query')} with a relevant document, {n_right} right first hits"
        raise InputError(
            f"{name}: too little to calibrate on: {found}; expected at least {MIN_QUERIES} queries, and {needed} "
            f"right and {needed} wrong first hits"
        )
    n = len(queries)
    sample = CalibrationSample(name, queries, queries, [""] * n, False, first, later, wrong, ["labelled"] * n)
    return calibrate_sample(
        sample, RankerDescription(name), precision=precision, guarantee=guarantee, prevalence=prevalence, seed=seed
    )


def find_score(report: CalibrationReport, probability: float) -> float | None:
    """Return the lowest score of a first hit of the run with at least this probability; None if none has it."""
    features = report.sample.first_hits.features
    likely = [row for row in features if report.calibration.estimate(row[None])[0] >= probability]
    return float(min(row[FEATURES.index("score")] for row in likely)) if likely else None


def _label_hits(run: Run, query: str, judged: Mapping[str, int]) -> QueryRows:
    """Return the rows of a query's hits, whose only feature is the score."""
    ids, scores = run.columns(query)
    hits = [(judged.get(id, 0) > 0, score) for id, score in zip(ids, scores.tolist(), strict=True) if id != query]
    relevant = [is_right for is_right, _ in hits[:CALIBRATION_DEPTH]]
    features = np.zeros((len(relevant), COLUMN_COUNT))
    features[:, FEATURES.index("score")] = [score for _, score in hits[:CALIBRATION_DEPTH]]
    features[:, SAMENESS_COLUMN:] = 1.0
    return features.tolist(), relevant, features[np.logical_not(relevant)][:1].tolist()
