"""Trains and measures a network by cross-validation on one split's queries; its weights are not kept.

python experiments/folds.py ARCHIVE SPLIT RUN.trec RECIPE [KEY=VALUE …]

Each of five folds is ranked by a network trained on the other four. Several such runs are measured together:
askalike compare RUN.trec RUN.trec --archive ARCHIVE --split SPLIT
"""

import sys
import tempfile
from pathlib import Path

from askalike import encoders, rankers
from askalike.core.config import parse_assignments
from askalike.core.types import Run
from askalike.evaluation.trec import write_run
from askalike.labels.partitions import create_partition
from askalike.labels.splits import load_split
from askalike.learning.recipes import Recipe
from askalike.learning.training_run import train_recipe
from askalike.rankers.dense import DenseRanker, DenseSettings
from askalike.store.archive import Archive

FOLDS = 5


def main(directory: str, name: str, path: str, recipe: str, *values: str) -> None:
    """Write the run of all folds."""
    chosen = Recipe.read(recipe, {"signals": "judgements", **parse_assignments(list(values))})
    columns = {}
    with Archive.open(Path(directory)) as archive, tempfile.TemporaryDirectory() as folder:
        create_partition(archive, "folds", {"folds": FOLDS}, source_split=name, name=f"{name}-folds")
        for number in range(1, FOLDS + 1):
            run = rank_fold(archive, f"{name}-folds/{number}", chosen, Path(folder) / f"fold{number}")
            columns |= {query: run.columns(query) for query in run}
    write_run(Run(columns), Path(path), recipe)


def rank_fold(archive: Archive, fold: str, recipe: Recipe, folder: Path) -> Run:
    """Rank the candidates of a fold's queries with a network trained on the other folds."""
    train_recipe(archive.view(held_out_splits=[fold]), recipe, folder)
    ranker = DenseRanker(encoders.open_encoder(folder), DenseSettings(fields=recipe.features.fields), "folds")
    labels, view = load_split(archive, fold), archive.view()
    run = rankers.rank(rankers.open_current(ranker, view), labels.queries, 100, candidates=labels.candidates)
    rankers.delete_indexes(ranker, view)
    return run


if __name__ == "__main__":
    main(*sys.argv[1:])
