"""How many of the pairs that `dedupe` proposes ask the same, by pairs that were read one by one, as JSON.

    python experiments/pairs.py qatar --distinct
    python experiments/pairs.py beer ai cs qatar askubuntu yahoo -o experiments/reports/pairs.json
    python experiments/pairs.py ai cs --fit

The archives are in folders of these names: dumps of the Stack Exchange sites beer, ai and cs; the related questions of
SemEval-2016 Task 3 (`import semeval`), without those that repeat another one word for word, which `--distinct` deletes;
the titles of Ask Ubuntu (`import beir`) and of Yahoo! Answers (`import pairs`).

`pairs.tsv` has ids and one judgement of each pair, by whether an answer to one question answers the other. Those of
the last three archives were read without their similarity or label. `vague` is not right: two titles of a symptom
whose causes may differ, such as *Update problem*. Of beer, ai and cs there are the pairs most similar by several
measures, among them the 50 most similar, and a sample of what `dedupe` proposed before it compared titles; of qatar all
pairs of a probability of at least 0.5 and some others; of yahoo and askubuntu samples. `askubuntu-limit` is an earlier
sample, whose 60 most probable pairs chose DEFAULT_PROBABILITY. `--fit` prints the curve over similarity and size of the
archive that fits the judgements best. Those of ai and cs gave the curve in `askalike.moderation.pairs`, and how much
answers weigh; the others had no part in them.
"""

import argparse
import csv
import json
import math
import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from askalike import rankers
from askalike.evaluation.intervals import BinomialProportion
from askalike.moderation.dedupe import DEFAULT_PROBABILITY
from askalike.moderation.pairs import PairCurve, PairValues, find_pairs, pair_key
from askalike.store import Archive, Clusters
from askalike_research.experiments.provenance import collect_provenance

JUDGED = Path(__file__).with_suffix(".tsv")
MOST_SIMILAR = 50
Judged = Mapping[str, Mapping[tuple[str, str], tuple[bool, bool]]]
"""Archive → pair → whether it asks the same, and whether it was proposed before titles were compared."""


def read_judged() -> Judged:
    """Read the judgements."""
    judged: dict[str, dict[tuple[str, str], tuple[bool, bool]]] = defaultdict(dict)
    with JUDGED.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            pair = pair_key(row["one"], row["other"])
            judged[row["archive"]][pair] = row["right"] == "1", row["before"] == "1"
    return judged


def delete_repeats(path: Path) -> None:
    """Delete the questions that repeat an earlier one word for word."""
    with Archive.open(path) as archive:
        first: dict[tuple[str, str], str] = {}
        questions = [question for _, question in archive.view().questions()]
        archive.delete([one.id for one in questions if first.setdefault((one.title, one.body), one.id) != one.id])


def find(path: Path) -> tuple[PairValues, int, Mapping[str, str]]:
    """Return the pairs of an archive by its own ranker, its number of questions, and their known clusters by id.

    Questions without a known duplicate have none.
    """
    with Archive.open(path) as archive:
        pairs = find_pairs(archive, rankers.create(None, None, archive))
        names = Clusters.read(archive).name_by_text
        present = {question.id for _, question in archive.view().questions()}
        sizes = Counter(names[id] for id in present & names.keys())
        return pairs, len(present), {id: names[id] for id in present & names.keys() if sizes[names[id]] > 1}


def measure(path: Path, judged: Mapping[tuple[str, str], tuple[bool, bool]]) -> dict[str, object]:
    """Return the shares of right pairs: of those proposed before, of those proposed now, and of the most similar ones.

    Only pairs that were read count. The recall is that of questions with a known duplicate.
    """
    pairs, size, names = find(path)
    curve = PairCurve(size)
    proposed = [pair for pair, value in pairs.items() if curve.probability(value) >= DEFAULT_PROBABILITY]
    read = [pair for pair in proposed if pair in judged]
    first = sorted(judged.keys() & pairs.keys(), key=lambda pair: -pairs[pair])[:MOST_SIMILAR]
    found = {id for pair in proposed for id in pair if names.get(pair[0], pair[0]) == names.get(pair[1], pair[1])}
    before = [right for right, was_proposed in judged.values() if was_proposed]
    with Archive.open(path) as archive:
        provenance = collect_provenance(archive, shlex.join(["python", "experiments/pairs.py", *sys.argv[1:]]))
    return {
        "archive": path.name,
        "questions": size,
        "proposed": len(proposed),
        "right": asdict(BinomialProportion(sum(judged[pair][0] for pair in read), len(read))),
        "expected": sum(curve.probability(pairs[pair]) for pair in read),
        "right_most_similar": asdict(BinomialProportion(sum(judged[pair][0] for pair in first), len(first))),
        "right_before": asdict(BinomialProportion(sum(before), len(before))),
        "known_duplicates": asdict(BinomialProportion(len(found), len(names))),
        "provenance": provenance,
    }


def fit(paths: Sequence[Path], judged: Judged) -> Sequence[float]:
    """Return the constant, the weight of similarity and that of log size by maximum likelihood."""
    rows, labels = [], []
    for path in paths:
        pairs, size, _ = find(path)
        for pair, (right, _) in judged[path.name].items():
            if pair in pairs:
                rows.append((1.0, pairs[pair], math.log(size)))
                labels.append(1 if right else -1)
    features, signs = np.array(rows), np.array(labels)
    solution = minimize(lambda weights: np.logaddexp(0, -signs * (features @ weights)).sum(), np.zeros(3))
    return [round(float(weight), 2) for weight in solution.x]


def main() -> None:
    """Write the report, or print the fitted curve."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="+", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--distinct", action="store_true", help="delete repeated questions first")
    options = parser.parse_args()
    judged = read_judged()
    if options.distinct:
        for path in options.archives:
            delete_repeats(path)
    if options.fit:
        print(fit(options.archives, judged))
    if options.output:
        report = [measure(path, judged[path.name]) for path in options.archives]
        options.output.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
