"""Milliseconds to generate an answer, by beam width, on one core.

python packages/learning/benchmarks/generating.py [--words 50000] [--longest 60] [--turns 9]

The network has the packaged recipe's sizes and random weights, which are as slow as trained ones; the end token is made
the rarest word, so that every answer has the maximum length. Reported are milliseconds of processor time, which do not
depend on other processes, and of wall time.
"""

import argparse
import json
import statistics
import time

import torch

from askalike_learning.networks import BeamSearchOptions
from askalike_learning.papers.dssm import DssmNetwork
from askalike_learning.papers.generator import END, beam_search
from askalike_learning.recipes import Recipe

BEAMS = (1, 4, 8)
PROMISED_MS = 300
"""Documented maximum for a beam of 4 and 60 words."""


def made(words: int) -> DssmNetwork:
    """Return the network of `dssm_writer`, with a vocabulary of this size."""
    torch.manual_seed(1)
    network = DssmNetwork(Recipe.read("dssm_writer").network, words).eval()
    with torch.no_grad():
        network.decoder.softmax.head.weight[END] = 0
    network.decoder.set_word_counts(torch.arange(words))  # the end token is the rarest
    return network


def milliseconds(network: DssmNetwork, beam: int, longest: int, turns: int) -> list[tuple[float, float]]:
    """Return the processor and wall time of each round, with a different question vector each time."""
    found = []
    for turn in range(turns + 1):
        torch.manual_seed(turn)
        vector = torch.randn(network.vector_dim)
        busy, started = time.process_time(), time.perf_counter()
        text, _ = beam_search(network.decoder, network.words, vector, BeamSearchOptions(beam, longest))
        found.append((1000 * (time.process_time() - busy), 1000 * (time.perf_counter() - started)))
        if len(text) < longest // 2:
            raise SystemExit(f"an answer of {len(text)} words is too short to time")
    return found[1:]


def main() -> None:
    """Print a JSON line for each beam width."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=50_000)
    parser.add_argument("--longest", type=int, default=60)
    parser.add_argument("--turns", type=int, default=9)
    options = parser.parse_args()
    torch.set_num_threads(1)
    network = made(options.words)
    for beam in BEAMS:
        taken = milliseconds(network, beam, options.longest, options.turns)
        busy, clock = (round(statistics.median(column), 1) for column in zip(*taken, strict=True))
        row = {"beam": beam, "words": options.longest, "vocabulary": options.words, "processor_ms": busy}
        print(json.dumps({**row, "clock_ms": clock, "promised_ms": PROMISED_MS if beam == 4 else None}))


if __name__ == "__main__":
    main()
