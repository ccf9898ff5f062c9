"""Synthetic questions with the word frequencies of real ones: Zipf-Mandelbrot over 300,000 words."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from _rows import DATA

import askalike

WORDS = 300_000


def texts(n: int, seed: int = 0, title: int = 10, body: int = 37) -> Iterator[tuple[list[str], list[str]]]:
    """Yield n pairs of title and body as tokens; lengths are geometrically distributed around their means."""
    rng = np.random.default_rng(seed)
    weights = (np.arange(WORDS) + 2.7) ** -1.07
    cumulative = np.cumsum(weights / weights.sum())
    names = [f"w{i}" for i in range(WORDS)]
    for start in range(0, n, 10_000):
        sizes = rng.geometric(1 / title, (min(10_000, n - start), 1)) + 3
        sizes = np.concatenate([sizes, rng.geometric(1 / body, sizes.shape)], axis=1)
        words = [names[i] for i in np.searchsorted(cumulative, rng.random(int(sizes.sum())))]
        at = 0
        for t, b in sizes.tolist():
            yield words[at : at + t], words[at + t : at + t + b]
            at += t + b


ONSETS = (
    "", "b", "br", "c", "ch", "d", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "qu", "r", "s", "st", "t", "v",
)  # fmt: skip
VOWELS = ("a", "e", "i", "o", "u", "ea", "ou")
ENDS = ("n", "r", "t", "l", "s", "m", "")
SYLLABLES = len(ONSETS) * len(VOWELS) * len(ENDS)


def spelled(word: str) -> str:
    """Return a word of `texts` in letters, frequent ones short, so that unfinished words have realistic completions."""
    rest, syllables = int(word[1:]), ""
    while True:
        rest, at = divmod(rest, SYLLABLES)
        syllables += ONSETS[at % len(ONSETS)] + VOWELS[at // len(ONSETS) % len(VOWELS)] + ENDS[at // 154]
        if not rest:
            return syllables
        rest -= 1


def phrase(words: Sequence[str]) -> str:
    """Return words of `texts` in letters."""
    return " ".join(map(spelled, words))


def made_archive(name: str, questions: Iterable[askalike.Question]) -> Path:
    """Return the path of an archive of these questions in bench-data/, which is created if it is missing."""
    path = DATA / name
    if not path.exists():
        new, left = path.with_name(f"{name}-new"), iter(questions)
        with askalike.Archive.create(new) as archive:
            while batch := list(islice(left, 50_000)):
                archive.upsert(batch)
        new.rename(path)
    return path
