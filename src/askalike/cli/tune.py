"""askalike tune: the best ranker for an archive, and how good it is."""

from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Option

from askalike.cli import _tuning
from askalike.cli._options import (
    Directory,
    Fields,
    Json,
    RayCluster,
    RuleName,
    Seed,
    announce_compilation,
    assignment_option,
    check_measure,
    checked,
    parse_settings,
    split_list,
)
from askalike.cli._output import print_remark, to_json
from askalike.cli._progress import progress_bar
from askalike.core import registry
from askalike.core.parallel import work_on
from askalike.experiments.grid_search import (
    FOLDS,
    SEED,
    TuningEstimate,
    estimate_tuning,
    lexical_grids,
    require_lexical,
    sample_queries,
)
from askalike.experiments.measuring import LEXICAL_TUNING_MEASURE, TUNING_MEASURE, tuning_splits
from askalike.labels.splits import load_split
from askalike.store import Archive
from askalike.tuning.run import tune_archive
from askalike.tuning.state import parse_duration

ENCODER_HELP = "A pre-trained encoder, a folder or package, to try and to distil."
CROSS_ENCODER_HELP = "A cross-encoder, a folder or package, to try for re-ranking the first 20 hits."
ONLY_HELP = "Tune only the lexical rankers, on a finer grid; activates nothing."


def _check_budget(text: str) -> str:
    parse_duration(text)
    return text


def tune_command(
    directory: Directory,
    budget: Annotated[
        str, Option(metavar="TIME", callback=_check_budget, help="Time limit, such as 90s, 10m or 1.5h.")
    ] = "10m",
    encoder: Annotated[str, Option(metavar="MODEL", help=ENCODER_HELP, show_default="the archive's own")] = "",
    cross_encoder: Annotated[str, Option(metavar="MODEL", help=CROSS_ENCODER_HELP)] = "",
    measure: Annotated[
        str | None,
        Option(
            metavar="MEASURE",
            callback=checked(check_measure),
            help="The measure to maximise.",
            show_default=TUNING_MEASURE,
        ),
    ] = None,
    settings: Annotated[list[str] | None, assignment_option("A setting of all rankers")] = None,
    fields: Fields = None,
    seed: Seed = SEED,
    rule: Annotated[RuleName, Option(help="How ties, self-hits and unanswered queries count.")] = "trec_eval",
    only: Annotated[Literal["lexical"] | None, Option(help=ONLY_HELP)] = None,
    dev: Annotated[str | None, Option(metavar="SPLIT", help="With --only: the split to tune on.")] = None,
    test: Annotated[str | None, Option(metavar="SPLIT", help="With --only: the split to measure on, once.")] = None,
    ranker: Annotated[
        list[str] | None,
        Option(
            "--ranker", "-r", metavar="NAME", help="With --only: tune this ranker; may be repeated.", show_default="all"
        ),
    ] = None,
    sample: Annotated[int | None, Option(min=1, help="With --only: use at most this many dev queries.")] = None,
    folds: Annotated[
        int | None,
        Option(min=2, help="With --only: number of folds if there is no test split.", show_default=str(FOLDS)),
    ] = None,
    cluster: RayCluster = None,
    json: Json = False,
) -> None:
    """Find the ranker that suits an archive best, activate it, and calibrate it.

    Tries the active ranker first, then others from the simplest up, within the budget: six tuned similarities,
    packaged vectors, encoders trained on the archive's pairs, the pre-trained encoder, and a lookup distilled from it.
    Each is tried alone and with the lexical ranker. Votes and distinct hits are tried if the archive has votes or
    known duplicates.

    Activates the simplest ranker that no other beats significantly, if it beats the active one. An interrupted run
    resumes with the same command.

    Examples:

    ```
    askalike tune DIR
    askalike tune DIR --budget 1h --encoder models/all-MiniLM-L6-v2
    askalike tune DIR --only lexical --dev dev --test test
    ```
    """
    fixed = parse_settings(settings, fields)
    if only:
        _tune_lexical(
            directory, fixed, dev, test, measure or LEXICAL_TUNING_MEASURE, ranker or [], sample, folds or FOLDS, seed,
            rule, json,
        )  # fmt: skip
        return
    limit, measure = parse_duration(budget), measure or TUNING_MEASURE
    with work_on(cluster), Archive.open(directory) as archive:
        announce_compilation()
        printer = _tuning.TuningPrinter(directory, measure, quiet=json)
        outcome = tune_archive(
            archive, budget_s=limit, encoder=encoder, cross_encoder=cross_encoder, measure=measure, rule=rule,
            fixed=fixed, seed=seed, on_event=printer, log=print_remark,
        )  # fmt: skip
    print(to_json(_tuning.outcome_as_dict(outcome)) if json else _tuning.format_outcome(outcome, directory))


def _tune_lexical(
    directory: Path, fixed: dict[str, Any], dev: str | None, test: str | None, measure: str, names: list[str],
    sample: int | None, folds: int, seed: int, rule: str, json: bool,
) -> None:  # fmt: skip
    """Tune only lexical rankers, and measure the gain."""
    rankers = [each for name in names for each in split_list(name)] or registry.names("similarity")
    for name in rankers:
        require_lexical(name)
    with Archive.open(directory) as archive:
        first, second = tuning_splits(archive, dev, test)
        choosing, measuring = load_split(archive, first), load_split(archive, second) if second else None
        choosing = sample_queries(choosing, sample, seed) if sample else choosing
        spaces = {name: lexical_grids(archive, name, fixed) for name in rankers}
        announce_compilation()
        n = len(choosing.qrels)
        heading = _tuning.format_estimate_heading(directory, measure, first, second, n, folds, seed)
        results: list[TuningEstimate] = []
        if not json:
            print(f"{heading}\n\n{_tuning.ESTIMATE_HEADER}")
        for name, space in spaces.items():
            with progress_bar(f"tuning {name}") as report:
                estimate = estimate_tuning(
                    archive, name, space, choosing, measuring, measure,
                    fixed=fixed, rule=rule, n_folds=folds, seed=seed, progress=report,
                )  # fmt: skip
            results.append(estimate)
            if not json:
                print(_tuning.format_estimate(estimate), flush=True)
    notes = f"\n{_tuning.ESTIMATE_NOTES}\n{results[0].tuned['test'].describe}"
    print(to_json({"heading": heading, "rankers": [result.as_dict() for result in results]}) if json else notes)
