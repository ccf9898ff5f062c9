"""A plain second implementation of the Siamese LSTM, to tell what is the recipe's from what is the code's.

python experiments/plain_lstm.py ARCHIVE contrastive|in_batch RUN.trec

It shares nothing with `askalike.nn` and `askalike.training` but the pairs: one LSTM over random word vectors reads
questions and answers, its last state is the text, cosines are the scores. contrastive: Lin et al. (2017), 1 − cos of a
pair and max(0, cos − 0.3) of one drawn answer; in_batch: cross-entropy over all answers of a batch. Trained on what
`focus/test` and `focus/dev` do not hold out; a fixed number of epochs; the run is of `focus/test`.
`experiments/plain-lstm.toml` measures its runs beside the recipes.
"""

import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from askalike.evaluation.trec import write_run
from askalike.labels.splits import load_split
from askalike.labels.training_pairs import training_pairs
from askalike.store.archive import Archive
from askalike.types import Run

DIM, HIDDEN, LONGEST, EPOCHS, BATCH, RATE, SEED = 128, 128, 60, 8, 128, 2e-3, 1
MARGIN, SCALE, DEPTH = 0.3, 20.0, 1000
WORD = re.compile(r"\w+")


class PlainLstm(nn.Module):
    """Texts of word numbers to vectors of length 1."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, DIM, padding_idx=0)
        self.lstm = nn.LSTM(DIM, HIDDEN, batch_first=True)

    def forward(self, texts: list[list[int]]) -> Tensor:
        """Return (texts, HIDDEN)."""
        lengths = torch.tensor([len(text) for text in texts])
        padded = nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
        packed = nn.utils.rnn.pack_padded_sequence(self.words(padded), lengths, True, enforce_sorted=False)
        return functional.normalize(self.lstm(packed)[1][0][0], dim=1)


def main(directory: str, loss: str, output: str) -> None:
    """Train, and write the run."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    with Archive.open(Path(directory)) as archive:
        view = archive.training_view(["focus/test", "focus/dev"])
        pairs = [(p.query.title, p.positive.body) for p in training_pairs(view, ["question_answer"])]
        queries = {id: query.title for id, query in load_split(archive, "focus/test", "answers").queries.items()}
        answers: dict[str, str] = {}
        for _, answer in archive.view("answers").answers():
            answers.setdefault(" ".join(answer.body.split()), answer.id)
    counts = Counter(word for pair in pairs for text in pair for word in set(split(text)))
    numbers = {word: n for n, word in enumerate((word for word, count in counts.items() if count > 1), 1)}

    def read(text: str) -> list[int]:
        return [numbers[word] for word in split(text)[:LONGEST] if word in numbers] or [0]

    print(f"{len(pairs):,} pairs, {len(numbers):,} words, {len(queries):,} queries, {len(answers):,} answers")
    network = PlainLstm(len(numbers) + 1)
    learn(network, [(read(q), read(a)) for q, a in pairs], loss)
    rank(network, {id: read(text) for id, text in queries.items()}, {id: read(a) for a, id in answers.items()}, output)


def split(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return WORD.findall(text.lower())


def learn(network: PlainLstm, pairs: list[tuple[list[int], list[int]]], loss: str) -> None:
    """Train for EPOCHS."""
    optimizer = torch.optim.Adam(network.parameters(), RATE)
    random = np.random.default_rng(SEED)
    for epoch in range(1, EPOCHS + 1):
        total = 0.0
        order = random.permutation(len(pairs))
        for start in range(0, len(order), BATCH):
            batch = [pairs[n] for n in order[start : start + BATCH]]
            question, answer = (network([pair[side] for pair in batch]) for side in (0, 1))
            value = compute_loss(question, answer, loss)
            optimizer.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += value.item() * len(batch)
        print(f"epoch {epoch}: loss {total / len(pairs):.4f}", flush=True)


def compute_loss(question: Tensor, answer: Tensor, loss: str) -> Tensor:
    """Return the mean loss of a batch, whose order is random: the answer drawn for a pair is its neighbour's."""
    if loss == "in_batch":
        return functional.cross_entropy(SCALE * question @ answer.T, torch.arange(len(question)))
    wrong = (question * answer.roll(1, 0)).sum(1)
    return (1 - (question * answer).sum(1) + (wrong - MARGIN).clamp_min(0)).mean()


def rank(network: PlainLstm, queries: dict[str, list[int]], answers: dict[str, list[int]], output: str) -> None:
    """Write the DEPTH best answers of each query as a TREC run."""
    with torch.no_grad():
        texts, ids = list(answers.values()), np.array(list(answers))
        vectors = torch.cat([network(texts[n : n + 512]) for n in range(0, len(texts), 512)])
        scores = (network(list(queries.values())) @ vectors.T).numpy()
    best = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    rows = zip(queries, scores, best, strict=True)
    write_run(Run({q: (ids[row].tolist(), own[row].astype(float)) for q, own, row in rows}), Path(output), "plain_lstm")


if __name__ == "__main__":
    main(*sys.argv[1:])
