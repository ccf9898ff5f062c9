"""SCQA with random weights beside the cosine of its input, the letter trigrams: what the network's sizes lose.

python experiments/untrained_scqa.py ARCHIVE SPLIT [SIZES ...]

Ranks titles: each query's candidates (`yahoo-scqa.toml` says how) or, without candidates, all questions. SIZES: a
network's settings in JSON, such as '{"pool": 1, "filters": [16]}'. Prints the mean average precision and the mean
reciprocal rank, by three seeds of the weights, and writes the input's own run, `trigrams.trec`.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from numpy.typing import NDArray

from askalike import Archive, Question, Run, Split, evaluate, load_split, write_run
from askalike.plugin.features import RaggedArray
from askalike_learning.features.trigrams import TrigramFeatures, TrigramSettings
from askalike_learning.papers.scqa import ScqaNetwork, ScqaNetworkSettings

SEEDS = (1, 2, 3)
MEASURES = ("AP", "RR")
DEPTH = 100
TEXTS_PER_BATCH = 256
Vectors = NDArray[np.float32]


def main(folder: str, name: str, *sizes: str) -> None:
    """Print the input's value, then that of each network."""
    with Archive.open(Path(folder)) as archive:
        split = load_split(archive, name)
        view = archive.view()
        ids = {id for ids in (split.candidates or {}).values() for id in ids}
        documents = view.get_questions(ids) if ids else {question.id: question for _, question in view.questions()}
    for trigrams in (0, TrigramSettings().trigrams):
        features = TrigramFeatures.from_texts(TrigramSettings(trigrams=trigrams, fields="title"), documents.values())
        size = len(features.tokens)
        own = rank(split, documents, features, partial(multi_hot, size))
        print(f"{size} rows: input {describe([own], split)}", flush=True)
        for settings in map(json.loads, sizes):
            runs = [rank(split, documents, features, create_network(settings, size, seed)) for seed in SEEDS]
            print(settings, describe(runs, split), flush=True)
    write_run(own, Path("trigrams.trec"), "trigrams")


def describe(runs: Sequence[Run], split: Split) -> str:
    """Return the mean of each measure over the runs, and the runs' own values."""
    means = [evaluate(run, split.qrels, MEASURES).means for run in runs]
    columns = {measure: [each[measure] for each in means] for measure in MEASURES}
    return ", ".join(f"{m} {mean(own):.4f} ({' '.join(f'{v:.4f}' for v in own)})" for m, own in columns.items())


def rank(
    split: Split, documents: Mapping[str, Question], features: TrigramFeatures, encode: Callable[[RaggedArray], Vectors]
) -> Run:
    """Return the first hits by the cosine of vectors, among each query's candidates if it has any."""
    ids = np.array(list(documents))
    rows = {id: n for n, id in enumerate(documents)}
    vectors = normalise(encode(features.encode(documents.values())))
    queries = normalise(encode(features.encode(split.queries.values())))
    columns = {}
    for query, vector in zip(split.queries, queries, strict=True):
        own = split.candidates and [rows[id] for id in split.candidates[query]]
        pool = np.array(own) if own else np.flatnonzero(ids != split.queries[query].id)
        scores = vectors[pool] @ vector
        order = np.argsort(-scores, kind="stable")[:DEPTH]
        columns[query] = (ids[pool[order]].tolist(), scores[order].astype(np.float64))
    return Run(columns)


def normalise(vectors: Vectors) -> Vectors:
    """Return the vectors with length 1; zeros stay."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


def multi_hot(size: int, rows: RaggedArray) -> Vectors:
    """Return the texts as vectors of 0 and 1."""
    vectors = np.zeros((len(rows.lengths), size), np.float32)
    for vector, start, length in zip(vectors, rows.starts[: len(vectors)], rows.lengths, strict=True):
        vector[rows.values[start : start + length]] = 1
    return vectors


def create_network(settings: Mapping[str, object], size: int, seed: int) -> Callable[[RaggedArray], Vectors]:
    """Return the encoding of texts by a network with random weights."""
    torch.manual_seed(seed)
    network = ScqaNetwork(ScqaNetworkSettings(**settings), size).eval()

    @torch.no_grad()
    def encode(rows: RaggedArray) -> Vectors:
        numbers = np.array_split(np.arange(len(rows.lengths)), len(rows.lengths) // TEXTS_PER_BATCH + 1)
        batches = ({k: torch.from_numpy(v) for k, v in rows.batch(some).items()} for some in numbers)
        return np.concatenate([network(batch)[0].numpy() for batch in batches])

    return encode


if __name__ == "__main__":
    main(*sys.argv[1:])
