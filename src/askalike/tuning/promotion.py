"""Puts a ranker into service where a paired test on held-out labels says that it is better than the one there."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from askalike import rankers
from askalike.encoders import MODEL_FILE
from askalike.encoders._recipe import list_recipes
from askalike.errors import SettingsError
from askalike.evaluation.comparison import SystemPair
from askalike.evaluation.measures import evaluate
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.significance import ALPHA, compare
from askalike.evaluation.trec import separate_ties
from askalike.experiments.measuring import rank_split
from askalike.labels.splits import labelled_splits, load_split, splits_to_hold_out
from askalike.rankers import MODELS_FOLDER, Ranker
from askalike.store import deployments as serving
from askalike.store.archive import Archive
from askalike.store.feedback import held_out_feedback_split
from askalike.types import Progress, Run, Split

DEFAULT_MEASURE = "Success@5"
MIN_QUERIES = 30
"""With fewer queries the test says nothing."""
DEPTH = 100


@dataclass(frozen=True, slots=True)
class Promotion:
    """What came of it. `links` and `feedback` are how many queries of each the rankers were compared on."""

    candidate: str
    before: str
    promoted: bool
    reason: str
    measure: str = DEFAULT_MEASURE
    split: str | None = None
    links: int = 0
    feedback: int = 0
    compared: SystemPair | None = None

    def as_dict(self) -> Mapping[str, Any]:
        """Everything but the single queries, for JSON."""
        told = asdict(self)
        if self.compared:
            told["compared"] = {key: value for key, value in told["compared"].items() if key != "differing"}
        return told


@dataclass(frozen=True, slots=True)
class _HeldOutQueries:
    """Queries that neither ranker has learned from: of a split, and of people's feedback."""

    split: str | None
    links: Split
    feedback: Split

    @property
    def n(self) -> int:
        return len(self.links.qrels) + len(self.feedback.qrels)

    def __str__(self) -> str:
        alone = "" if self.split else " (of feedback alone: no split was hidden from training)"
        return f"{self.n:,} held-out queries{alone}"


def promote(
    archive: Archive,
    name: str,
    settings: Mapping[str, Any] | None = None,
    *,
    measure: str = DEFAULT_MEASURE,
    force: bool = False,
    progress: Progress | None = None,
) -> Promotion:
    """Compares a ranker with the one in service and puts it there, or says in a sentence why not.

    It has to be significantly better (paired randomisation test over queries, two-sided, p < 0.05) on duplicate links
    and feedback that neither has learned from. `force` puts it there all the same. Raises SettingsError for a ranker or
    measure that is not known, or a network that is not trained.
    """
    candidate, before = rankers.create(name, settings, archive), rankers.create(None, {}, archive)
    if name in list_recipes() and name not in rankers.trained_model_names(archive.path):
        raise SettingsError(f"{name} is a recipe, not a model; train it first: askalike train {archive.path}")
    if (candidate.name, candidate.values) == (before.name, before.values):
        return Promotion(name, before.name, False, f"{name} with these settings is in service already", measure)
    kept = _held_out_queries(archive, (candidate, before))
    found = _compare_rankers(archive, candidate, before, kept, measure, progress) if kept.n >= MIN_QUERIES else None
    better = found is not None and found.difference > 0 and found.p < ALPHA
    reason = f"{_describe_comparison(name, before.name, found, kept, measure)}; {'serving it' if better or force else 'refused'}"
    if better or force:
        serving.serve_ranker(archive, name, settings or {}, reason)
    sizes = len(kept.links.qrels), len(kept.feedback.qrels)
    return Promotion(name, before.name, better or force, reason, measure, kept.split, *sizes, found)


def _compare_rankers(
    archive: Archive,
    candidate: Ranker,
    active: Ranker,
    held_out_queries: _HeldOutQueries,
    measure: str,
    progress: Progress | None,
) -> SystemPair:
    """The difference over all held-out queries."""
    splits = [known for known in (held_out_queries.links, held_out_queries.feedback) if known.queries]
    qrels = {query: grades for known in splits for query, grades in known.qrels.items()}

    hidden = splits_to_hold_out(archive, held_out_queries.split) if held_out_queries.split else ()

    def measured(ranker: Ranker) -> Evaluation:
        runs = [rank_split(archive, ranker, known, DEPTH, progress, hidden) for known in splits]
        run = Run({query: run.columns(query) for run in runs for query in run})
        return evaluate(separate_ties(run), qrels, [measure])

    return compare({"candidate": measured(candidate), "before": measured(active)}, measure).pairs[0]


def _describe_comparison(
    name: str, active_name: str, test_result: SystemPair | None, held_out_queries: _HeldOutQueries, measure: str
) -> str:
    """What the comparison says, but for what follows from it."""
    if test_result is None:
        return f"{name}: {held_out_queries} are too few to tell whether it is better than {active_name}, {MIN_QUERIES} are needed"
    points, low, high = 100 * test_result.difference, 100 * test_result.low, 100 * test_result.high
    better = test_result.difference > 0 and test_result.p < ALPHA
    return (
        f"{name}: {points:+.1f} points {measure} [{low:.1f}, {high:.1f}] over {active_name}, p = {test_result.p:.3f}, {held_out_queries}: "
        f"{'' if better else 'not '}significantly better"
    )


def _held_out_queries(archive: Archive, candidates: Sequence[Ranker]) -> _HeldOutQueries:
    """Of the splits that no trained model in these rankers has learned from the first, test splits before others."""
    folders = [
        archive.path / MODELS_FOLDER / name for ranker in candidates for name in _trained_models(archive, ranker)
    ]
    usable = [
        name for name in labelled_splits(archive) if all(_was_held_out(archive, folder, name) for folder in folders)
    ]
    usable.sort(key=lambda name: name.split("/")[-1] != "test")
    links = load_split(archive, usable[0]) if usable else Split({}, {})
    return _HeldOutQueries(usable[0] if usable else None, links, held_out_feedback_split(archive))


def _trained_models(archive: Archive, ranker: Ranker) -> set[str]:
    """The archive's trained models that a ranker is made of."""
    return {ranker.name, *ranker.values.get("parts", ())} & set(rankers.trained_model_names(archive.path))


def _was_held_out(archive: Archive, folder: Path, split_name: str) -> bool:
    """Whether a model was trained without seeing a split, and that split was not cut anew since."""
    description = folder / MODEL_FILE
    trained = tomllib.loads(description.read_text(encoding="utf-8")).get("trained", {})
    if split_name not in trained.get("hidden", ()):
        return False
    sql = "SELECT made_at FROM partitions WHERE name = ?"
    row = archive.connection.execute(sql, (split_name.partition("/")[0],)).fetchone()
    if row is None:
        return True
    cut_at = datetime.fromisoformat(row[0])
    return (cut_at if cut_at.tzinfo else cut_at.replace(tzinfo=UTC)).timestamp() <= description.stat().st_mtime
