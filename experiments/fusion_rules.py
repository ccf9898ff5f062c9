"""Rules for words beside an encoder: what does each lose against the better of words alone and vectors alone?

python experiments/fusion_rules.py dump ENCODER[,KEY=VALUE …] ARCHIVE SPLIT FILE
python experiments/fusion_rules.py table FILE …

The first writes the scores of both parts for the pools of a split's queries, the second compares rules on them: for
each file @1, @10 and AP of words, of vectors, of the weighted sum, and of the rule of HybridSearcher with other powers.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from askalike import rankers
from askalike.core.config import parse_assignments
from askalike.labels.splits import load_split
from askalike.rankers._ranking import find_pools, resolve
from askalike.rankers.hybrid import HybridSearcher
from askalike.store.archive import Archive

WEIGHT = 0.25
POWERS = [(power, evidence) for power in (5, 6, 7, 8) for evidence in (1, 2, 3)]
Rule = Callable[[np.ndarray, np.ndarray], np.ndarray]


def dump(encoder: str, path: str, split: str, file: str) -> None:
    """Write for each query the docids of its pool, both parts' absolute scores, and the relevant docids."""
    name, *values = encoder.split(",")
    own = {f"{name}.{key}": value for key, value in parse_assignments(values).items()}
    settings = {"parts": ["lm_jelinek_mercer", name], "rephrasings": not split.startswith("rephrasings"), **own}
    with Archive.open(Path(path)) as archive:
        labels = load_split(archive, split)
        searcher = rankers.open_current(rankers.create("hybrid", settings, archive), archive.view())
        assert isinstance(searcher, HybridSearcher)
        queries = resolve(searcher, labels.queries)
        if labels.candidates:
            pools = find_pools(searcher.view, queries, labels.candidates)
            parts = [part.score(queries, pools) for part in searcher.parts]
        else:
            parts = searcher.retrieve_parts(queries, 200)
        relevant = archive.view().docids(
            {id for row in labels.qrels.values() for id, grade in row.items() if grade > 0}
        )
    wanted = [[relevant[id] for id, grade in labels.qrels[query].items() if grade > 0 and id in relevant]
              for query in labels.queries]  # fmt: skip
    scores = [np.concatenate([np.nan_to_num(own) for own in part.absolute or ()]) for part in parts]
    np.savez(
        file, docids=np.concatenate(parts[0].docids), words=scores[0], vectors=scores[1],
        sizes=np.array([len(own) for own in parts[0].docids]), relevant=np.concatenate(wanted),
        relevant_sizes=np.array([len(own) for own in wanted]), has_candidates=bool(labels.candidates),
    )  # fmt: skip


def measure(file: str, rule: Rule) -> np.ndarray:
    """Return @1, @10 and AP in per cent."""
    data, found = np.load(file), []
    ends, relevant_ends = np.cumsum(data["sizes"])[:-1], np.cumsum(data["relevant_sizes"])[:-1]
    columns = (np.split(data[name], ends) for name in ("docids", "words", "vectors"))
    for docids, words, vectors, wanted in zip(*columns, np.split(data["relevant"], relevant_ends), strict=True):
        if len(wanted):
            order = np.lexsort((docids, -np.round(rule(words, vectors), 6)))
            places = np.flatnonzero(np.isin(docids[order], wanted))
            precision = ((np.arange(len(places)) + 1) / (places + 1)).sum() / min(len(wanted), 200)
            found.append(((places < 1).any(), (places < 10).any(), precision))
    return 100 * np.mean(found, axis=0)


def weighted(words: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return the weighted mean."""
    return (vectors + WEIGHT * words) / (1 + WEIGHT)


def evidence_rule(power: int, evidence: int) -> Rule:
    """Return the rule of HybridSearcher with other constants."""
    return lambda words, vectors: (
        1 - (1 - np.clip(weighted(words, vectors), 0, 1)) * (1 - np.clip(words, 0, 1) ** power) ** evidence
    )


def table(*files: str) -> None:
    """Print a row for each file, and the greatest loss of each rule."""
    losses = {}
    rules: dict[str, Rule] = {"sum": weighted, **{f"{p}, {e}": evidence_rule(p, e) for p, e in POWERS}}
    for file in files:
        words, vectors = measure(file, lambda words, _: words), measure(file, lambda _, vectors: vectors)
        compared = slice(2, 3) if np.load(file)["has_candidates"] else slice(0, 3)
        results = {name: measure(file, rule) for name, rule in rules.items()}
        for name, own in results.items():
            losses[file, name] = float((own - np.maximum(words, vectors))[compared].min())
        shown = (words, vectors, results["sum"], results["7, 3"])
        cells = " | ".join("/".join(f"{value:.1f}" for value in row) for row in shown)
        print(f"| {Path(file).stem} | {cells} | {min(0.0, losses[file, '7, 3']):.1f} |")
    for name in rules:
        print(f"{name}: worst {min(losses[file, name] for file in files):+.1f}")


if __name__ == "__main__":
    {"dump": dump, "table": table}[sys.argv[1]](*sys.argv[2:])
