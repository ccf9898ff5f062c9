"""Outcomes of real rankers on a small archive, for tests of what is written about them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from askalike import rankers
from askalike.archive.check import check
from askalike.archive.splits import split
from askalike.archive.store import Archive
from askalike.evaluation.measures import evaluate
from askalike.evaluation.significance import compare
from askalike.evaluation.trec import separated
from askalike.experiment.outcome import Outcome, System, Trial
from askalike.types import Question, Split

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
) -> Outcome:
    """Systems by label, each a ranker and settings for every seed, measured on (some queries of) a split."""
    with Archive.open(directory) as archive:
        labels = _first(split(archive, split_name), queries)
        measured = [_system(archive, label, seeds, labels) for label, seeds in systems.items()]
        typing = {s.label: _typed(archive, s, labels) for s in measured}
        findings = check(archive)
    evaluations = {s.label: [t.evaluation for t in s.trials.values()] for s in measured}
    pairs = {m: compare(evaluations, m) for m in MEASURES} if len(measured) > 1 else {}
    return Outcome(
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


def _first(labels: Split, n: int | None) -> Split:
    kept = dict(list(labels.queries.items())[:n])
    return Split(kept, {q: labels.qrels[q] for q in kept if q in labels.qrels}, labels.candidates)


def _system(archive: Archive, label: str, seeds: Sequence[tuple[str, dict[str, Any]]], labels: Split) -> System:
    trials = {}
    for seed, (name, settings) in enumerate(seeds):
        ranker = rankers.build(name, settings).index(archive.view())
        run = ranker.rank(labels.queries, 100, candidates=labels.candidates)
        trials[seed] = Trial(run, evaluate(separated(run), labels.qrels, MEASURES), 0.5)
    return System(label, seeds[0][0], seeds[0][1], trials)


def _typed(archive: Archive, system: System, labels: Split) -> dict[str, dict[str, float]]:
    ranker = rankers.build(system.ranker, system.settings).index(archive.view())
    values = {}
    for share in QUARTERS:
        asked = {q: Question(q, _part(question.title, share)) for q, question in labels.queries.items()}
        run = ranker.rank(asked, 5, prefix=True)
        values[str(share)] = dict(evaluate(run, labels.qrels, ["Success@5"]).means)
    return values


def _part(text: str, share: float) -> str:
    words = text.split()
    return " ".join(words[: max(1, round(share * len(words)))])
