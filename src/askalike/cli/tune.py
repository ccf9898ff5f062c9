"""askalike tune: the best ranker for an archive, and how good it is."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Option

import askalike.cli.options as options
from askalike.calibration.calibrate import CalibrationReport
from askalike.cli.output import format_settings, print_remark, progress_bar, to_json
from askalike.core.parallel import use_workers
from askalike.core.values import format_count, format_duration
from askalike.measuring import LEADING_MEASURE, TUNING_MEASURE
from askalike.store import Archive
from askalike.tuning.candidate_search import CandidateResult, Event
from askalike.tuning.run import TuningResult, tune_archive
from askalike.tuning.task import TuningTask
from askalike.tuning.trials import parse_duration
from askalike.tuning.verdict import format_difference

ENCODER_HELP = "A pre-trained encoder, a folder or package, to try and to distil."
CROSS_ENCODER_HELP = "A cross-encoder, a folder or package, to try for re-ranking the first 20 hits."
TRIAL_FORMAT = "{:<52} {:>9} {:>9} {:>8}  {}"


def _check_budget(text: str) -> str:
    parse_duration(text)
    return text


def tune_command(
    directory: options.Directory,
    budget: Annotated[str, options.value("TIME", "Time limit, such as 90s, 10m or 1.5h.", parse=_check_budget)] = "10m",
    encoder: Annotated[str, options.value("MODEL", ENCODER_HELP, "the archive's own")] = "",
    cross_encoder: Annotated[str, options.value("MODEL", CROSS_ENCODER_HELP)] = "",
    measure: Annotated[
        str | None, options.value("MEASURE", "The measure to maximise.", TUNING_MEASURE, parse=options.check_measure)
    ] = None,
    settings: Annotated[list[str] | None, options.assignment("A setting of all rankers")] = None,
    fields: options.Fields = None,
    seed: options.Seed = 0,
    rule: Annotated[options.RuleName, Option(help=options.RULE_HELP)] = "trec_eval",
    jobs: options.Jobs = 1,
    ray: options.Ray = None,
    json: options.Json = False,
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
    ```
    """
    fixed = options.parse_settings(settings, fields)
    limit = parse_duration(budget)
    measure = measure or TUNING_MEASURE
    with use_workers(jobs, ray), Archive.open(directory) as archive, progress_bar("indexing") as progress:
        options.announce_compilation()
        report = (lambda event: None) if json else partial(print_event, directory, measure)
        outcome = tune_archive(
            archive, budget_s=limit, encoder=encoder, cross_encoder=cross_encoder, measure=measure, rule=rule,
            fixed=fixed, seed=seed, on_event=report, log=print_remark, progress=progress,
        )  # fmt: skip
    print(to_json(outcome_as_dict(outcome)) if json else format_outcome(outcome, directory))


def print_event(directory: Path, measure: str, event: Event) -> None:
    """Print an event of the search: the table's header, a candidate's line, or why one was left out."""
    if isinstance(event, TuningTask):
        line = _format_header(event, directory, measure)
    elif isinstance(event, CandidateResult):
        line = _format_trial(event)
    else:
        line = f"{event.name}: left out: {event.reason}"
    print(line, flush=True)


def _format_header(task: TuningTask, directory: Path, measure: str) -> str:
    n = len(task.dev.qrels)
    how = f"choose, {len(task.test.qrels):,} measure" if task.test else "choose and measure, in nested folds"
    remarks = "".join(f"{remark}\n" for remark in task.remarks)
    columns = TRIAL_FORMAT.format("ranker", measure, LEADING_MEASURE, "time", "settings").rstrip()
    return f"{measure} on {directory}, {task.name}: {format_count(n, 'query')} {how}\n{remarks}\n{columns}"


def _format_trial(event: CandidateResult) -> str:
    best = event.best
    means = f"{100 * event.mean:.1f}", f"{100 * best.reported_mean:.1f} %"
    columns = (best.candidate.name, *means, format_duration(event.seconds), format_settings(best.trial.settings))
    return TRIAL_FORMAT.format(*columns).rstrip()


def format_outcome(outcome: TuningResult, directory: Path) -> str:
    """Return the outcome, the difference to the encoder alone, the folds' choices, and the calibration's quality."""
    verdict, report = outcome.verdict, outcome.calibration_result
    calibration = _format_calibration(report) if report else f"not calibrated: {outcome.uncalibrated_reason}"
    over_words = format_difference(verdict.difference_to_lexical, f" over {verdict.best_lexical_name}")
    lines = ["", verdict.sentence, f"the best lexical ranker, {verdict.measure}: {over_words}"]
    if verdict.difference_to_encoder:
        d = verdict.difference_to_encoder
        lines.append(f"over the pre-trained encoder alone, {verdict.measure}: {format_difference(d)}, n = {d.n:,}")
    if verdict.fold_choices:
        lines.append(_format_choices(Counter(verdict.fold_choices)))
    is_same = verdict.served_trial is verdict.incumbent
    use = "rank with it as before" if is_same else "use it from now on"
    lines += ["", calibration, f'search, rank and serve {use}: askalike search {directory} "…"']
    return "\n".join(lines)


def _format_calibration(report: CalibrationReport) -> str:
    first = report.first_hits
    low, high = first.skill_interval
    return (
        f"calibrated: reliability error {first.error:.3f} (exact probabilities would show {first.chance:.3f}), Brier "
        f"skill {first.skill:+.3f} [{low:+.3f}, {high:+.3f}], n = {first.n:,}"
    )


def outcome_as_dict(outcome: TuningResult) -> Mapping[str, Any]:
    """Return everything about an outcome, for JSON."""
    tried = [
        {
            "name": t.candidate.name, "ranker": t.best.trial.ranker, "settings": dict(t.best.trial.settings),
            "mean": t.mean, "reported_mean": t.best.reported_mean, "n": len(t.best.values),
            "seconds": round(t.seconds, 1), "trials": len(t.candidate.trials),
        }
        for t in outcome.candidate_results
    ]  # fmt: skip
    return {
        **outcome.verdict.as_dict(),
        "candidates": tried,
        "skipped": [{"name": skipped.name, "reason": skipped.reason} for skipped in outcome.skipped],
        "calibration": outcome.calibration_result and outcome.calibration_result.as_dict(),
        "uncalibrated_reason": outcome.uncalibrated_reason,
        "seconds": round(outcome.spent_s, 1),
    }


def _format_choices(choices: Counter[str]) -> str:
    return "folds chose " + "; ".join(f"{n} × {choice}" for choice, n in choices.most_common())
