"""SCQA with random weights beside the cosine of its input, the letter trigrams: what the network's sizes lose.

python experiments/untrained_scqa.py ARCHIVE SPLIT [SIZES ...]

ARCHIVE has a split with candidates (`yahoo-scqa.toml` says how). SIZES: a network's settings in JSON, such as
'{"pool": 1, "filters": [16]}'. Prints the mean average precision by three seeds of the weights.
"""

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from statistics import mean

import numpy as np
import torch
from numpy.typing import NDArray

from askalike import Archive, Question, Run, Split, evaluate, load_split
from askalike.plugin.features import RaggedArray
from askalike_learning.features.trigrams import TrigramFeatures, TrigramSettings
from askalike_learning.papers.scqa import ScqaNetwork, ScqaNetworkSettings

SEEDS = (1, 2, 3)
TEXTS_PER_BATCH = 256
Vectors = NDArray[np.float32]


def main(folder: str, name: str, *sizes: str) -> None:
    """Print the input's value, then that of each network."""
    with Archive.open(Path(folder)) as archive:
        split = load_split(archive, name)
        documents = archive.view().get_questions({id for ids in split.candidates.values() for id in ids})
    for trigrams in (TrigramSettings().trigrams, 0):
        features = TrigramFeatures.from_texts(TrigramSettings(trigrams=trigrams, fields="title"), documents.values())
        size = len(features.tokens)
        value = partial(measure, split, documents, features)
        print(f"{size} rows: input {value(partial(multi_hot, size)):.4f}", flush=True)
        for settings in map(json.loads, sizes):
            found = [value(create_network(settings, size, seed)) for seed in SEEDS]
            print(settings, *(f"{one:.4f}" for one in found), f"mean {mean(found):.4f}", flush=True)


def measure(
    split: Split, documents: Mapping[str, Question], features: TrigramFeatures, encode: Callable[[RaggedArray], Vectors]
) -> float:
    """Return the mean average precision of the cosines of vectors, over each query's candidates."""
    ids = list(documents)
    rows = {id: n for n, id in enumerate(ids)}
    vectors = normalise(encode(features.encode(documents.values())))
    queries = normalise(encode(features.encode(split.queries.values())))
    columns = {}
    for query, vector in zip(split.queries, queries, strict=True):
        candidates = split.candidates[query]
        scores = vectors[[rows[id] for id in candidates]] @ vector
        order = np.argsort(-scores, kind="stable")
        columns[query] = ([candidates[n] for n in order], scores[order].astype(np.float64))
    return evaluate(Run(columns), split.qrels, ["AP"]).means["AP"]


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
