"""Tells what people write around a question, such as greetings, signatures and excuses, from the question itself.

A conditional random field of two states reads a text word by word: each word has log odds of being talk, the sum of
the weights of hashed features of it and of its neighbours, and each change between talk and matter has a weight that
depends on what is between two words. `experiments/talk.py` fits the weights on texts in eight languages, and for some
encoders a direction in which the vectors of talk differ from those of other sentences.
"""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from askalike.core.arrays import Array, Floats32
from askalike.text.clean import SURROGATE
from askalike.text.passages import split_sentences

MODEL_FILE = "talk.npz"
SIZE_BITS = 17
SIZE = 1 << SIZE_BITS
"""Number of weights."""
REACH = 8
"""Maximum number of words on each side that a word's features read."""
CAUTION = 1.0
"""Subtracted from each word's log odds of talk: matter that goes costs more than talk that stays."""
SURE_ODDS = 3.0
"""Minimum mean log odds of a part that is talk by its words alone."""
EDGES = " \t\n,:;-–—"
"""What is not part of a sentence at its ends."""
_WORD = re.compile(r"\w+(?:['’.@-]\w+)*|[^\w\s]+")
_ONE_SENTENCE = re.compile(r"[^\n:;.!?…)]*[.?!]?\s*")
_DRAWN_OUT = re.compile(r"(.)\1{2,}")
_DIGIT = re.compile(r"\d")
_SPREAD = [[15, 0x2C1B3C6D], [12, 0x297A2D39]]
"""Shifts and odd factors that mix the bits of a number."""
_CLAUSE_ENDS, _SENTENCE_ENDS = ",;:-–—", ".?!…)"
JOINED, SPACE, CLAUSE, SENTENCE, LINE, RISE = range(6)
ENDINGS = SENTENCE, LINE
"""What is before a word; RISE: a space, and the first capital of a sentence that begins with a small letter."""
GAPS = 6
_READ = ("nothing", "word", "begin", "end3", "look", "gap", "sentence", "line", "start", "end")
"""What features read of a word."""


class Part(NamedTuple):
    """A sentence, or a part of one between talk and matter. odds: the mean log odds of its words if it may be talk."""

    text: str
    odds: float

    @property
    def is_talk(self) -> bool:
        """Whether it is talk by its words alone."""
        return self.odds > SURE_ODDS


class Words(NamedTuple):
    """The words of a text: start and end of each, what is before it, and the numbers of its features, (words, n)."""

    spans: Sequence[tuple[int, int]]
    gaps: Sequence[int]
    features: Array


def split_parts(text: str) -> Sequence[Part]:
    """Return the sentences of a plain text, divided where talk begins or ends."""
    words = read_words(text)
    if words is None:
        return [Part(sentence, 0.0) for sentence in split_sentences(text)]
    odds = score_words(words)
    states = find_states(odds, words.gaps)
    ends = [n for n in range(1, len(odds)) if states[n] != states[n - 1] or (states[n] and words.gaps[n] in ENDINGS)]
    if not ends and _ONE_SENTENCE.fullmatch(text):
        return [Part(text.strip(), 0.0)]
    parts = []
    for start, end in pairwise([0, *ends, len(odds)]):
        own = text[words.spans[start][0] if start else 0 : words.spans[end][0] if end < len(odds) else len(text)]
        mean = sum(odds[start:end]) / (end - start) if states[start] else 0.0
        parts += [Part(sentence, mean) for sentence in split_sentences(own.strip(EDGES) if ends else own)]
    return [part for part in parts if not ends or any(map(str.isalnum, part.text))]


def leave_out_talk(text: str) -> str:
    """Return a text without what is talk by its words; all of it if nothing else is left."""
    return " ".join(part.text for part in split_parts(text) if not part.is_talk) or text.strip()


def talk_direction(name: str | None) -> Floats32 | None:
    """Return what a vector and 1 are multiplied by for the log odds of talk, (dim + 1); None without a known name."""
    return _read_model().get(name or "")


@cache
def list_courtesies(language: str | None) -> Sequence[str]:
    """Return the greetings and thanks of a language and of English; of all languages if it is unknown."""
    text = files("askalike.text").joinpath("courtesies.tsv").read_text(encoding="utf-8")
    rows = sorted(line.split("\t") for line in text.splitlines())
    known = [phrases for code, phrases in rows if language in (None, code) or code == "en"]
    return [phrase for phrases in known for phrase in phrases.split("|")]


def talk_rules() -> dict[str, Any]:
    """Return what `split_parts` goes by, see `search.rules`. weights: 8 bits each, as base64."""
    model = _read_model()
    return {
        "patterns": {"word": _WORD.pattern}, "read": _READ,
        "templates": model["templates"].tolist(), "bag": model["bag"].tolist(),
        "gaps": list(range(GAPS)), "changes": model["changes"].tolist(), "spread": _SPREAD, "edges": EDGES,
        "clause_ends": _CLAUSE_ENDS, "sentence_ends": _SENTENCE_ENDS, "size_bits": SIZE_BITS,
        "weights": b64encode(model["weights"].tobytes()).decode(), "scale": float(model["scale"]),
        "caution": CAUTION, "sure_odds": SURE_ODDS,
    }  # fmt: skip


def score_words(words: Words) -> list[float]:
    """Return the log odds of each word that it is talk."""
    model = _read_model()
    sums = model["weights"][words.features].sum(axis=1, dtype=np.int64)
    odds: list[float] = (sums * float(model["scale"]) - CAUTION).tolist()
    return odds


def find_states(odds: Sequence[float], gaps: Sequence[int]) -> Sequence[bool]:
    """Return for each word whether it is talk: the most probable states of all (Viterbi)."""
    changes = _read_model()["changes"].tolist()
    best = [0.0, odds[0]]
    came: list[tuple[bool, bool]] = []
    for value, gap in zip(odds[1:], gaps[1:], strict=True):
        (stay, begin), (end, go) = changes[gap]
        came.append((best[1] + end > best[0] + stay, best[1] + go > best[0] + begin))
        best = [max(best[0] + stay, best[1] + end), max(best[0] + begin, best[1] + go) + value]
    states = [best[1] > best[0]]
    for previous in reversed(came):
        states.append(previous[states[-1]])
    return states[::-1]


def read_words(text: str) -> Words | None:
    """Return the words of a text; None if it has none."""
    spans = [match.span() for match in _WORD.finditer(text)]
    if not spans:
        return None
    gaps = _find_gaps(text, spans)
    word, begin, end3, look = zip(*(_read_word(text[start:end]) for start, end in spans), strict=True)
    n = len(spans)
    sentence = _measure_runs(gaps, ENDINGS, [text[end - 1] == "?" for _, end in spans])
    line = _measure_runs(gaps, (LINE,), [m == n - 1 for m in range(n)])
    start, end = np.minimum(range(n), 12), np.minimum(range(n), 12)[::-1]
    table = np.zeros((len(_READ), n + 2 * REACH), np.uint32)
    table[1:, REACH:-REACH] = word, begin, end3, look, gaps, sentence, line, start, end
    numbers = np.zeros(n + 2 * REACH, np.int64)
    numbers[REACH:-REACH] = np.cumsum(np.isin(gaps, ENDINGS))
    at = REACH + np.arange(n)
    templates, bag = _read_model()["templates"], _read_model()["bag"]
    kinds = np.concatenate([np.arange(len(templates)), len(templates) + (bag > 0)]).astype(np.uint32)
    mixed = np.tile(kinds[:, None] * np.uint32(2654435761), n)
    for rows, offsets in templates[..., None].transpose(1, 2, 0, 3):
        mixed[: len(templates)] = mixed[: len(templates)] * np.uint32(31) + table[rows, offsets + at]
    near = bag[:, None] + at
    begins = table[_READ.index("begin"), near] * (numbers[near] == numbers[at])
    mixed[len(templates) :] = mixed[len(templates) :] * np.uint32(31) + begins
    for shift, factor in _SPREAD:
        mixed = (mixed ^ (mixed >> np.uint32(shift))) * np.uint32(factor)
    return Words(spans, gaps, (mixed >> np.uint32(32 - SIZE_BITS)).astype(np.int32).T)  # the well-mixed high bits


@lru_cache(20_000)
def _read_word(word: str) -> tuple[int, int, int, int]:
    """Return the hashes of a word, of its first four and its last three letters, and what it looks like."""
    plain = _DRAWN_OUT.sub(r"\1", _DIGIT.sub("0", SURROGATE.sub("\ufffd", word.lower())))
    is_upper = word.isupper() and len(word) > 1
    look = 1 if word[0].isdecimal() else 2 if is_upper else 3 if word[0].isupper() else 4 if word[0].isalpha() else 5
    return crc32(plain.encode()), crc32(plain[:4].encode()), crc32(plain[-3:].encode()), look


def _find_gaps(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Return what is before each word."""
    gaps = [LINE]
    is_low = text[spans[0][0]].islower()
    for (start, end), (following, stop) in pairwise(spans):
        between, last, first = text[end:following], text[end - 1], text[following]
        gap = LINE if "\n" in between else SPACE if between else JOINED
        if gap == SPACE and last in _SENTENCE_ENDS and not text[start].isalnum():
            gap = SENTENCE
        elif gap == SPACE and last in _CLAUSE_ENDS:
            gap = CLAUSE
        if gap in ENDINGS:
            is_low = first.islower()
        elif is_low and first.isupper() and text[following + 1 : stop].isalpha():  # not in "I" and "I'm"
            is_low, gap = False, RISE
        gaps.append(gap)
    return gaps


def _measure_runs(gaps: Sequence[int], begins: Sequence[int], marks: Sequence[bool]) -> list[int]:
    """Return for each word the length of its run, up to 7, whether it is the first, and whether its last has a mark."""
    starts = [*(n for n, gap in enumerate(gaps) if gap in begins), len(gaps)]
    read: list[int] = []
    for start, end in pairwise(starts):
        read += [min(7, end - start) + 8 * (start == 0) + 16 * marks[end - 1]] * (end - start)
    return read


@cache
def _read_model() -> Mapping[str, Array]:
    """Return the weights of features, 8 bits each, in units of `scale`; of `changes` by gap, from state to state.

    With the name of an encoder, see `talk_direction`. A feature reads three pairs of `templates`, what of the word at
    which offset, or the beginning of a word at an offset of `bag`, in the same sentence.
    """
    with files("askalike.text").joinpath(MODEL_FILE).open("rb") as file, np.load(file) as model:
        return dict(model) | {name: model[name].astype(np.int64) for name in ("templates", "bag")}
