"""A plain second implementation of DSSM ("Unified sentence embedding for question answering"), like `plain_lstm.py`.

python experiments/plain_dssm.py ARCHIVE triplet|in_batch RUN.trec

Written from the paper's text: word2vec vectors; an LSTM for questions and another for answers, the last state of each
through a dense layer; the score is the negative Euclidean distance. triplet: the paper's loss, with a margin of 10 and
one random answer; in_batch: cross-entropy over the scores of all answers in a batch. Sizes are those of
`medquad-losses.toml`, pairs and split those of `plain_lstm.py`.
"""

import sys

import torch
from gensim.models import Word2Vec
from plain_lstm import DIM, HIDDEN, RATE, SEED, learn, number_words, rank, read, read_texts, split
from torch import Tensor, nn
from torch.nn import functional

LATENT, MARGIN, PASSES = 256, 10.0, 5


class PlainDssm(nn.Module):
    """Encodes texts as word ids into vectors of size LATENT, with separate weights for questions and answers."""

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        self.words = nn.Embedding(len(vectors), DIM, padding_idx=0)
        self.words.weight.data.copy_(vectors)
        self.lstms = nn.ModuleList(nn.LSTM(DIM, HIDDEN, batch_first=True) for _ in range(2))
        self.dense = nn.ModuleList(nn.Linear(HIDDEN, LATENT) for _ in range(2))

    def forward(self, texts: list[list[int]], side: int) -> Tensor:
        """Return (texts, LATENT)."""
        lengths = torch.tensor([len(text) for text in texts])
        padded = nn.utils.rnn.pad_sequence([torch.tensor(text) for text in texts], batch_first=True)
        packed = nn.utils.rnn.pack_padded_sequence(self.words(padded), lengths, True, enforce_sorted=False)
        state: Tensor = self.lstms[side](packed)[1][0][0]
        vectors: Tensor = self.dense[side](state)
        return vectors


def main(directory: str, loss: str, output: str) -> None:
    """Train, and write the run."""
    texts = read_texts(directory)
    numbers = number_words(texts)
    sentences = [[word for word in split(text) if word in numbers] for pair in texts.pairs for text in pair]
    learned = Word2Vec(sentences, vector_size=DIM, min_count=1, sg=1, epochs=PASSES, seed=SEED, workers=1).wv
    vectors = torch.zeros(len(numbers) + 1, DIM)
    for word, number in numbers.items():
        vectors[number] = torch.from_numpy(learned[word].copy())
    network = PlainDssm(vectors)
    pairs = [(read(question, numbers), read(answer, numbers)) for question, answer in texts.pairs]
    optimizer = torch.optim.Adam(network.parameters(), RATE)
    learn(network, pairs, {"triplet": triplet, "in_batch": in_batch}[loss], optimizer)
    rank(network, texts, numbers, output, lambda questions, answers: -torch.cdist(questions, answers))


def triplet(question: Tensor, answer: Tensor) -> Tensor:
    """Return the mean loss of a batch; the wrong answer for a pair is its neighbour's."""
    right, wrong = (functional.pairwise_distance(question, other) for other in (answer, answer.roll(1, 0)))
    return (right - wrong + MARGIN).clamp_min(0).mean()


def in_batch(question: Tensor, answer: Tensor) -> Tensor:
    """Return the mean cross-entropy over the answers in a batch."""
    return functional.cross_entropy(-torch.cdist(question, answer), torch.arange(len(question)))


if __name__ == "__main__":
    main(*sys.argv[1:])
