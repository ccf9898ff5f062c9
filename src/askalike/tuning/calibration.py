"""Calibrates the ranker that tuning activates, if there is enough time left."""

import time

from askalike import rankers
from askalike.calibration.calibrate import CalibrationReport, calibrate_each_use
from askalike.calibration.samples import MAX_QUERIES
from askalike.core.errors import AskalikeError
from askalike.labels.splits import load_split
from askalike.rankers import Ranker, Searcher
from askalike.store import Archive
from askalike.tuning.state import Budget, format_duration
from askalike.tuning.task import TuningTask

PROBE_QUERIES = 20
"""The number of queries used to measure the speed of a searcher."""
PROBE_DEPTH = 100
USES = 2
"""The number of uses to calibrate for: whole questions, and titles as people type them."""


def calibrate_served(
    archive: Archive, ranker: Ranker, searcher: Searcher, task: TuningTask, budget: Budget, *, is_label_trained: bool
) -> tuple[CalibrationReport | None, str | None]:
    """Calibrate the active ranker. Return the report, or None and why it is not calibrated.

    A ranker with a part that has learned from labels is calibrated only on the test part.
    """
    if task.held_out_calibration_split is None or task.full_calibration_split is None:
        return None, "the archive has no duplicate labels"
    split_name = task.held_out_calibration_split if is_label_trained else task.full_calibration_split
    needed_s = _estimate_s(archive, searcher, task, split_name) if budget.total_remaining_s > 0 else 0.0
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


def _estimate_s(archive: Archive, searcher: Searcher, task: TuningTask, split_name: str) -> float:
    """Estimate the seconds to rank the split's queries for each use from the time of a few queries."""
    queries = dict(list(task.dev.queries.items())[:PROBE_QUERIES])
    started = time.monotonic()
    rankers.rank(searcher, queries, PROBE_DEPTH)
    query_s = (time.monotonic() - started) / len(queries)
    return query_s * min(len(load_split(archive, split_name).qrels), MAX_QUERIES) * USES
