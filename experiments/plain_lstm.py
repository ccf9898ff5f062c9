"""A plain second implementation of the Siamese LSTM, to separate effects of the recipe from those of the code.

python experiments/plain_lstm.py ARCHIVE contrastive|in_batch RUN.trec

It shares only the pairs with `askalike_learning`: one LSTM over random word vectors encodes questions
and answers as its last state; scores are cosines. contrastive: Lin et al. (2017), 1 − cos of a pair and
max(0, cos − 0.3) of one random answer; in_batch: cross-entropy over all answers in a batch. It is trained on everything
outside `focus/test` and `focus/dev`, for a fixed number of epochs; the run is of `focus/test`.
`experiments/medquad-losses.toml` has the recipes' figures. `plain_dssm.py` and `plain_scqa.py` are the same for
the DSSM and for SCQA.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from askalike.core.hits import Run
from askalike.evaluation.trec import write_run
from askalike.labels.splits import load_split
from askalike.labels.training_pairs import training_pairs
from askalike.store.archive import Archive

DIM, HIDDEN, LONGEST, EPOCHS, BATCH, RATE, SEED = 128, 128, 60, 3, 128, 2e-3, 1
MARGIN, SCALE, DEPTH = 0.3, 20.0, 1000
WORD = re.compile(r"\w+")


class PlainLstm(nn.Module):
    """Encodes texts as word ids into unit vectors."""

    def __init__(self, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, DIM, padding_idx=0)
        self.lstm = nn.LSTM(DIM, HIDDEN, batch_first=True)

    def forward(self, texts: list[list[int]], side: int) -> Tensor:
        """Return (texts, HIDDEN), the same for both sides."""
        lengths = torch.tensor([len(text) for text in texts])
        padded = nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
        packed = nn.utils.rnn.pack_padded_sequence(self.words(padded), lengths, True, enforce_sorted=False)
        return functional.normalize(self.lstm(packed)[1][0][0], dim=1)


class Texts(NamedTuple):
    """The training pairs, and the texts to rank: those of queries and of answers by their ids."""

    pairs: list[tuple[str, str]]
    queries: dict[str, str]
    answers: dict[str, str]


def main(directory: str, loss: str, output: str) -> None:
    """Train, and write the run."""
    texts = read_texts(directory)
    numbers = number_words(texts)
    network = PlainLstm(len(numbers) + 1)
    pairs = [(read(question, numbers), read(answer, numbers)) for question, answer in texts.pairs]
    learn(network, pairs, LOSSES[loss], torch.optim.Adam(network.parameters(), RATE))
    rank(network, texts, numbers, output, lambda questions, answers: questions @ answers.T)


def read_texts(directory: str) -> Texts:
    """Return the pairs outside `focus/test` and `focus/dev`, and the texts that `focus/test` ranks."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    with Archive.open(Path(directory)) as archive:
        view = archive.training_view(["focus/test", "focus/dev"])
        pairs = [(p.query.title, p.positive.body) for p in training_pairs(view, ["question_answer"])]
        queries = {id: query.title for id, query in load_split(archive, "focus/test", "answers").queries.items()}
        answers: dict[str, str] = {}
        for _, answer in archive.view("answers").answers():
            answers.setdefault(" ".join(answer.body.split()), answer.id)
    print(f"{len(pairs):,} pairs, {len(queries):,} queries, {len(answers):,} answers")
    return Texts(pairs, queries, {id: text for text, id in answers.items()})


def number_words(texts: Texts) -> dict[str, int]:
    """Return word → id, from 1, for words in at least two texts of the pairs."""
    counts = Counter(word for pair in texts.pairs for text in pair for word in dict.fromkeys(split(text)))
    return {word: n for n, word in enumerate((word for word, count in counts.items() if count > 1), 1)}


def split(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return WORD.findall(text.lower())


def read(text: str, numbers: Mapping[str, int]) -> list[int]:
    """Return the ids of a text's known words; only 0 for a text without any."""
    return [numbers[word] for word in split(text)[:LONGEST] if word in numbers] or [0]


def learn(
    network: nn.Module,
    pairs: list[tuple[list[int], list[int]]],
    loss: Callable[[Tensor, Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    epochs: int = EPOCHS,
    batch_size: int = BATCH,
) -> None:
    """Train. network: maps texts and their side (0: questions, 1: answers) to vectors. pairs: questions and answers."""
    random = np.random.default_rng(SEED)
    for epoch in range(1, epochs + 1):
        total = 0.0
        order = random.permutation(len(pairs))
        for start in range(0, len(order), batch_size):
            batch = [pairs[n] for n in order[start : start + batch_size]]
            value = loss(*(network([pair[side] for pair in batch], side) for side in (0, 1)))
            optimizer.zero_grad()
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            total += value.item() * len(batch)
        print(f"epoch {epoch}: loss {total / len(pairs):.4f}", flush=True)


def contrastive(question: Tensor, answer: Tensor) -> Tensor:
    """Return the mean loss of a batch in random order: the wrong answer for a pair is its neighbour's."""
    wrong = (question * answer.roll(1, 0)).sum(1)
    return (1 - (question * answer).sum(1) + (wrong - MARGIN).clamp_min(0)).mean()


def in_batch(question: Tensor, answer: Tensor) -> Tensor:
    """Return the mean cross-entropy over the answers in a batch."""
    return functional.cross_entropy(SCALE * question @ answer.T, torch.arange(len(question)))


LOSSES = {"contrastive": contrastive, "in_batch": in_batch}


def rank(
    network: nn.Module,
    texts: Texts,
    numbers: Mapping[str, int],
    output: str,
    compare: Callable[[Tensor, Tensor], Tensor],
) -> None:
    """Write the DEPTH best answers of each query as a TREC run. compare: two sides' vectors to (queries, answers)."""
    with torch.no_grad():
        sides = [[read(text, numbers) for text in side.values()] for side in (texts.queries, texts.answers)]
        vectors = [
            torch.cat([network(own[n : n + 512], side) for n in range(0, len(own), 512)])
            for side, own in enumerate(sides)
        ]
        scores = compare(*vectors).numpy()
    ids = np.array(list(texts.answers))
    best = np.argsort(-scores, axis=1, kind="stable")[:, :DEPTH]
    rows = zip(texts.queries, scores, best, strict=True)
    write_run(Run({q: (ids[row].tolist(), own[row].astype(float)) for q, own, row in rows}), Path(output), "plain")


if __name__ == "__main__":
    main(*sys.argv[1:])
