"""askalike tune: the best ranker for an archive, and how good it is."""

from typing import Annotated

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
)
from askalike.cli._output import print_remark, to_json
from askalike.core.parallel import work_on
from askalike.experiments.grid_search import SEED
from askalike.experiments.measuring import TUNING_MEASURE
from askalike.store import Archive
from askalike.tuning.run import tune_archive
from askalike.tuning.state import parse_duration

ENCODER_HELP = "A pre-trained encoder, a folder or package, to try and to distil."
CROSS_ENCODER_HELP = "A cross-encoder, a folder or package, to try for re-ranking the first 20 hits."


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
    cluster: RayCluster = None,
    json: Json = False,
) -> None:
    """Find the ranker that suits an archive best, activate it, and calibrate it.

    Tries the active ranker first, then others from the simplest up, within the budget: six tuned similarities,
    packaged vectors, encoders trained on the archive's pairs, the pre-trained encoder, and encoders distilled from it.
    Each is tried alone and with the lexical ranker. Votes and distinct hits are tried if the archive has votes or
    known duplicates.

    Activates the simplest ranker that no other beats significantly, if it beats the active one. An interrupted run
    resumes with the same command.

    Examples:

    ```
    askalike tune DIR
    askalike tune DIR --budget 1h --encoder models/all-MiniLM-L6-v2
    ```
    """
    fixed = parse_settings(settings, fields)
    limit, measure = parse_duration(budget), measure or TUNING_MEASURE
    with work_on(cluster), Archive.open(directory) as archive:
        announce_compilation()
        printer = _tuning.TuningPrinter(directory, measure, quiet=json)
        outcome = tune_archive(
            archive, budget_s=limit, encoder=encoder, cross_encoder=cross_encoder, measure=measure, rule=rule,
            fixed=fixed, seed=seed, on_event=printer, log=print_remark,
        )  # fmt: skip
    print(to_json(_tuning.outcome_as_dict(outcome)) if json else _tuning.format_outcome(outcome, directory))
