"""Fits the model of `askalike.text.talk`, which tells what people write around a question from the question.

python experiments/talk.py ARCHIVE … [--write] > experiments/reports/talk.json

Texts are made of talk (talk.tsv, people/polite.tsv, written for this, CC0) around what people ask about: everyday
questions, the matter of the same file, the questions of people/, and the titles and sentences of archives. Each
word's kind is known, and a conditional random field learns it from hashed features. For each encoder a logistic
regression learns the direction in which its vectors of talk differ from those of matter. Both are measured on
people/test/, of which nothing is learned, and with each language and each archive left out of what is learned.
--write: write the model into the package.
"""

import argparse
import json
import random
import re
import shlex
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numba
import numpy as np
from scipy.optimize import minimize
from shown import read

from askalike import encoders
from askalike.calibration.abstention import everyday_questions
from askalike.core.arrays import Array, Floats32
from askalike.core.records import Question
from askalike.encoders import concatenate_parts
from askalike.store import Archive
from askalike.text import talk
from askalike.text.clean import plain_text
from askalike.text.passages import split_sentences
from askalike_research.experiments.provenance import collect_provenance

FOLDER = Path(__file__).parent
PACKAGED = Path(talk.__file__).with_name(talk.MODEL_FILE)
SEED, TEXTS, FEW_TEXTS, USUAL = 0, 6000, 1500, 8
"""Number of texts in a language, in all and with something left out, and how often a short phrase is drawn."""
PLAIN = 0.4
"""Share of texts with talk that have a short greeting or thanks alone."""
EPOCHS, RATE, L2, DROPPED = 16, 0.3, 1e-3, 0.5
TALK_SENTENCES, MATTER_SENTENCES, DIRECTION_L2 = 1200, 1500, 0.5
MIN_ODDS = 1.5
LANGUAGES = ("de", "en", "es", "fr", "it", "ru")
LEFT_OUT = (
    ("cs", "cs", "en"),
    ("beer", "beer", "en"),
    ("ai", "ai", "en"),
    ("debian-de", "debian", "de"),
    ("rubq", "rubq", "ru"),
)
"""The archives that are left out, with their names in people/test/ and their languages."""
ENCODERS = {"minilm_l6": ["en"], "e5_small": ["de", "en", "es", "fr", "it", "ru"]}
"""The encoders that tell talk, with the languages that they learn it in."""
PLEAS = ("please", "kindly", "bitte", "svp", "plaît", "favor", "favore", "пожалуйста", "sorry", "disculpen", "perdonen",
         "scusate", "scusi", "pardon", "извините", "будьте добры", "would anyone", "could anyone", "könnte mir",
         "wäre jemand")  # fmt: skip
"""With greetings and thanks, signs that a question has talk in it."""
ALTERNATIVES = re.compile(r"\(((?:\\.|[^()\\])*)\)")
SLOT = re.compile(r"\{\w+\}")

_TEXTS = ("word -3", "word -2", "word -1", "word 0", "word 1", "word 2", "word 3", "begin -2", "begin -1", "begin 0",
          "begin 1", "begin 2", "end3 -1", "end3 0", "end3 1", "word -2 word -1", "word -1 word 0", "word 0 word 1",
          "word 1 word 2", "word -1 word 1", "word -1 word 0 word 1", "word 0 word 1 word 2", "gap 0 gap 1 look 0",
          "look -1 look 0 look 1", "start 0", "end 0", "sentence 0", "line 0", "begin 0 sentence 0", "begin 0 line 0",
          "begin 0 gap 0", "line 0 start 0 end 0",
          "word 0 start 0", "word 0 end 0")  # fmt: skip
TEMPLATES = [
    [[talk._READ.index(name), int(offset)] for name, offset in zip(text.split()[::2], text.split()[1::2], strict=True)]
    + [[0, 0]] * (2 - text.count(" ") // 2)
    for text in _TEXTS
]
"""For each feature three pairs of what is read, and at which offset."""
BAG = [offset for offset in range(-talk.REACH, talk.REACH + 1) if offset]
"""The offsets of words of the same sentence whose beginnings are features, whatever their distance."""
Piece = tuple[str, bool]
"""A part of a text, and whether it is talk."""


class Writer:
    """Writes texts of one language as people do."""

    def __init__(
        self, rows: Mapping[str, Sequence[str]], matter: Sequence[Sequence[Sequence[str]]], rng: random.Random
    ) -> None:
        """rows: kind → its texts. matter: runs of sentences."""
        self._rows, self._matter, self._rng = rows, matter, rng

    def write(self) -> list[Piece]:
        """Return a text as pieces with the white space between them."""
        rng = self._rng
        style = rng.choice(["letter", "forum", "forum", "chat", "chat"])
        matter = [*rng.choice(rng.choice(self._matter))][: rng.choice([1, 1, 2, 3])]
        if rng.random() < (0.7 if style == "chat" else 0.4):
            matter = [one.lower().rstrip(".?! ") if rng.random() < 0.8 else one.rstrip(".?!") for one in matter]
        if rng.random() < 0.45:
            return self._join([(one, False) for one in matter], style)
        if rng.random() < PLAIN:
            return self._join(self._frame_plainly(matter[0]), "chat")
        before = (
            self._lines("header", 0.12)
            + self._some("greeting", [0.25, 0.75])
            + self._some("before", [0.4, 0.3, 0.2, 0.1])
        )
        after = self._some("after", [0.3, 0.35, 0.2, 0.15]) + self._lines("signature", 0.3)
        if rng.random() < 0.08:
            before = []
        asked: list[Piece] = []
        for n, one in enumerate(matter):
            if n and rng.random() < 0.12:
                asked.append((self._punctuate(self._draw(rng.choice(["before", "after"])), style, False), True))
            asked.append((one, False))
        talks = [(self._punctuate(one, style, kind), True) for one, kind in before]
        ends = [(self._punctuate(one, style, kind), True) for one, kind in after]
        return self._join([*talks, *asked, *ends], style)

    def _frame_plainly(self, asked: str) -> list[Piece]:
        """Return a question with a short greeting before it, short thanks behind it, or both, and little between."""
        rng = self._rng
        greeting, thanks = (min((self._draw(kind) for _ in range(4)), key=len) for kind in ("greeting", "after"))
        greeting = rng.choice([greeting, greeting.capitalize()]) + rng.choice(["", "", "", ",", ",", "!", "."])
        if rng.random() < 0.3:
            asked += rng.choice([",", ".", "?", " -"])
        thanks = rng.choice([thanks, thanks.capitalize()]) + rng.choice(["", "", "!", "."])
        framed = [(greeting, True), (asked, False), (thanks, True)]
        return rng.choice([framed, framed[:2], framed[:2], framed[1:]])

    def write_talk(self) -> str:
        """Return a sentence of talk, or two that run into each other."""
        rng = self._rng
        kind = rng.choices(["before", "after", "greeting", "signature"], [6, 4, 1, 1])[0]
        text = self._punctuate(self._draw(kind), rng.choice(["forum", "chat"]), kind)
        if kind == "greeting" and rng.random() < 0.5:
            return f"{text} {self._punctuate(self._draw('before'), 'forum', 'before')}"
        return (
            text.rstrip(".!,") + rng.choice([" and ", ", ", " ", " - "]) + self._draw(kind)
            if rng.random() < 0.2
            else text
        )

    def _some(self, kind: str, shares: Sequence[float]) -> list[tuple[str, str]]:
        n = self._rng.choices(range(len(shares)), shares)[0]
        return [(self._draw(kind), kind) for _ in range(n)]

    def _lines(self, kind: str, share: float) -> list[tuple[str, str]]:
        if self._rng.random() > share:
            return []
        return [(self._draw(kind), kind) for _ in range(self._rng.choice([1, 1, 2, 3]))]

    def _draw(self, kind: str) -> str:
        usual = [
            USUAL if row.count("(") < 2 and kind in ("greeting", "after", "header") else 1 for row in self._rows[kind]
        ]
        [text] = self._rng.choices(self._rows[kind], usual)
        while found := ALTERNATIVES.search(text):
            text = text[: found.start()] + self._rng.choice(re.split(r"(?<!\\)\|", found[1])) + text[found.end() :]
        text = SLOT.sub(lambda slot: self._fill(slot[0]), text.replace("\\", ""))
        return " ".join(text.split())

    def _fill(self, slot: str) -> str:
        rng = self._rng
        digits = lambda n: "".join(rng.choices("0123456789", k=n))  # noqa: E731
        if slot == "{phone}":
            return rng.choice(
                [
                    f"0{digits(3)} {digits(6)}",
                    f"+{digits(2)} {digits(3)} {digits(7)}",
                    digits(9),
                    f"{digits(3)}-{digits(4)}",
                    f"8 ({digits(3)}) {digits(3)}-{digits(2)}-{digits(2)}",
                ]
            )
        if slot == "{number}":
            return rng.choice(
                [
                    digits(2),
                    digits(5),
                    digits(6),
                    f"{digits(2)}.{digits(2)}.20{digits(2)}",
                    f"{digits(3)}-{digits(4)}",
                    digits(8),
                ]
            )
        if slot == "{mail}":
            name = rng.choice(["anna", "p.miller", "info", "kontakt", "office"])
            return f"{name}{digits(2)}@example.{rng.choice(['org', 'com', 'net'])}"
        if slot == "{initial}":
            return self._fill("{name}")[0]
        return rng.choice(self._rows[slot][0].split("|"))

    def _punctuate(self, text: str, style: str, kind: Any) -> str:
        rng = self._rng
        if style == "chat":
            if kind == "greeting" and rng.random() < 0.2:
                text = f"{text.split()[0]} {text}"
            text = text if rng.random() < 0.2 else text.lower()
            if rng.random() < 0.25 and text[-1].isalpha():
                text += text[-1] * rng.choice([1, 2, 3])
            return text + rng.choice(
                ["", "", "", "", "!", "!!", ",", "...", " :)", " :D", " xx", " ;)", " lol", " ^^", "!!!", "?"]
            )
        if kind != "signature" and text[0].islower() and rng.random() < 0.9:
            text = text[0].upper() + text[1:]
        if kind in ("signature", "header") or text[-1] in ".!?)":
            return text
        if kind == "greeting":
            return text + rng.choice([",", ",", "!", ".", "", "", "", ":", " -", "!!", " :)", ";"])
        is_asking = rng.random() < 0.5 and any(
            mark in text for mark in ("can ", "could ", "kann ", "peut", "puede", "может ", "può ")
        )
        return text + (
            "?" if is_asking else rng.choice([".", ".", ".", "!", "", ":" if kind == "before" else " :)", "..."])
        )

    def _join(self, pieces: Sequence[Piece], style: str) -> list[Piece]:
        rng = self._rng
        joined: list[Piece] = []
        for n, (text, is_talk) in enumerate(pieces):
            is_edge = n > 0 and (is_talk or pieces[n - 1][1])
            if style == "letter" and is_edge:
                gap = rng.choice(["\n", "\n\n", "\n\n", " "])
            elif style == "forum":
                gap = rng.choice([" ", " ", " ", "\n"])
            else:
                gap = " "
            if is_talk and n and pieces[n - 1][1] and style == "letter" and rng.random() < 0.4:
                gap = " "
            joined.append(((gap if n else "") + text, is_talk))
        return joined


def read_rows(name: str = "talk.tsv") -> dict[str, dict[str, list[str]]]:
    """Return language → kind → its texts."""
    rows: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for code, kind, text in read(FOLDER / name):
        rows[code][kind].append(text)
    for code, *frame in read(FOLDER / "people" / "polite.tsv"):
        for kind, text in zip(("before", "after"), frame, strict=True):
            lines = [split_sentences(line) for line in text.split("\\n") if line.strip()]
            rows[code][kind] += [re.sub(r"([()])", r"\\\1", one) for line in lines for one in line]
    return rows


def read_matter(
    places: Sequence[Path], rows: Mapping[str, Mapping[str, Sequence[str]]]
) -> dict[str, dict[str, list[list[str]]]]:
    """Return language → source → runs of sentences."""
    matter: dict[str, dict[str, list[list[str]]]] = defaultdict(lambda: defaultdict(list))
    for row in everyday_questions():
        matter[row.language]["everyday"].append(split_sentences(row.text))
    for code, kinds in rows.items():
        matter[code]["written"] += [split_sentences(text) for text in kinds["matter"]]
    for table in ("colloquial", "translations", "everyday"):
        for row in read(FOLDER / "people" / f"{table}.tsv"):
            matter[row[0 if table == "everyday" else 2]]["people"].append(split_sentences(row[-1]))
    for place in places:
        with Archive.open(place) as archive:
            view = archive.view()
            language = view.language or max(view.languages, default="en")
            for _, question in view.questions():
                found = matter[language][place.name]
                found.append([question.title])
                body = split_sentences(plain_text(question.body, question.markup))[:-1]
                found += [body[n : n + 3] for n in range(1, min(len(body), 10), 3)]
            for _, answer in view.answers():
                body = split_sentences(plain_text(answer.body, answer.markup))
                matter[language][place.name] += [body[n : n + 3] for n in range(0, min(len(body), 12), 3)]
    for code, sources in matter.items():
        polite = re.compile(
            rf"\b(?:{'|'.join(map(re.escape, [*talk.list_courtesies(code), *PLEAS]))})\b", re.IGNORECASE
        )
        for name, runs in sources.items():
            if name != "written":
                runs[:] = [run for run in runs if not any(map(polite.search, run))]
    return matter


def make_texts(
    code: str, rows: Mapping[str, Sequence[str]], sources: Mapping[str, Sequence[Sequence[str]]], n: int
) -> Iterator[list[Piece]]:
    """Yield texts of a language; each source of matter has the same part, but that of few sentences."""
    rng = random.Random(f"{SEED} {code}")
    pool = []
    for runs in sources.values():
        runs = [run for run in runs if run and all(one.count(" ") > 1 and len(one) < 300 for one in run)]
        pool.append(rng.sample(runs, min(len(runs), 3000)))
    writer = Writer(rows, pool, rng)
    for _ in range(n):
        yield writer.write()


def label(pieces: Sequence[Piece]) -> tuple[talk.Words | None, list[bool]]:
    """Return the words of a text, and for each whether it is talk."""
    text, ends = "", []
    for part, is_talk in pieces:
        text += part
        ends.append((len(text), is_talk))
    words = talk.read_words(text)
    spans = words.spans if words else ()
    return words, [next(is_talk for end, is_talk in ends if start < end) for start, _ in spans]


class Examples(NamedTuple):
    """Texts as numbers: features (words, n), gaps and labels of words, where each text begins, and the last ends."""

    features: Array
    gaps: Array
    labels: Array
    starts: Array

    @classmethod
    def of_texts(cls, texts: Sequence[Sequence[Piece]]) -> Self:
        """Read texts."""
        labelled = [(words, labels) for words, labels in map(label, texts) if words]
        words = [words for words, _ in labelled]
        counts = [len(labels) for _, labels in labelled]
        return cls(
            np.concatenate([one.features for one in words]),
            np.concatenate([one.gaps for one in words]),
            np.concatenate([labels for _, labels in labelled]).astype(np.int64),
            np.cumsum([0, *counts]),
        )


def fit(texts: Sequence[Sequence[Piece]], epochs: int = EPOCHS) -> tuple[Array, Array]:
    """Return the weights of features, and those of changes: (gaps, before, after); means of the last half of epochs."""
    examples = Examples.of_texts(texts)
    weights, changes = np.zeros(talk.SIZE), np.zeros((talk.GAPS, 2, 2))
    sums, change_sums = np.full(talk.SIZE, 1e-3), np.full(changes.shape, 1e-3)
    rng = np.random.default_rng(SEED)
    late = [np.zeros_like(weights), np.zeros_like(changes)]
    for epoch in range(epochs):
        order = rng.permutation(len(examples.starts) - 1)
        loss = learn(*examples, order, SEED + epoch, weights, changes, sums, change_sums)
        print(f"epoch {epoch}: {loss / len(examples.labels):.4f}", file=sys.stderr, flush=True)
        if epoch >= epochs // 2:
            late = [late[0] + weights, late[1] + changes]
    return late[0] / (epochs - epochs // 2), late[1] / (epochs - epochs // 2)


@numba.njit(cache=True)
def learn(features, gaps, labels, starts, order, seed, weights, changes, sums, change_sums):  # type: ignore[no-untyped-def]
    """Go through the texts once: a step by the gradient of the conditional likelihood for each (AdaGrad).

    Each feature of each word is dropped at random, so that the others learn to do without.
    """
    np.random.seed(seed)
    total = 0.0
    width = features.shape[1]
    for text in order:
        start, end = starts[text], starts[text + 1]
        n = end - start
        kept = np.random.random((n, width)) >= DROPPED
        odds = np.zeros(n)
        for t in range(n):
            for f in range(width):
                if kept[t, f]:
                    odds[t] += weights[features[start + t, f]] / (1 - DROPPED)
        forward, backward = np.zeros((n, 2)), np.zeros((n, 2))
        forward[0, 1] = odds[0]
        for t in range(1, n):
            step = changes[gaps[start + t]]
            for j in range(2):
                forward[t, j] = j * odds[t] + np.logaddexp(
                    forward[t - 1, 0] + step[0, j], forward[t - 1, 1] + step[1, j]
                )
        for t in range(n - 2, -1, -1):
            step = changes[gaps[start + t + 1]]
            for i in range(2):
                backward[t, i] = np.logaddexp(
                    step[i, 0] + backward[t + 1, 0], step[i, 1] + odds[t + 1] + backward[t + 1, 1]
                )
        norm = np.logaddexp(forward[n - 1, 0], forward[n - 1, 1])
        total += norm
        for t in range(n):
            y = labels[start + t]
            total -= y * odds[t]
            pull = y - np.exp(forward[t, 1] + backward[t, 1] - norm)
            if abs(pull) > 1e-4:
                for f in range(width):
                    if kept[t, f]:
                        w = features[start + t, f]
                        g = pull - L2 * weights[w]
                        sums[w] += g * g
                        weights[w] += RATE * g / np.sqrt(sums[w])
            if t:
                gap = gaps[start + t]
                before = labels[start + t - 1]
                total -= changes[gap, before, y]
                for i in range(2):
                    for j in range(2):
                        share = np.exp(forward[t - 1, i] + changes[gap, i, j] + j * odds[t] + backward[t, j] - norm)
                        g = (i == before) * (j == y) - share
                        change_sums[gap, i, j] += g * g
        for t in range(1, n):
            gap, before, y = gaps[start + t], labels[start + t - 1], labels[start + t]
            step = changes[gap].copy()
            for i in range(2):
                for j in range(2):
                    share = np.exp(forward[t - 1, i] + step[i, j] + j * odds[t] + backward[t, j] - norm)
                    changes[gap, i, j] += (
                        RATE * ((i == before) * (j == y) - min(1.0, share)) / np.sqrt(change_sums[gap, i, j])
                    )
    return total


def draw_sentences(
    code: str, rows: Mapping[str, Sequence[str]], sources: Mapping[str, Sequence[Sequence[str]]]
) -> tuple[list[str], list[str]]:
    """Return sentences of talk and of matter in a language."""
    rng = random.Random(f"{SEED} {code} sentences")
    writer = Writer(rows, [], rng)
    told = [writer.write_talk() for _ in range(TALK_SENTENCES)]
    pools = [[one for run in runs for one in run if one.count(" ") > 2 and len(one) < 250] for runs in sources.values()]
    asked = [rng.choice(rng.choice([pool for pool in pools if pool])) for _ in range(MATTER_SENTENCES)]
    return told, [one.lower().rstrip(".?!") if rng.random() < 0.3 else one for one in asked]


def find_direction(told: Array, asked: Array) -> Floats32:
    """Return the weights of a logistic regression on vectors of talk and of matter, (dim + 1)."""
    vectors = np.concatenate([told, asked]).astype(np.float64)
    mean = vectors.mean(axis=0)
    rows = np.c_[vectors - mean, np.ones(len(vectors))]
    signs = np.repeat([1.0, -1.0], [len(told), len(asked)])

    def loss(weights: Array) -> tuple[float, Array]:
        margins = signs * (rows @ weights)
        pull = -signs / (1 + np.exp(margins))
        return np.logaddexp(
            0, -margins
        ).sum() + DIRECTION_L2 / 2 * weights @ weights, pull @ rows + DIRECTION_L2 * weights

    weights = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 300}).x
    weights[-1] -= weights[:-1] @ mean
    return weights.astype(np.float32)


def encode(encoder: encoders.Encoder, texts: Sequence[str]) -> Array:
    """Return the vectors of texts as titles."""
    return np.asarray(concatenate_parts(encoder.encode_queries([Question(text, text) for text in texts])), np.float32)


class Model(NamedTuple):
    """What is fitted: see `talk._Model`."""

    weights: Array
    changes: Array
    directions: Mapping[str, Floats32]

    def install(self, path: Path) -> None:
        """Write it, 8 bits a weight, and let `askalike.text.talk` read it."""
        scale = float(np.abs(self.weights).max()) / 127
        packed = np.rint(self.weights / scale).astype(np.int8)
        np.savez_compressed(
            path, weights=packed, scale=np.float32(scale), changes=self.changes.astype(np.float32),
            templates=np.array(TEMPLATES, np.int8),
            bag=np.array(BAG, np.int8), **self.directions,
        )  # fmt: skip
        talk._read_model.cache_clear()
        talk.MODEL_FILE = str(path)


class Learner:
    """Learns from the texts of some languages and archives. Vectors are computed once."""

    def __init__(self, places: Sequence[Path]) -> None:
        Model(np.ones(talk.SIZE), np.zeros((talk.GAPS, 2, 2)), {}).install(Path(tempfile.gettempdir()) / "talk.npz")
        self.rows = read_rows()
        self.matter = read_matter(places, self.rows)
        self.encoders = {name: encoders.build(name, {}) for name in ENCODERS}
        self._vectors: dict[tuple[str, str, bool], Array] = {}

    def learn(self, language: str = "", source: str = "", texts: int = TEXTS) -> Model:
        """Return a model that has seen nothing of a language, and of an archive. texts: see TEXTS."""
        kept = {
            code: {name: runs for name, runs in self.matter[code].items() if name != source}
            for code in self.rows if code != language
        }  # fmt: skip
        made = [
            one for code, sources in kept.items()
            for one in make_texts(code, self.rows[code], sources, texts if code in LANGUAGES else texts // 4)
        ]  # fmt: skip
        random.Random(SEED).shuffle(made)
        directions = {}
        for name, codes in ENCODERS.items():
            if seen := [code for code in codes if code in kept]:
                told, asked = zip(*(self._encode(name, code, kept[code], source) for code in seen), strict=True)
                directions[name] = find_direction(np.concatenate(told), np.concatenate(asked))
        return Model(*fit(made), directions)

    def _encode(
        self, name: str, code: str, sources: Mapping[str, Sequence[Sequence[str]]], source: str
    ) -> tuple[Array, Array]:
        key = name, code, source in self.matter[code]
        if key not in self._vectors:
            both = draw_sentences(code, self.rows[code], sources)
            self._vectors[key] = [encode(self.encoders[name], texts) for texts in both]
        return self._vectors[key]


def read_tests(code: str, archive: str = "") -> list[list[Piece]]:
    """Return the polite texts of people/test/ in a language as pieces. archive: the only one asked."""
    folder = FOLDER / "people" / "test"
    rows = read(folder / "colloquial.tsv")
    asked = [text for name, _, language, text in rows if language == code and archive in ("", name)]
    asked += [] if archive else [text for language, _, text in read(folder / "everyday.tsv") if language == code]
    frames = [row[1:] for row in read(folder / "polite.tsv") if row[0] == code]
    frames = [[part.replace("\\n", "\n") for part in frame] for frame in frames]
    return [
        [(before, True), (f" {text}", False), (f" {after}", True)]
        for n, text in enumerate(asked)
        for before, after in [(frames[n % len(frames)][0], frames[7 * n % len(frames)][1])]
    ]  # fmt: skip


def measure(learner: Learner, model: Model, code: str, archive: str = "") -> dict[str, Any]:
    """Return the shares of words and of sentences that are called talk, of talk and of matter, in per cent."""
    model.install(Path(tempfile.gettempdir()) / "talk.npz")
    called: dict[bool, list[bool]] = {True: [], False: []}
    sentences: dict[bool, set[str]] = {True: set(), False: set()}
    for pieces in read_tests(code, archive):
        words, labels = label(pieces)
        for is_talk, found in zip(labels, talk.find_states(talk.score_words(words), words.gaps), strict=True):
            called[is_talk].append(found)
        for text, is_talk in pieces:
            sentences[is_talk].update(split_sentences(text))
    row: dict[str, Any] = {"language": code, "archive": archive or None}
    for is_talk, name in ((True, "talk"), (False, "matter")):
        row[f"{name}, words"] = len(called[is_talk])
        row[f"{name}, words called talk"] = round(100 * float(np.mean(called[is_talk])), 1)
        row[f"{name}, sentences"] = len(sentences[is_talk])
        for encoder, codes in ENCODERS.items():
            if code in codes and encoder in model.directions:
                vectors = encode(learner.encoders[encoder], sorted(sentences[is_talk]))
                odds = vectors @ model.directions[encoder][:-1] + model.directions[encoder][-1]
                row[f"{name}, sentences called talk by {encoder}"] = round(100 * float(np.mean(odds > MIN_ODDS)), 1)
    return row


def main() -> None:
    """Fit, measure, and write the rows as a JSON list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="+", type=Path, metavar="ARCHIVE")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    learner = Learner(options.archives)
    whole = learner.learn()
    if options.write:
        whole.install(PACKAGED)
    tested = [code for code in LANGUAGES if read_tests(code)]
    rows = [{"learned": "all"} | measure(learner, whole, code) for code in tested]
    rows += [
        {"learned": f"all but {code}"} | measure(learner, learner.learn(code, texts=FEW_TEXTS), code) for code in tested
    ]
    for name, queries, code in LEFT_OUT:
        model = learner.learn(source=name, texts=FEW_TEXTS)
        rows.append({"learned": f"all but {name}"} | measure(learner, model, code, queries))
    command = shlex.join(["python", "experiments/talk.py", *(place.name for place in options.archives)])
    with Archive.open(options.archives[0]) as archive:
        rows = [row | {"provenance": collect_provenance(archive, command)} for row in rows]
    print("[", ",\n".join(map(json.dumps, rows)), "]", sep="\n")


if __name__ == "__main__":
    main()
