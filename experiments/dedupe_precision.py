"""How many questions with a known duplicate does `dedupe` find at a precision, in a sample of labelled questions?

python experiments/dedupe_precision.py ARCHIVE [SPLIT:CLUSTERS …]

The archive's active ranker, which must be calibrated, searches all questions with the sampled ones. Sampled: up to six
of each of CLUSTERS clusters of a split (seed 0; 0: all clusters); without a split, all labelled questions. A pair is
right if both are in one cluster. Found: of the sampled questions with a partner in the sample, those in a right pair
above the lowest threshold with that precision; and above 0.5, if a share of RATE of the questions has a duplicate.
"""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike.calibration.calibration import load_calibration
from askalike.calibration.features import CALIBRATION_DEPTH, HitFeatureExtractor
from askalike.core.iteration import chunks
from askalike.core.types import Question
from askalike.labels.splits import load_split
from askalike.moderation.pairs import Link, ProbableLinker
from askalike.rankers import Searcher, active_ranker, create, open_current, search
from askalike.store import Archive, Clusters

MOST_OF_CLUSTER = 6
MIN_PAIRS = 20  # with fewer, a precision means little
RATES = (0.05, 0.082, 0.12)
Pair = tuple[float, str, str]
Floats = NDArray[np.float64]


def main(path: str, *draws: str) -> None:
    """Print a line for each sample, and one for all of them together."""
    with Archive.open(Path(path)) as archive:
        texts = {question.id: question for _, question in archive.view().questions()}
        cluster_of = {id: name for id, name in Clusters.read(archive).visible_names.items() if id in texts}
        drawn = {draw: draw_questions(archive, cluster_of, draw) for draw in draws} or {"all": sorted(cluster_of)}
        if len(drawn) > 1:
            drawn["together"] = sorted({id for ids in drawn.values() for id in ids})
        ranker = create(*active_ranker(archive), archive)
        calibration = load_calibration(archive, ranker)
        if calibration is None:
            raise SystemExit(f"{path}: {ranker.name} is not calibrated; run: askalike calibrate {path}")
        linker = ProbableLinker(calibration)
        drawn_texts = [texts[id] for id in sorted({id for ids in drawn.values() for id in ids})]
        links = find_links(open_current(ranker, archive.view()), linker, drawn_texts)
        for name, ids in drawn.items():
            for rate in RATES:
                print(f"{name}: {describe(set(ids), links, linker, rate, cluster_of)}", flush=True)


def draw_questions(archive: Archive, cluster_of: Mapping[str, str], draw: str) -> list[str]:
    """Return the questions of a sample of a split's clusters."""
    split, count = draw.split(":")
    names = sorted({cluster_of[id] for id in load_split(archive, split).queries if id in cluster_of})
    rng = np.random.default_rng(0)
    if int(count):
        names = [names[place] for place in rng.permutation(len(names))[: int(count)]]
    members = defaultdict(list)
    for id in sorted(cluster_of):
        members[cluster_of[id]].append(id)
    return [members[name][place] for name in names for place in rng.permutation(len(members[name]))[:MOST_OF_CLUSTER]]


def find_links(searcher: Searcher, linker: ProbableLinker, questions: Sequence[Question]) -> list[Link]:
    """Return the links of some questions, as `dedupe` finds them."""
    extractor, links = HitFeatureExtractor(searcher.view.language), list[Link]()
    for chunk in chunks(questions, 512):
        batch = {q.id: q if linker.with_bodies else replace(q, body="") for q in chunk}
        links += linker.find(searcher, search(searcher, batch, CALIBRATION_DEPTH), extractor)[0]
    return links


def describe(
    ids: set[str], links: Iterable[Link], linker: ProbableLinker, rate: float, cluster_of: Mapping[str, str]
) -> str:
    """Return the results at precisions of 0.95 and 0.85 (with intervals over clusters) and at a probability of 0.5."""
    own = [link for link in links if link[0] in ids]
    pairs = sorted(linker.combine_at(rate, own).items(), key=lambda pair: (-pair[1], pair[0]))
    labelled = Labelled([(p, a, b) for (a, b), p in pairs if a in ids and b in ids], ids, cluster_of)
    even, rng = np.ones(len(labelled.names)), np.random.default_rng(0)
    draws = [rng.multinomial(len(even), even / len(even)).astype(float) for _ in range(200)]
    parts = [f"n {len(ids)}, {labelled.partnered.sum()} with a partner, rate {rate}"]
    for precision in (0.95, 0.85):
        low, high = np.quantile([labelled.found_at(precision, draw)[0] for draw in draws], [0.025, 0.975])
        share, count = labelled.found_at(precision, even)
        parts.append(f"at precision {precision} {share:.1f} % [{low:.1f}, {high:.1f}] of {count} pairs")
    likely = int(np.sum(labelled.probabilities >= 0.5))
    right = labelled.right[:likely].mean() if likely else np.nan
    return "; ".join(
        [*parts, f"at probability 0.5 {labelled.found(likely, even):.1f} %, precision {right:.3f} of {likely}"]
    )


class Labelled:
    """Pairs, most probable first, of questions with known clusters. weights: how often each cluster counts."""

    def __init__(self, pairs: Sequence[Pair], ids: set[str], cluster_of: Mapping[str, str]) -> None:
        place = {id: n for n, id in enumerate(sorted(ids))}
        self.names, self.clusters = np.unique([cluster_of[id] for id in place], return_inverse=True)
        self.partnered = np.bincount(self.clusters)[self.clusters] > 1
        self.probabilities = np.array([p for p, _, _ in pairs])
        self.first, self.second = np.array([(place[a], place[b]) for _, a, b in pairs], np.int64).reshape(-1, 2).T
        self.right = self.clusters[self.first] == self.clusters[self.second]

    def found_at(self, precision: float, weights: Floats) -> tuple[float, int]:
        """Return the share of questions found (in %), and the number of pairs needed."""
        a, b = weights[self.clusters[self.first]], weights[self.clusters[self.second]]
        count = np.where(self.right, a, a * b)
        precisions = np.cumsum(count * self.right) / np.maximum(np.cumsum(count), 1e-9)
        enough = np.flatnonzero((precisions >= precision) & (np.arange(len(count)) >= MIN_PAIRS))
        n = int(enough[-1]) + 1 if len(enough) else 0
        return self.found(n, weights), n

    def found(self, n: int, weights: Floats) -> float:
        """Return the share of questions with a partner that are in a right pair of the first n, in %."""
        right = np.zeros(len(self.clusters))
        for side in (self.first[:n], self.second[:n]):
            right[side[self.right[:n]]] = 1
        query_weights = weights[self.clusters] * self.partnered
        return float(100 * (right * query_weights).sum() / max(query_weights.sum(), 1e-9))


if __name__ == "__main__":
    main(*sys.argv[1:])
