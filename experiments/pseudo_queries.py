"""Is the same ranker chosen on pseudo-queries as on labels? A table over archives.

python experiments/pseudo_queries.py ARCHIVE:SPLIT …

The default ranker is the incumbent, as in `askalike tune`. For labels and for each source: the ranker that replaces it,
and its gain on labels in points of nDCG@10 over the incumbent. Last, for each source: how often its verdict on a single
ranker (better, worse, no difference) agrees with the labels. Use only splits that may be used for choosing.
"""

import sys
from collections.abc import Mapping
from typing import Any

from askalike.core.errors import ArchiveError
from askalike.core.types import Split
from askalike.experiments.measuring import RankingTask
from askalike.experiments.trials import Trial, TrialEvaluator
from askalike.labels.splits import load_split
from askalike.rankers import active_ranker
from askalike.store.archive import Archive
from askalike.tuning.task import make_pseudo_queries
from askalike.tuning.verdict import PairedDifference, paired_difference

MEASURE = "nDCG@10"
WORDS, VECTORS = "lm_jelinek_mercer", "static"
PARTS = {"parts": [WORDS, VECTORS]}
MAX_LABELLED = 1_000
Differences = Mapping[str, PairedDifference]


def main(*places: str) -> None:
    """Print the choices on labels and pseudo-queries for each archive, and how often they agree."""
    agreements: dict[str, list[bool]] = {}
    for place in places:
        path, split = place.split(":")
        with Archive.open(path) as archive:
            labels = load_split(archive, split)
            truth = compare_rankers(archive, labels)
            print(f"{place}: n = {len(labels.qrels)}, labels choose {format_choice(truth, truth)}", flush=True)
            print("    " + ", ".join(f"{name} {100 * d.mean:+.1f}{mark(d)}" for name, d in truth.items()))
            for pseudo in make_pseudo_queries(archive):
                differences = compare_rankers(archive, pseudo.dev, pseudo.fixed)
                print(f"  {pseudo.name}: {format_choice(differences, truth)}", flush=True)
                print("    " + ", ".join(f"{name} {100 * d.mean:+.1f}{mark(d)}" for name, d in differences.items()))
                agreements.setdefault(pseudo.name, []).extend(mark(differences[n]) == mark(truth[n]) for n in truth)
    for name, agreed in agreements.items():
        print(f"{name}: {sum(agreed)} of {len(agreed)} verdicts are those of labels")


def candidates() -> Mapping[str, Trial]:
    """Return short name → ranker."""
    fused = {
        f"hybrid {words}:{vectors}": Trial("hybrid", {**PARTS, "weights": [words, vectors]})
        for words, vectors in ((4.0, 1.0), (1.0, 1.0), (1.0, 4.0))
    }
    return {"words": Trial(WORDS), "bm25": Trial("bm25"), "vectors": Trial(VECTORS), **fused}


def compare_rankers(archive: Archive, labels: Split, fixed: Mapping[str, Any] | None = None) -> Differences:
    """Return ranker → its difference to the default ranker on at most MAX_LABELLED queries."""
    ids = sorted(labels.qrels)[:MAX_LABELLED]
    split = Split({id: labels.queries[id] for id in ids}, {id: labels.qrels[id] for id in ids}, labels.candidates)
    evaluator = TrialEvaluator(RankingTask(archive), {"dev": split}, (MEASURE,), fixed=fixed)
    incumbent, *others = evaluator.evaluate_trials([Trial(*active_ranker(None)), *candidates().values()])
    return {n: paired_difference(own[MEASURE], incumbent[MEASURE]) for n, own in zip(candidates(), others, strict=True)}


def mark(difference: PairedDifference) -> str:
    """Return a star for significantly better, a minus for significantly worse."""
    return "*" if difference.better else "-" if difference.p < 0.05 else ""


def format_choice(differences: Differences, truth: Differences) -> str:
    """Return the best ranker that is significantly better, and its difference on labels."""
    better = {name: d.mean for name, d in differences.items() if d.better}
    if not better:
        return "the incumbent"
    name = max(better, key=lambda name: better[name])
    return f"{name} ({100 * truth[name].mean:+.1f} [{100 * truth[name].low:+.1f}, {100 * truth[name].high:+.1f}])"


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except ArchiveError as error:
        sys.exit(str(error))
