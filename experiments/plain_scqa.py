"""A plain second implementation of SCQA (Das et al. 2016), like `plain_lstm.py`.

python experiments/plain_scqa.py MEDQUAD YAHOO contrastive|in_batch RUN.trec

Written from the paper's text: a dense layer over the set of a text's letter trigrams, hashed; convolution, max-pooling
and ReLU twice; a dense layer; cosines. contrastive: the paper's loss with SGD, one random answer per pair; in_batch:
cross-entropy over all answers in a batch with Adam. Trained on all questions and answers of MedQuAD, instead of Yahoo!
Answers L6. The run orders the candidates of `halves/test` of the Yahoo! questions of Zhang et al. (2014), as in
`yahoo-out-of-domain.toml`.
"""

import sys
import zlib
from pathlib import Path

import numpy as np
import torch
from plain_lstm import LOSSES, SEED, learn, split
from torch import Tensor, nn
from torch.nn import functional

from askalike.core.hits import Run
from askalike.evaluation.trec import write_run
from askalike.labels.splits import load_split
from askalike.labels.training_pairs import training_pairs
from askalike.store.archive import Archive

TRIGRAMS, DIM, FILTERS, WIDTH, POOL, UNITS = 8192, 512, (8, 16), 5, 4, 128
EPOCHS, BATCH = 3, 64
OPTIMIZERS = {"contrastive": (torch.optim.SGD, 0.05), "in_batch": (torch.optim.Adam, 0.001)}


class PlainScqa(nn.Module):
    """Encodes texts as trigram ids into unit vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.EmbeddingBag(TRIGRAMS, DIM, mode="sum")
        self.bias = nn.Parameter(torch.zeros(DIM))
        first, second = FILTERS
        layers = (nn.Conv1d(1, first, WIDTH, padding="same"), nn.MaxPool1d(POOL), nn.ReLU())
        more = (nn.Conv1d(first, second, WIDTH, padding="same"), nn.MaxPool1d(POOL), nn.ReLU(), nn.Flatten())
        self.rest = nn.Sequential(*layers, *more, nn.Linear(second * DIM // POOL**2, UNITS))

    def forward(self, texts: list[list[int]], side: int = 0) -> Tensor:
        """Return (texts, UNITS), the same for both sides."""
        offsets = np.cumsum([0, *map(len, texts[:-1])])
        numbers = torch.tensor([number for text in texts for number in text])
        summed = self.first(numbers, torch.from_numpy(offsets)) + self.bias
        return functional.normalize(self.rest(summed[:, None]), dim=1)


def main(medquad: str, yahoo: str, loss: str, output: str) -> None:
    """Train, and write the run."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    with Archive.open(Path(medquad)) as archive:
        view = archive.training_view(())
        pairs = [(read(p.query.title), read(p.positive.body)) for p in training_pairs(view, ["question_answer"])]
    print(f"{len(pairs):,} pairs")
    network = PlainScqa()
    kind, rate = OPTIMIZERS[loss]
    learn(network, pairs, LOSSES[loss], kind(network.parameters(), rate), EPOCHS, BATCH)
    with Archive.open(Path(yahoo)) as archive, torch.no_grad():
        labels = load_split(archive, "halves/test")
        columns = {}
        for id, candidates in (labels.candidates or {}).items():
            found = archive.view().get_questions(candidates)
            query, titles = read(labels.queries[id].title), [read(found[candidate].title) for candidate in candidates]
            scores = (network([query]) @ network(titles).T)[0].numpy()
            best = np.argsort(-scores, kind="stable")
            columns[id] = ([candidates[n] for n in best], scores[best].astype(float))
    write_run(Run(columns), Path(output), "plain")


def read(text: str) -> list[int]:
    """Return the distinct ids of the letter trigrams in a text's words."""
    words = (f"#{word}#" for word in split(text))
    trigrams = {word[n : n + 3] for word in words for n in range(len(word) - 2)}
    return sorted({zlib.crc32(trigram.encode()) % TRIGRAMS for trigram in trigrams}) or [0]


if __name__ == "__main__":
    main(*sys.argv[1:])
