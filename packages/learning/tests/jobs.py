"""A small training job."""

import numpy as np
import torch

from askalike.core import registry
from askalike.core.records import Question, TrainingPair
from askalike_learning.dev import DevSet
from askalike_learning.examples import Examples, collect_texts
from askalike_learning.recipes import NegativesSettings, TrainingSettings
from askalike_learning.trainer import TrainingJob

THINGS = ["egg", "rice", "pasta", "bread", "soup", "cake", "tea", "coffee", "milk", "butter", "cheese", "fish"]
WAYS = ("how do I cook {}", "what is the way to prepare {}", "{} : best recipe ?", "making {} at home")


def question(thing, way):
    return Question(f"{thing}{way}", WAYS[way].format(thing))


PAIRS = [TrainingPair(question(t, 0), question(t, way), t, "made") for t in THINGS for way in range(1, len(WAYS))]
"""Three ways to ask of each thing, paired with the first: 36 pairs in 12 clusters."""


def job_of(
    pairs, directory, network="cnn", negatives=None, report=None, loss="logistic_ranking", sizes=None, **settings
):
    """A job whose dev queries are of the training's own kind. sizes: the network's settings."""
    negatives = negatives or NegativesSettings(random=4, hardest=True)
    settings = {"epochs": 3, "batch_size": 8, "accelerator": "cpu", "measure": "RR", "patience": 9} | settings
    texts = collect_texts(pairs)
    network_class = registry.load("network", network)
    features = registry.load("features", network_class.features)
    words = features.from_texts(features.Settings(min_texts=1), texts.texts)
    undrawn = np.zeros((len(pairs), 0), np.int64)
    names = [text.id for text in texts.texts]
    examples = Examples(
        words.encode(texts.texts), texts.kinds, texts.query, texts.positive, texts.clusters, undrawn, names
    )
    queries = [question(t, 1) for t in THINGS]
    documents = [question(t, 0) for t in THINGS]
    dev = DevSet(
        words.encode([*queries, *documents]), *([q.id for q in rows] for rows in (queries, queries, documents)), False,
        {f"{t}1": {f"{t}0": 1} for t in THINGS},
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        built = network_class(network_class.Settings(**(sizes or {"dim": 8, "units": 12})), len(words.tokens))
    built.initialise(None, torch.from_numpy(words.idf))
    return TrainingJob(
        built,
        registry.load("loss", loss)(),
        negatives,
        TrainingSettings(**settings),
        examples,
        dev,
        directory,
        "one",
        report,
    )
