"""Tuning: the ladder is climbed as long as there is time, one ranker is chosen, measured once, and put into service."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from askalike.archive.content import content_hash
from askalike.archive.serving import serve, served
from askalike.archive.store import Archive
from askalike.curation.calibrate import Calibrated, calibrate
from askalike.errors import AskalikeError
from askalike.evaluation.names import canonical
from askalike.installed import located
from askalike.rankers import caught_up
from askalike.tune.bench import Bench
from askalike.tune.budget import Budget
from askalike.tune.candidates import DEFAULT, LADDER, Trial
from askalike.tune.climb import Climb, Left, Tell, Tried
from askalike.tune.learning import Learner
from askalike.tune.measured import judged
from askalike.tune.state import State
from askalike.tune.task import Task, task_of
from askalike.tune.teacher import Teacher
from askalike.tune.verdict import Verdict

VERSION = 2
"""Of what tuning does: what another version has found out does not count."""
MEASURE = "nDCG@10"
"""What chooses and decides: where the right one stands says more, of few queries, than whether it is among five."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict, everything that was tried, and the calibration of what serves, or why it has none."""

    verdict: Verdict
    tried: Sequence[Tried]
    left: Sequence[Left]
    calibrated: Calibrated | None
    uncalibrated: str | None
    spent_s: float
    """By this call and those that it goes on from."""


def tune(
    archive: Archive,
    *,
    budget_s: float = 600.0,
    encoder: str = "",
    measure: str = MEASURE,
    rule: str = "trec_eval",
    fixed: Mapping[str, Any] | None = None,
    seed: int = 0,
    tell: Tell = lambda event: None,
    say: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Finds the ranker that serves an archive best, puts it into service and calibrates it.

    encoder: a pre-trained encoder's folder or package, which teaches and competes. fixed: settings that all rankers
    have. tell: called with the task, each candidate tried, and each left out. The same call goes on where another was
    interrupted, with a budget of its own, and tries what was left out as far as that reaches. Raises ArchiveError
    where there is nothing to tune on, SettingsError for a measure, rule, encoder or setting that is not known.
    """
    canonical(measure)
    if encoder:
        located(encoder, "encoder")
    task = task_of(archive, seed)
    state = State(archive.path, [VERSION, content_hash(archive), measure, rule, dict(fixed or {}), seed])
    teacher = Teacher(encoder, archive.view(), state) if encoder else None
    bench = Bench(archive, task, measure, rule, state, fixed, teacher)
    climb = Climb(bench, Learner(archive, task, state, teacher, say), Budget(budget_s), tell)
    tell(task)
    climb.words()
    climb.vectors()
    climb.distinct()
    verdict = judged(bench, climb.entries)
    serving = verdict.serving.trial
    bench.clear([serving, Trial(DEFAULT)])
    result, why = _in_service(archive, bench, task, verdict, climb.learner.labelled)
    if teacher and not {rung.name for rung in LADDER if rung.teacher} & {left.name for left in climb.left}:
        teacher.forget()
    return Outcome(verdict, climb.tried, climb.left, result, why, state.spent_s)


def _in_service(
    archive: Archive, bench: Bench, task: Task, verdict: Verdict, labelled: AbstractSet[str]
) -> tuple[Calibrated | None, str | None]:
    """Puts the verdict's ranker into service and calibrates it; why not, where it cannot be.

    labelled: the models that have learned from labels: what one of them is in is calibrated on the test part alone.
    """
    trial = verdict.serving.trial
    settings, now = bench.settings(trial), served(archive)
    if now is None or (now.ranker, dict(now.settings)) != (trial.ranker, dict(settings)):
        serve(archive, trial.ranker, settings, verdict.sentence)
    ranker = caught_up(bench.built(trial, False), archive.view())
    if task.calibrates is None or task.whole is None:
        return None, "nobody has labelled what asks the same"
    own = {trial.ranker, *trial.parts}
    try:
        result = calibrate(archive, ranker, task.calibrates if own & labelled else task.whole)
    except AskalikeError as error:
        return None, str(error)
    result.calibration.save(archive.path)
    return result, None
