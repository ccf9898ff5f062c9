"""What votes add to the default ranker, and from how many known duplicates on they can be chosen by these, as JSON.

    python experiments/votes.py beer ai cs -o experiments/reports/votes.json

The archives are dumps of Stack Exchange sites with votes. The default ranker's first 100 hits are ordered again by
their score plus a weight times the logarithm of their votes, 1 for 100 votes. The queries are the duplicates, whole and
by their titles, whose originals are right, and 300 questions by the first 60 % of their titles, which are right
themselves. No link is read but to judge. `chosen` draws some of the duplicates 1,000 times: the weight that is best for
these, if it is better by two standard errors, is measured on the others.
"""

import argparse
import json
import math
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike import rankers
from askalike.core.records import Question
from askalike.store import Archive, View
from askalike_research.experiments.provenance import collect_provenance

WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4)
DEPTH, KNOWN, DRAWS = 100, 300, 1_000
SIZES = (10, 20, 30, 50, 75, 100, 150)
MEASURES = ("nDCG@10", "Success@1", "Success@5")
Queries = Mapping[str, tuple[Question, frozenset[int]]]
"""Query id → the query, and the docids that are right."""


def make_sets(view: View) -> Iterator[tuple[str, Queries]]:
    """Yield the name and the queries of each set."""
    questions = {question.id: question for _, question in view.questions()}
    docids = view.docids(questions)
    originals: dict[str, set[int]] = {}
    for link in view.links():
        if link.kind == "duplicate" and link.source in docids and link.target in docids:
            originals.setdefault(link.source, set()).add(docids[link.target])
    right = {id: frozenset(found) for id, found in originals.items()}
    yield "duplicates", {id: (questions[id], own) for id, own in right.items()}
    titles = {id: Question(id, questions[id].title) for id in right}
    yield "titles of duplicates", {id: (titles[id], own) for id, own in right.items()}
    drawn = np.random.default_rng(0).permutation(sorted(questions))[:KNOWN].tolist()
    typed = {id: Question(f" typed {id}", shorten(questions[id].title)) for id in drawn}
    yield "known titles, 60 % typed", {id: (typed[id], frozenset([docids[id]])) for id in drawn}


def shorten(title: str) -> str:
    """Return the first 60 % of a title's words, two at least."""
    words = title.split()
    return " ".join(words[: max(2, math.ceil(0.6 * len(words)))])


def measure(searcher: rankers.Searcher, queries: Queries) -> NDArray[np.float64]:
    """Return the measures of each query with each weight: (queries, weights, measures)."""
    found = rankers.search(searcher, {id: query for id, (query, _) in queries.items()}, DEPTH)
    votes = searcher.view.votes(found.distinct_docids)
    rows = []
    for (_, right), docids, scores in zip(queries.values(), found.docids, found.scores, strict=True):
        gains = np.log1p([max(votes.get(docid, 0), 0) for docid in docids.tolist()]) / math.log1p(100)
        orders = [docids[np.argsort(-(scores + weight * gains), kind="stable")].tolist()[:10] for weight in WEIGHTS]
        places = [next((place for place, docid in enumerate(own) if docid in right), 10) for own in orders]
        rows.append([(1 / math.log2(place + 2) if place < 10 else 0, place == 0, place < 5) for place in places])
    return np.array(rows, np.float64)


def choose(values: NDArray[np.float64]) -> list[dict[str, float]]:
    """Return for each number of duplicates how often votes are chosen, and what that adds on the others."""
    random = np.random.default_rng(0)
    report = []
    for size in (size for size in SIZES if size < len(values)):
        gains, chosen = [], 0
        for _ in range(DRAWS):
            order = random.permutation(len(values))
            seen, unseen = values[order[:size]], values[order[size:]]
            added = seen[:, :, 0] - seen[:, :1, 0]
            best = int(added.mean(axis=0).argmax())
            if added[:, best].mean() < 2 * added[:, best].std(ddof=1) / math.sqrt(size):
                best = 0
            chosen += best > 0
            gains.append((unseen[:, best] - unseen[:, 0]).mean(axis=0))
        added = dict(zip(MEASURES, np.mean(gains, axis=0).tolist(), strict=True))
        report.append({"duplicates": size, "chosen": chosen / DRAWS, **added})
    return report


def main() -> None:
    """Write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    report = []
    for path in options.archives:
        with Archive.open(path) as archive:
            searcher = rankers.open_current(rankers.create(None, None, archive), archive.view())
            sets = {name: measure(searcher, queries) for name, queries in make_sets(archive.view())}
            provenance = collect_provenance(archive, shlex.join(["python", "experiments/votes.py", *sys.argv[1:]]))
        weights = {
            name: {
                "n": len(values),
                "weights": {str(w): values[:, n].mean(axis=0).tolist() for n, w in enumerate(WEIGHTS)},
                "added_se": ((values - values[:, :1]).std(axis=0)[:, 0] / math.sqrt(len(values))).tolist(),
            }
            for name, values in sets.items()
        }
        chosen = {name: choose(values) for name, values in sets.items() if "duplicates" in name}
        report.append({"archive": path.name, "measures": MEASURES, "sets": weights, "chosen": chosen,
                       "provenance": provenance})  # fmt: skip
    options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
