"""Synthetic titles, from the words of the example archive."""

import csv
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

EXAMPLE = Path(__file__).parents[1] / "examples" / "riverside.csv"


def titles(n: int, seed: int) -> list[str]:
    """Return n synthetic titles."""
    rng = random.Random(seed)
    following: dict[str, list[str]] = defaultdict(list)
    with EXAMPLE.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["language"] == "en"]
    for text in (text for row in rows for text in (row["question"], *row["alternates"].split("|"))):
        for before, after in _pairs(text.split()):
            following[before].append(after)
    return [" ".join(_walk(following, rng)) for _ in range(n)]


def _pairs(words: list[str]) -> Iterator[tuple[str, str]]:
    return zip(["", *words], [*words, ""], strict=True)


def _walk(following: dict[str, list[str]], rng: random.Random) -> list[str]:
    found: list[str] = []
    while len(found) < 20 and (word := rng.choice(following[found[-1] if found else ""])):
        found.append(word)
    return found
