"""Tuning: the ladder is climbed as long as there is time, one ranker is chosen, measured once, and put into service."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from askalike.calibration.calibrate import CalibrationReport, calibrate
from askalike.errors import AskalikeError
from askalike.evaluation.names import canonical_name
from askalike.packages import find_model
from askalike.rankers import build_with_retry
from askalike.store.archive import Archive
from askalike.store.content import content_hash
from askalike.store.deployments import get_served_ranker, serve_ranker
from askalike.tuning.budget import Budget
from askalike.tuning.candidates import DEFAULT_RANKER, LADDER, Trial
from askalike.tuning.ladder_search import CandidateResult, EventListener, LadderSearch, Skipped
from askalike.tuning.measured import evaluate_choice
from askalike.tuning.model_training import ModelTrainer
from askalike.tuning.state import TuningState
from askalike.tuning.task import TuningTask, make_task
from askalike.tuning.teacher import Teacher
from askalike.tuning.trial_evaluator import TrialEvaluator
from askalike.tuning.verdict import TuningVerdict

STATE_VERSION = 2
"""Of what tuning does: what another version has found out does not count."""
DEFAULT_MEASURE = "nDCG@10"
"""What chooses and decides: where the right one stands says more, of few queries, than whether it is among five."""


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The verdict, everything that was tried, and the calibration of what serves, or why it has none."""

    verdict: TuningVerdict
    candidate_results: Sequence[CandidateResult]
    skipped: Sequence[Skipped]
    calibration_result: CalibrationReport | None
    uncalibrated_reason: str | None
    spent_s: float
    """By this call and those that it goes on from."""


def tune_archive(
    archive: Archive,
    *,
    budget_s: float = 600.0,
    encoder: str = "",
    measure: str = DEFAULT_MEASURE,
    rule: str = "trec_eval",
    fixed: Mapping[str, Any] | None = None,
    seed: int = 0,
    on_event: EventListener = lambda event: None,
    log: Callable[[str], None] = lambda line: None,
) -> TuningResult:
    """Finds the ranker that serves an archive best, puts it into service and calibrates it.

    encoder: a pre-trained encoder's folder or package, which teaches and competes. fixed: settings that all rankers
    have. tell: called with the task, each candidate tried, and each left out. The same call goes on where another was
    interrupted, with a budget of its own, and tries what was left out as far as that reaches. Raises ArchiveError
    where there is nothing to tune on, SettingsError for a measure, rule, encoder or setting that is not known.
    """
    canonical_name(measure)
    if encoder:
        find_model(encoder, "encoder")
    task = make_task(archive, seed)
    state = TuningState(archive.path, [STATE_VERSION, content_hash(archive), measure, rule, dict(fixed or {}), seed])
    teacher = Teacher(encoder, archive.view(), state) if encoder else None
    bench = TrialEvaluator(archive, task, measure, rule, state, fixed, teacher)
    climb = LadderSearch(bench, ModelTrainer(archive, task, state, teacher, log), Budget(budget_s), on_event)
    on_event(task)
    climb.try_lexical()
    climb.try_dense()
    climb.try_distinct()
    verdict = evaluate_choice(bench, climb.evaluated_trials)
    serving = verdict.served_trial.trial
    bench.remove_indexes([serving, Trial(DEFAULT_RANKER)])
    result, why = _serve_and_calibrate(archive, bench, task, verdict, climb.trainer.label_trained_models)
    if teacher and not {rung.name for rung in LADDER if rung.needs_teacher} & {left.name for left in climb.skipped}:
        teacher.clear_memory()
    return TuningResult(verdict, climb.candidate_results, climb.skipped, result, why, state.spent_s)


def _serve_and_calibrate(
    archive: Archive,
    evaluator: TrialEvaluator,
    task: TuningTask,
    verdict: TuningVerdict,
    label_trained_models: AbstractSet[str],
) -> tuple[CalibrationReport | None, str | None]:
    """Puts the verdict's ranker into service and calibrates it; why not, where it cannot be.

    labelled: the models that have learned from labels: what one of them is in is calibrated on the test part alone.
    """
    trial = verdict.served_trial.trial
    settings, now = evaluator.service_settings(trial), get_served_ranker(archive)
    if now is None or (now.ranker, dict(now.settings)) != (trial.ranker, dict(settings)):
        serve_ranker(archive, trial.ranker, settings, verdict.sentence)
    ranker = build_with_retry(evaluator.build_ranker(trial, False), archive.view())
    if task.held_out_calibration_split is None or task.full_calibration_split is None:
        return None, "nobody has labelled what asks the same"
    own = {trial.ranker, *trial.part_names}
    try:
        result = calibrate(
            archive,
            ranker,
            task.held_out_calibration_split if own & label_trained_models else task.full_calibration_split,
        )
    except AskalikeError as error:
        return None, str(error)
    result.calibration.save(archive.path)
    return result, None
