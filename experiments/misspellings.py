"""Results of a ranker for queries with one or two synthetic misspellings, with and without spelling correction.

python experiments/misspellings.py ARCHIVE SPLIT RANKER [KEY=VALUE …]

Queries are titles, as people type them. SPLIT may be `titles`: every question's own title, which should find it.
"""

import random
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from askalike import rankers
from askalike.core.config import parse_assignments
from askalike.core.types import Qrels, Question
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.trec import separate_ties
from askalike.labels.splits import load_split
from askalike.store.archive import Archive
from askalike.text.typos import misspell

MEASURES = ("Success@1", "Success@5", "Success@10", "RR")
SEED = 1


def main(directory: str, split: str, ranker: str, *values: str) -> None:
    """Print a line for each number of misspelt words."""
    with Archive.open(Path(directory)) as archive:
        searcher = rankers.open_current(
            rankers.create(ranker, parse_assignments(list(values)), archive), archive.view()
        )
        queries, qrels = read_titles(archive) if split == "titles" else read_split(archive, split)
        for count in (0, 1, 2):
            rng = random.Random(SEED)
            typed = {id: replace(query, title=misspell(query.title, count, rng)) for id, query in queries.items()}
            result = evaluate(separate_ties(rankers.rank(searcher, typed, 100)), qrels, MEASURES, "trec_eval")
            means = "  ".join(f"{measure} {100 * result.means[measure]:.1f}" for measure in MEASURES)
            print(f"{count} misspelt: n {result.n}  {means}")


def read_split(archive: Archive, split: str) -> tuple[Mapping[str, Question], Qrels]:
    """Return the titles of a split's queries, and its judgements."""
    labels = load_split(archive, split)
    return {id: replace(query, body="") for id, query in labels.queries.items()}, labels.qrels


def read_titles(archive: Archive) -> tuple[Mapping[str, Question], Qrels]:
    """Return the title of every question under another id, as a query that should find the question."""
    questions = [question for _, question in archive.view().questions()]
    queries = {f"title of {q.id}": Question(f"title of {q.id}", q.title) for q in questions}
    return queries, {query: {question.id: 1} for query, question in zip(queries, questions, strict=True)}


if __name__ == "__main__":
    main(*sys.argv[1:])
