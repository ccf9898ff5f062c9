"""Outcomes of real rankers on a small archive, for tests of what is written about them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from askalike import rankers
from askalike.core.records import Question, Split
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.significance import compare
from askalike.evaluation.trec import separate_ties
from askalike.health import run_checks
from askalike.labels.splits import load_split
from askalike.store.archive import Archive
from askalike_research.experiments.outcome import ExperimentResult, SeedResult, SystemResult

MEASURES = ("Success@1", "Success@5", "AP")
TWO: Mapping[str, Sequence[tuple[str, dict[str, Any]]]] = {
    "bm25": [("bm25", {})],
    "jelinek": [("lm_jelinek_mercer", {})],
}
QUARTERS = (0.25, 0.5, 0.75, 1.0)


def outcome_of(
    directory: Path,
    folder: Path,
    systems: Mapping[str, Sequence[tuple[str, dict[str, Any]]]] = TWO,
    split_name: str = "rephrasings",
    queries: int | None = None,
    **more: Any,
) -> ExperimentResult:
    """Systems by label, each a ranker and settings for every seed, measured on (some queries of) a split."""
    with Archive.open(directory) as archive:
        labels = _first_queries(load_split(archive, split_name), queries)
        measured = [_system_result(archive, label, seeds, labels) for label, seeds in systems.items()]
        typing = {s.label: _typing_curve(archive, s, labels) for s in measured}
        findings = run_checks(archive)
    evaluations = {s.label: [t.evaluation for t in s.seed_results.values()] for s in measured}
    pairs = {m: compare(evaluations, m) for m in MEASURES} if len(measured) > 1 else {}
    return ExperimentResult(
        **{
            "title": "Lexical rankers on the Riverside desk",
            "folder": folder,
            "archive": directory,
            "split": split_name,
            "labels": labels,
            "measures": MEASURES,
            "rule": "trec_eval",
            "systems": measured,
            "comparisons": pairs,
            "findings": findings,
            "typing": typing,
            "provenance": {"versions": {"askalike": "0.1.0", "numpy": "2"}, "seeds": [0], "wall_time_s": 12.34},
            **more,
        }
    )


def _first_queries(labels: Split, n: int | None) -> Split:
    queries = dict(list(labels.queries.items())[:n])
    return Split(queries, {q: labels.qrels[q] for q in queries if q in labels.qrels}, labels.candidates)


def _system_result(
    archive: Archive, label: str, seeds: Sequence[tuple[str, dict[str, Any]]], labels: Split
) -> SystemResult:
    trials = {}
    for seed, (name, settings) in enumerate(seeds):
        ranker = rankers.open_current(rankers.create(name, settings), archive.view())
        run = rankers.rank(ranker, labels.queries, 100, candidates=labels.candidates)
        trials[seed] = SeedResult(run, evaluate(separate_ties(run), labels.qrels, MEASURES), 0.5)
    return SystemResult(label, seeds[0][0], seeds[0][1], trials)


def _typing_curve(archive: Archive, system: SystemResult, labels: Split) -> dict[str, dict[str, float]]:
    ranker = rankers.open_current(rankers.create(system.ranker, system.settings), archive.view())
    values = {}
    for share in QUARTERS:
        typed = {q: Question(q, _first_words(question.title, share)) for q, question in labels.queries.items()}
        run = rankers.rank(ranker, typed, 5, prefix=True)
        values[str(share)] = dict(evaluate(run, labels.qrels, ["Success@5"]).means)
    return values


def _first_words(text: str, share: float) -> str:
    words = text.split()
    return " ".join(words[: max(1, round(share * len(words)))])
