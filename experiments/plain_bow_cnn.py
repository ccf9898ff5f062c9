"""A plain second implementation of BOW-CNN (dos Santos et al. 2015), without code of `askalike_learning.papers`.

python experiments/plain_bow_cnn.py ARCHIVE START TRAINED

Written from the paper's equations: term frequencies times a weight of each term; tanh of the highest value of each unit
over word windows; the sum of both cosines, weighted by β; log(1 + exp(−γΔ)) with the closest of 20 drawn questions.

START and TRAINED are models of the archive, by `askalike train ARCHIVE --recipe bow_cnn_paper --dev tenth/test --set
tokenizer=standard`: START with learning_rate=1e-12, so that it holds the initial weights. First, scores, loss and
gradients of one batch are compared with those of askalike, by the weights of TRAINED. Then the plain network learns
from the weights of START, on the same pairs and for as many epochs; draws and batches are its own. Printed is
Success@10 of `tenth/test` for both models and for the plain network.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from plain_lstm import split
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from askalike.core.records import Split
from askalike.labels.splits import load_split
from askalike.store.archive import Archive
from askalike.text.features import Text
from askalike_learning.objective import Objective, TrainingBatch
from askalike_learning.pair_data import collect_training_data
from askalike_learning.recipes import Recipe, TrainingSettings
from askalike_learning.trained_network import SavedNetwork, open_network

WINDOW, GAMMA, DRAWN, BATCH, DEV = 3, 10.0, 20, 16, "tenth/test"
UNKNOWN, FIRST_WORD = 1, 2
Question = list[int]
"""The ids of a question's words."""
Vectors = tuple[Tensor, Tensor]
"""Those of both paths, (…, size) and (…, units), each of length 1."""


class PlainBowCnn(nn.Module):
    """Scores questions. Weights: words (size, dim), w1 (units, dim, window), b1 (units,), t (size,), β."""

    def __init__(self, weights: Mapping[str, Tensor]) -> None:
        super().__init__()
        w1 = weights["convolution.weight"].view(-1, WINDOW, len(weights["convolution.bias"])).permute(2, 0, 1)
        self.words = nn.Parameter(weights["convolution.words.weight"].clone())
        self.w1, self.b1 = nn.Parameter(w1.clone()), nn.Parameter(weights["convolution.bias"].clone())
        self.t, self.beta = nn.Parameter(weights["bag.t"].clone()), nn.Parameter(weights["beta"].clone())

    def forward(self, texts: Sequence[Question]) -> Vectors:
        """Return the vectors of texts."""
        ids = nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
        counts = self.t.new_zeros(len(ids), len(self.t)).scatter_add_(1, ids, (ids >= FIRST_WORD).to(self.t))
        vectors = functional.embedding(ids, self.words, padding_idx=0).transpose(1, 2)
        windows = functional.conv1d(vectors, self.w1, self.b1, padding=WINDOW // 2)
        highest = windows.where(ids[:, None] > 0, -torch.inf).amax(2).tanh()
        return functional.normalize(counts * self.t, dim=1), functional.normalize(highest, dim=1)

    def score(self, left: Vectors, right: Vectors) -> Tensor:
        """Return the scores of pairs, (…): vectors may broadcast."""
        bags, windows = ((x * y).sum(-1) for x, y in zip(left, right, strict=True))
        return self.beta[0] * bags + self.beta[1] * windows

    def loss(self, queries: list[Question], positives: list[Question], drawn: list[list[Question]]) -> Tensor:
        """Return the sum of a batch's losses. drawn: the questions drawn for each pair."""
        with torch.no_grad():
            bags, windows = self(queries)
            others = self([text for texts in drawn for text in texts])
            of_pairs = others[0].view(len(queries), DRAWN, -1), others[1].view(len(queries), DRAWN, -1)
            closest = self.score((bags[:, None], windows[:, None]), of_pairs).argmax(1).tolist()
        negatives = [texts[n] for texts, n in zip(drawn, closest, strict=True)]
        query, positive, negative = self(queries), self(positives), self(negatives)
        return functional.softplus(-GAMMA * (self.score(query, positive) - self.score(query, negative))).sum()


class Texts(NamedTuple):
    """The pairs' questions, those drawn for each pair, dev queries and their judgements, and what they rank."""

    queries: list[Question]
    positives: list[Question]
    drawn: list[list[Question]]
    dev: Split
    dev_queries: list[Question]
    documents: Mapping[str, Question]


def main(directory: str, start: str, trained: str) -> None:
    """Compare with askalike, then train and compare again."""
    torch.set_num_threads(1)
    models = Path(directory) / "models"
    saved = open_network(models / trained)
    rows = (models / trained / "vocabulary.txt").read_text(encoding="utf-8").splitlines()[1:]
    numbers = {row.split("\t")[0]: n for n, row in enumerate(rows, FIRST_WORD)}
    texts = read_texts(directory, saved.recipe, numbers)
    initial, final = (load_file(models / name / "weights.safetensors") for name in (start, trained))
    compare(saved, PlainBowCnn(final).double(), texts)
    network = PlainBowCnn(initial)
    for name, other in ((start, network), (trained, PlainBowCnn(final))):
        print(f"{name}: Success@10 {evaluate(other, texts):.4f}", flush=True)
    learn(network, texts, saved.recipe.training)


def read_texts(directory: str, recipe: Recipe, numbers: Mapping[str, int]) -> Texts:
    """Return the pairs that a recipe learns from, other questions drawn for each, and the dev data."""

    def read(text: Text) -> Question:
        return [numbers.get(word, UNKNOWN) for word in split(f"{getattr(text, 'title', '')} {text.body}")] or [UNKNOWN]

    seed = recipe.training.seed
    with Archive.open(Path(directory)) as archive:
        view = archive.training_view(["dev", DEV], dev=load_split(archive, DEV, "questions"))
        data = collect_training_data(view, recipe.data, recipe.training.dev_documents, seed)
        clusters = view.clusters()
        pool = [(clusters.cluster_of(question.id), read(question)) for _, question in view.questions()]
    random, drawn = np.random.default_rng(seed), []
    for pair in data.pairs:
        order = random.integers(len(pool), size=2 * DRAWN).tolist()
        drawn.append([pool[n][1] for n in order if pool[n][0] not in (pair.cluster, pair.query_cluster)][:DRAWN])
    queries, positives = [read(pair.query) for pair in data.pairs], [read(pair.positive) for pair in data.pairs]
    documents = {id: read(text) for id, text in data.documents.items()}
    return Texts(queries, positives, drawn, data.dev, [*map(read, data.dev.queries.values())], documents)


def compare(saved: SavedNetwork, plain: PlainBowCnn, texts: Texts) -> None:
    """Print how far scores, loss and gradients of one batch differ from askalike's, in double precision."""
    queries, positives, drawn = texts.queries[:BATCH], texts.positives[:BATCH], texts.drawn[:BATCH]
    every = [*queries, *positives, *(text for others in drawn for text in others)]
    ids = nn.utils.rnn.pad_sequence([torch.tensor(text) for text in every], batch_first=True)
    features = {"ids": ids, "stems": ids, "mask": ids > 0}
    query, positive, others = torch.arange(len(every)).tensor_split((BATCH, 2 * BATCH))
    network = saved.network.double().train()
    vectors = network(features)
    of_pairs = network.score_pairs(*(tuple(part[rows] for part in vectors) for rows in (query, positive)))
    scores = (of_pairs - plain.score(plain(queries), plain(positives))).abs().max()
    negatives, clusters = others.view(BATCH, DRAWN), torch.zeros(BATCH, 2)
    batch = TrainingBatch(features, query, positive, clusters, negatives, torch.ones_like(negatives, dtype=torch.bool))
    losses = Objective(network, saved.recipe.loss, saved.recipe.negatives)(batch)
    loss = plain.loss(queries, positives, drawn)
    losses.sum().backward()
    loss.backward()  # type: ignore[no-untyped-call]
    print(f"scores differ by {scores:.1e}, the loss {loss:.6f} by {abs(losses.sum() - loss):.1e}")
    gradients = PlainBowCnn({name: value.grad for name, value in network.named_parameters() if value.grad is not None})
    for (name, expected), (_, value) in zip(gradients.named_parameters(), plain.named_parameters(), strict=True):
        assert value.grad is not None
        largest, difference = expected.abs().max(), (value.grad - expected).abs().max()
        print(f"gradient of {name}: up to {largest:.1e}, differs by {difference:.1e}")


def learn(network: PlainBowCnn, texts: Texts, settings: TrainingSettings) -> None:
    """Train by gradient descent over the sums of batches, and print Success@10 after each epoch."""
    random = np.random.default_rng(settings.seed)
    optimizer = torch.optim.SGD(network.parameters(), settings.learning_rate)
    for epoch in range(1, settings.epochs + 1):
        total, order = 0.0, random.permutation(len(texts.queries))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH].tolist()
            queries, positives = [texts.queries[n] for n in rows], [texts.positives[n] for n in rows]
            loss = network.loss(queries, positives, [texts.drawn[n] for n in rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += loss.item()
        value = evaluate(network, texts)
        print(f"plain, epoch {epoch}: loss {total / len(order):.4f}, Success@10 {value:.4f}", flush=True)


@torch.no_grad()
def evaluate(network: PlainBowCnn, texts: Texts) -> float:
    """Return Success@10 of the dev queries over all documents but their own."""
    bags, windows = network(texts.dev_queries)
    ids, every = list(texts.documents), list(texts.documents.values())
    blocks = []
    for start in range(0, len(every), 512):
        others = network(every[start : start + 512])
        blocks.append(network.beta[0] * bags @ others[0].T + network.beta[1] * windows @ others[1].T)
    ranked, found = np.argsort(-torch.cat(blocks, 1).numpy(), axis=1, kind="stable")[:, :11], 0
    for (id, query), row in zip(texts.dev.queries.items(), ranked.tolist(), strict=True):
        best = [ids[n] for n in row if ids[n] != query.id][:10]
        found += any(texts.dev.qrels[id].get(document, 0) > 0 for document in best)
    return found / len(ranked)


if __name__ == "__main__":
    main(*sys.argv[1:])
