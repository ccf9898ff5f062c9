"""What the decisions on the first pairs of the queue teach about the next ones, by known labels as decisions, as JSON.

    python experiments/decisions.py beer ai cs qatar askubuntu -o experiments/reports/decisions.json

The archives and the judgements are those of `experiments/pairs.py`. A pair that nobody has read is right if the
archive's labels put both questions into one cluster, wrong if into two, and otherwise left out. The pairs are decided
20 at a time, the most similar first, as in the queue. Of the next 20 the report has how many are right, how many would
be if only accepted pairs spared questions about others, and how many the probabilities expect to be, before any
decision and after those so far.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice, product
from pathlib import Path

from pairs import find, read_judged

from askalike.evaluation.intervals import BinomialProportion
from askalike.moderation.pairs import PairCurve
from askalike.store import Archive
from askalike_research.experiments.provenance import collect_provenance

STEP, MAX_ASKED = 20, 80
Decision = tuple[tuple[str, str], bool]
"""A pair, and whether both ask the same."""


def replay(path: Path, judged: Mapping[tuple[str, str], tuple[bool, bool]]) -> Iterator[dict[str, object]]:
    """Yield, for each 20 pairs after the first ones, what was expected of them and how many are right."""
    pairs, size, names = find(path)
    labels = {pair: names[pair[0]] == names[pair[1]] for pair in pairs if names.keys() >= set(pair)}
    labels |= {pair: right for pair, (right, _) in judged.items()}
    order = [(pair, labels[pair]) for pair in sorted(pairs, key=lambda pair: (-pairs[pair], pair)) if pair in labels]
    asked, without = ([*islice(ask(order, infers), MAX_ASKED)] for infers in (True, False))
    for start in range(STEP, len(asked) - STEP + 1, STEP):
        following = asked[start : start + STEP]
        decided = [(pairs[pair], right) for pair, right in asked[:start]]
        curves = {"before": PairCurve(size), "after": PairCurve(size).learn(decided)}
        yield {
            "decisions": start,
            "right": asdict(BinomialProportion(sum(right for _, right in following), STEP)),
            "right_if_no_rejection_follows": sum(right for _, right in without[start : start + STEP]),
            "expected": {
                name: sum(curve.probability(pairs[pair]) for pair, _ in following) for name, curve in curves.items()
            },
        }


def ask(order: Sequence[Decision], infers: bool) -> Iterator[Decision]:
    """Yield the pairs that the queue asks, each with its decision: those that do not follow from the ones before.

    infers: whether also those follow from which a rejected pair is separated only by accepted ones.
    """
    cluster: dict[str, set[str]] = {id: {id} for pair, _ in order for id in pair}
    apart: set[frozenset[str]] = set()
    for (one, other), right in order:
        first, second = cluster[one], cluster[other]
        if first is second or (infers and any(frozenset(pair) in apart for pair in product(first, second))):
            continue
        if right:
            first |= second
            cluster |= dict.fromkeys(second, first)
        else:
            apart.add(frozenset((one, other)))
        yield (one, other), right


def main() -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    judged = read_judged()
    report = []
    for path in options.archives:
        with Archive.open(path) as archive:
            provenance = collect_provenance(archive, shlex.join(["python", "experiments/decisions.py", *sys.argv[1:]]))
        report.append({"archive": path.name, "steps": list(replay(path, judged[path.name])), "provenance": provenance})
    options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
