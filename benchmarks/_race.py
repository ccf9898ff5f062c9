"""Engines that answer the same queries in turns, each in a process of its own with one thread."""

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ONE_THREAD = {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
Texts = Iterable[tuple[list[str], list[str]]]


class Worker:
    """A process that answers a command, one line, by a line of JSON."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD}
        )

    def __call__(self, command: str) -> dict[str, Any]:
        assert self.process.stdin
        assert self.process.stdout
        print(command, file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def write_data(texts: Texts, size: int, data: Path, queries: int) -> int:
    """Write documents, and of some drawn at random (seed 0) their titles, and titles with bodies, as queries.

    texts: titles and bodies as tokens; size: how many there are. One line a text, its tokens separated by tabs.
    """
    data.mkdir(parents=True, exist_ok=True)
    drawn = set(np.random.default_rng(0).choice(size, queries, replace=False).tolist())
    with (
        open(data / "documents.tsv", "w", encoding="utf-8") as documents,
        open(data / "title.tsv", "w", encoding="utf-8") as titles,
        open(data / "title+body.tsv", "w", encoding="utf-8") as wholes,
    ):
        for number, (title, body) in enumerate(texts):
            documents.write("\t".join(title + body) + "\n")
            if number in drawn:
                titles.write("\t".join(title) + "\n")
                wholes.write("\t".join(title + body) + "\n")
    return number + 1
