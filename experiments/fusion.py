"""How much worse is a hybrid than the better of its parts? A table over archives, and a fusion chosen on the others.

python experiments/fusion.py PEOPLE ARCHIVE:ENCODER[:SPLIT] … > experiments/reports/fusion.json

The parts are lm_jelinek_mercer and the encoder. Asked are, of each archive, the split's titles and whole questions,
the lines in PEOPLE/colloquial.tsv, and of 200 own titles the first 60 % (as somebody types) and all with two slips. A
row has, for each measure, the hybrid's points above the better of its parts. Tried are weights of the words, and what
a document adds that has nearly all words of the query (power and exponent of `gain_of_evidence`). For each archive,
the fusion is shown that all others choose: the least harm, then the highest mean gain in AP; a set of fewer than 100
queries counts less. Use only splits that may be used for choosing.
"""

import json
import os
import random
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from shown import cut, read_people

from askalike import rankers
from askalike.core.arrays import Floats, Scores
from askalike.core.records import Question, Split
from askalike.evaluation.evaluate import evaluate
from askalike.labels.splits import load_split
from askalike.rankers._queries_and_results import resolve
from askalike.rankers._searcher import find_pools
from askalike.rankers.hybrid import LEXICAL_EVIDENCE, HybridSearcher, gain_of_evidence
from askalike.store.archive import Archive
from askalike.text.typos import misspell
from askalike_research.experiments.provenance import collect_provenance

MEASURES = ("Success@1", "Success@10", "AP")
TITLES, SLIPS, FULL_WEIGHT = 200, 2, 100


class Fusion(NamedTuple):
    """A weighted mean of absolute scores, to which high lexical scores add something; nothing if `power` is 0."""

    lexical_weight: float
    power: int
    exponent: int

    def fuse(self, lexical: Scores, dense: Scores) -> Scores:
        """Return the documents' scores."""
        mean = (self.lexical_weight * lexical + dense) / (self.lexical_weight + 1)
        return mean + gain_of_evidence(mean, lexical, self.power, self.exponent) if self.power else mean


NOW = Fusion(0.25, 7, LEXICAL_EVIDENCE)
WEIGHTS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7)
FUSIONS = [Fusion(weight, 0, 0) for weight in WEIGHTS]
FUSIONS += [Fusion(*row) for row in product(WEIGHTS, (5, 7, 10), (2, 3, 4))]
Gains = Mapping[Fusion, list[float]]


class QuerySet(NamedTuple):
    """A kind of query to an archive, with what each fusion gains over the better part."""

    archive: str
    kind: str
    queries: int
    gains: Gains


def main(people: str, *places: str) -> None:
    """Write the rows as a JSON list, one in each line."""
    names = [f"{os.path.basename(path)}:{rest}" for path, _, rest in (place.partition(":") for place in places)]
    command = shlex.join(["python", "experiments/fusion.py", os.path.basename(people), *names])
    sets, provenance = [], {}
    for place in places:
        path, encoder, *splits = place.split(":")
        with Archive.open(Path(path)) as archive:
            sets += [*measure(archive, encoder, Path(people), *splits)]
            provenance[archive.path.name] = collect_provenance(archive, command)
    rows = []
    for one in sets:
        chosen = choose([other for other in sets if other.archive != one.archive])
        own = {"archive": one.archive, "kind": one.kind, "n": one.queries, "measures": MEASURES}
        gains = {"now": one.gains[NOW], "others choose": chosen, "chosen by others": one.gains[chosen]}
        rows.append({**own, **gains, "provenance": provenance[one.archive]})
        print({**own, **gains}, file=sys.stderr, flush=True)
    print("[", ",\n".join(map(json.dumps, rows)), "]", sep="\n")


def choose(sets: list[QuerySet]) -> Fusion:
    """Return the fusion with the least harm, in half points, and of these with the highest mean gain in AP."""

    def value(fusion: Fusion) -> tuple[int, float]:
        counts = [min(1.0, one.queries / FULL_WEIGHT) for one in sets]
        harms = [count * min(0.0, *one.gains[fusion]) for count, one in zip(counts, sets, strict=True)]
        gains = [count * one.gains[fusion][-1] for count, one in zip(counts, sets, strict=True)]
        return round(2 * min(harms)), float(np.mean(gains))

    return max(FUSIONS, key=value)


def measure(archive: Archive, encoder: str, people: Path, split: str = "") -> Iterator[QuerySet]:
    """Yield each kind of query with its gains."""
    settings = {"parts": ["lm_jelinek_mercer", encoder], "rephrasings": "rephrasings" not in split}
    searcher = rankers.open_current(rankers.create("hybrid", settings, archive), archive.view())
    assert isinstance(searcher, HybridSearcher)
    for kind, labels in collect(archive, people, split):
        if labels.queries:
            yield QuerySet(
                archive.path.name, kind, len(labels.queries), measure_gains(searcher, labels, kind == "half")
            )


def collect(archive: Archive, people: Path, split: str) -> Iterator[tuple[str, Split]]:
    """Yield the name of each kind of query, and its labels."""
    if split:
        labels = load_split(archive, split)
        titles = {id: Question(id, one.title) for id, one in labels.queries.items()}
        yield "title", replace(labels, queries=titles)
        if any(one.body for one in labels.queries.values()):
            yield "whole", labels
    view = archive.view()
    language = view.language or max(view.languages, default="en")
    colloquial = read_people(people, archive.path.name.partition("-")[0], language)
    yield "colloquial", label([(one.text, *one.relevant) for one in colloquial])
    titles_of = [(title, id) for _, id, title in view.titles() if title]
    drawn = random.Random(0).sample(titles_of, min(TITLES, len(titles_of)))
    yield "half", label([(cut(title), id) for title, id in drawn])
    slips = random.Random(0)
    yield "slips", label([(misspell(title, SLIPS, slips), id) for title, id in drawn])


def label(rows: list[tuple[str, ...]]) -> Split:
    """Return texts as queries, each with the id of the question that it should find."""
    queries = {f"query {n}": Question(f"query {n}", text) for n, (text, _) in enumerate(rows)}
    return Split(queries, {f"query {n}": {id: 1} for n, (_, id) in enumerate(rows)})


def measure_gains(searcher: HybridSearcher, labels: Split, prefix: bool) -> Gains:
    """Return for each fusion the points above the better part, by measure. Pools are those of a search."""
    resolved = resolve(searcher, labels.queries, prefix)
    if labels.candidates:
        pools = find_pools(searcher.view, resolved, labels.candidates)
        parts = [part.score(resolved, pools) for part in searcher.parts]
    else:
        parts = searcher.retrieve_parts(resolved, searcher.depth)
    ids = [searcher.view.ids_of(docids.tolist()) for docids in parts[0].docids]
    pairs = [np.nan_to_num([part.absolute[row] for part in parts if part.absolute]) for row in range(len(ids))]

    def means(scores: list[Scores]) -> Floats:
        rows = zip(labels.queries, ids, scores, strict=True)
        run = {query: dict(zip(map(str, own), row.tolist(), strict=True)) for query, own, row in rows}
        for query, hits in run.items():
            hits.pop(query, None)  # an archive's own question does not find itself
        result = evaluate(run, labels.qrels, MEASURES)
        return np.array([100 * result.means[name] for name in MEASURES])

    better = np.maximum(means([pair[0] for pair in pairs]), means([pair[1] for pair in pairs]))
    return {fusion: (means([fusion.fuse(*pair) for pair in pairs]) - better).round(2).tolist() for fusion in FUSIONS}


if __name__ == "__main__":
    main(*sys.argv[1:])
