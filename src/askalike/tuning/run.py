"""Tuning: tries candidates within the time budget, chooses one, measures it once, activates it and calibrates it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askalike import rankers
from askalike.calibration.calibrate import CalibrationReport, calibrate_each_use
from askalike.calibration.samples import MAX_QUERIES
from askalike.core import registry
from askalike.core.errors import AskalikeError, SettingsError
from askalike.core.iteration import LogCallback, Progress
from askalike.core.model_folders import find_model
from askalike.core.values import format_count, format_duration, now
from askalike.encoders import PACKAGED_ENCODERS
from askalike.evaluation.measures import canonical_name
from askalike.labels.splits import load_split
from askalike.measuring import LEADING_MEASURE, TUNING_MEASURE, RankingTask
from askalike.rankers import DEFAULT_NAME, Ranker, Searcher, active_ranker, open_current
from askalike.store import Archive, content_hash, get_served_ranker, serve_ranker, takes_archive
from askalike.store.contents import TUNED_KEY
from askalike.store.deployments import get_archive_encoder, serving_history
from askalike.tuning.candidate_search import (
    CandidateResult,
    EventListener,
    SearchContext,
    Skipped,
    estimate_incumbent_s,
    estimate_verdict_s,
    try_candidates,
)
from askalike.tuning.candidates import CROSS_ENCODER_RANKER, DEFAULT_RANKER, PRETRAINED_RANKER, list_families
from askalike.tuning.models import ModelTrainer, Teacher
from askalike.tuning.task import make_task
from askalike.tuning.trials import Budget, RankerFactory, Trial, TrialEvaluator, TuningState
from askalike.tuning.verdict import TuningVerdict, reach_verdict

STATE_VERSION = 3
"""The version of the search; the state of a run with another version is ignored."""
RESERVED_SHARE = 0.2
"""The share of the budget reserved for the verdict, the index and the calibration."""
ANNOUNCED_S = 1.0
"""Work that the budget does not limit is announced if it takes longer."""
PROBE_QUERIES = 20
"""The number of queries used to measure the speed of a searcher."""
PROBE_DEPTH = 100
USES = 2
"""The number of uses to calibrate for: whole questions, and titles as people type them."""


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The verdict, each candidate's result, the skipped ones, and the active ranker's calibration or why there is none.

    spent_s: the seconds of this call and of the earlier ones that it resumes.
    """

    verdict: TuningVerdict
    candidate_results: Sequence[CandidateResult]
    skipped: Sequence[Skipped]
    calibration_result: CalibrationReport | None
    uncalibrated_reason: str | None
    spent_s: float

    def __repr__(self) -> str:
        return f"TuningResult({self.verdict.sentence!r}, {format_count(len(self.candidate_results), 'candidate')})"


@takes_archive
def tune_archive(
    archive: Archive,
    *,
    budget_s: float = 600.0,
    encoder: str = "",
    cross_encoder: str = "",
    measure: str = TUNING_MEASURE,
    rule: str = "trec_eval",
    fixed: Mapping[str, Any] | None = None,
    seed: int = 0,
    on_event: EventListener = lambda event: None,
    log: LogCallback = lambda line: None,
    progress: Progress | None = None,
) -> TuningResult:
    """Find the best ranker for an archive, activate it and calibrate it.

    archive: or its directory. encoder: folder or package of a pre-trained encoder, both a candidate and a teacher; by
    default the archive's own.
    cross_encoder: one that re-ranks the first hits, a folder or package. fixed: settings of all rankers.
    on_event: called with the task, the result of each candidate, and each skipped one. log: called before long work
    that the budget does not limit. progress: called while an index is built. The same call resumes an interrupted one,
    with a new budget, within which it also tries skipped candidates. Raises ArchiveError if there is nothing to tune
    on, SettingsError for an unknown measure, rule, encoder or setting.
    """
    canonical_name(measure)
    if cross_encoder and CROSS_ENCODER_RANKER not in registry.names("ranker"):
        raise SettingsError(f"{CROSS_ENCODER_RANKER} is not installed: pip install 'askalike[research]'")
    trial = _encoder_trial(archive, encoder)
    task = make_task(archive, seed)
    state = TuningState(archive.path, [STATE_VERSION, content_hash(archive), measure, rule, dict(fixed or {}), seed])
    teacher = Teacher(trial, archive.view(), state) if trial else None
    create = teacher.create_ranker if teacher else rankers.create
    evaluator = TrialEvaluator(
        RankingTask(archive),
        {"dev": task.dev, "test": task.evaluation_split},
        (measure, LEADING_MEASURE),
        rule,
        held_out=task.held_out_splits,
        fixed={**(fixed or {}), **task.fixed},
        memory=state,
        create=create,
        progress=progress,
    )
    trainer = ModelTrainer(archive, task, state, teacher, log)
    context = SearchContext(task, evaluator, trainer, Budget(budget_s, RESERVED_SHARE))
    on_event(task)
    active = _incumbent_trial(archive, evaluator)
    _announce("the active ranker is measured", estimate_incumbent_s(context, active), log)
    tried = try_candidates(context, active, cross_encoder, on_event)
    _announce("the chosen ranker is measured on other queries", estimate_verdict_s(context, tried.incumbent), log)
    verdict = reach_verdict(task, evaluator, tried.contest)
    ranker = _activate(context, verdict, create, fixed or {})
    past = (Trial(row.ranker, row.settings) for row in serving_history(archive))
    trainer.remove_losers({name for trial in past for name in (trial.ranker, *trial.part_names)})
    searcher = open_current(ranker, archive.view())
    calibration_result, reason = _calibrate(context, ranker, searcher, verdict.served_trial.trial)
    archive.set_meta(**{TUNED_KEY: now()})
    need_teacher = {family.name for family in list_families() if family.needs_teacher}
    if teacher and need_teacher.isdisjoint(skipped.name for skipped in tried.skipped):
        teacher.clear_memory()
    results = [tried.incumbent, *tried.results]
    return TuningResult(verdict, results, tried.skipped, calibration_result, reason, state.spent_s)


def _activate(
    context: SearchContext, verdict: TuningVerdict, create: RankerFactory, fixed: Mapping[str, Any]
) -> Ranker:
    """Activate the ranker of a verdict, unless it is active, and return it; record the queries that it was chosen on.

    Of the indexes of trials only its own and that of the default ranker remain. fixed: settings of all rankers.
    """
    archive, task, evaluator = context.archive, context.task, context.evaluator
    own_fixed = {name: value for name, value in fixed.items() if name not in task.fixed}
    served = verdict.served_trial.trial
    settings = {**own_fixed, **served.settings}
    ranker = create(served.ranker, settings, archive)
    evaluator.keep_index(ranker)
    evaluator.keep_index(create(DEFAULT_RANKER, own_fixed, archive))
    evaluator.remove_indexes()
    if get_served_ranker(archive) is None or not rankers.is_served(archive, ranker):
        is_chosen = verdict.served_trial is not verdict.incumbent and not task.has_pseudo_queries
        serve_ranker(archive, ranker.name, settings, verdict.sentence, task.dev.qrels if is_chosen else ())
    return ranker


def _calibrate(
    context: SearchContext, ranker: Ranker, searcher: Searcher, served: Trial
) -> tuple[CalibrationReport | None, str | None]:
    """Calibrate the active ranker, that of the trial `served`. Return the report, or None and why there is none.

    A ranker with a part that has learned from labels is calibrated only on the test part.
    """
    archive, task, budget = context.archive, context.task, context.budget
    if task.held_out_calibration_split is None or task.full_calibration_split is None:
        return None, "the archive has no duplicate labels"
    is_label_trained = not context.trainer.label_trained_models.isdisjoint((served.ranker, *served.part_names))
    split_name = task.held_out_calibration_split if is_label_trained else task.full_calibration_split
    needed_s = _estimate_s(context, searcher, split_name) if budget.total_remaining_s > 0 else 0.0
    if needed_s >= budget.total_remaining_s:
        about = f": it takes about {format_duration(needed_s)}" if needed_s else ""
        return None, f"no time left{about}; run: askalike calibrate {archive.path}"
    try:
        reports = calibrate_each_use(archive, ranker, split_name)
    except AskalikeError as error:
        return None, str(error)
    for report in reports:
        report.calibration.save(archive.path)
    return reports[0], None


def _estimate_s(context: SearchContext, searcher: Searcher, split_name: str) -> float:
    """Estimate the seconds to rank the split's queries for each use from the time of a few queries."""
    queries = dict(list(context.task.dev.queries.items())[:PROBE_QUERIES])
    started = time.monotonic()
    rankers.rank(searcher, queries, PROBE_DEPTH)
    query_s = (time.monotonic() - started) / len(queries)
    return query_s * min(len(load_split(context.archive, split_name).qrels), MAX_QUERIES) * USES


def _announce(activity: str, needed_s: float, log: LogCallback) -> None:
    if needed_s > ANNOUNCED_S:
        log(f"independent of the budget: {activity}, which takes about {format_duration(needed_s)}")


def _encoder_trial(archive: Archive, encoder: str) -> Trial | None:
    """Return the pre-trained encoder to try: the given one, else the archive's own; None if there is none."""
    if encoder in PACKAGED_ENCODERS:
        return Trial(encoder)
    if encoder:
        find_model(encoder, "encoder")
        return Trial(PRETRAINED_RANKER, {"encoder": encoder})
    own = get_archive_encoder(archive)
    return Trial(own.name) if own else None


def _incumbent_trial(archive: Archive, evaluator: TrialEvaluator) -> Trial:
    """Return the active ranker, or the default one if none is active or it has learned from labels used for tuning."""
    name, settings = active_ranker(archive)
    trial = Trial(name, {key: value for key, value in settings.items() if key not in evaluator.fixed})
    try:
        evaluator.require_unlearned(trial)
    except SettingsError:
        return Trial(DEFAULT_NAME)
    return trial
