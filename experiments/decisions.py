"""What the decisions on the first pairs of the queue teach about the next ones, by known labels as decisions, as JSON.

    python experiments/decisions.py beer ai cs -o experiments/reports/decisions.json

The archives and the judgements are those of `experiments/pairs.py`; a known duplicate is right, too, and pairs without
a label are left out. The pairs are decided 20 at a time, the most similar first, as in the queue. Of the next 20 the
report has how many are right, and how many the probabilities expect to be, before any decision and after those so far.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from pairs import find, read_judged

from askalike.evaluation.intervals import BinomialProportion
from askalike.moderation.pairs import PairCurve
from askalike.store import Archive
from askalike_research.experiments.provenance import collect_provenance

STEP = 20


def replay(path: Path, judged: Mapping[tuple[str, str], tuple[bool, bool]]) -> Iterator[dict[str, object]]:
    """Yield, for each 20 pairs after the first ones, what was expected of them and how many are right."""
    pairs, size, links = find(path)
    labels = dict.fromkeys(links, True) | {pair: right for pair, (right, _) in judged.items()}
    decided = [(pairs[pair], labels[pair]) for pair in sorted(pairs, key=lambda pair: -pairs[pair]) if pair in labels]
    for start in range(STEP, len(decided) - STEP + 1, STEP):
        following = decided[start : start + STEP]
        curves = {"before": PairCurve(size), "after": PairCurve(size).learn(decided[:start])}
        yield {
            "decisions": start,
            "right": asdict(BinomialProportion(sum(right for _, right in following), STEP)),
            "expected": {
                name: sum(curve.probability(similarity) for similarity, _ in following)
                for name, curve in curves.items()
            },
        }


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
