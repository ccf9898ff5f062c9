"""Training pairs as numbers: every distinct text once, pairs and negatives by their texts' numbers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from askalike.text.features._features import FeatureRows, Text
from askalike.types import Answer, TrainingPair

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TrainingTexts:
    """The distinct texts of pairs, and others to draw negatives from."""

    texts: Sequence[Text]
    index_by_id: dict[str, int]
    """Id → the number of the first text that has it."""
    clusters: Indices
    """The cluster of each text; texts that are in no pair have one of their own."""
    query: Indices
    """The number of each pair's query."""
    positive: Indices
    """The number of each pair's other text."""
    pair_clusters: Indices

    @property
    def is_answer(self) -> NDArray[np.bool_]:
        """Which texts are answers, (texts,)."""
        return np.array([isinstance(text, Answer) for text in self.texts])

    @property
    def kinds(self) -> Indices:
        """What each text is, (texts,): 0 an answer, 1 a body alone, 2 a question."""
        return np.array([0 if isinstance(text, Answer) else 1 if not text.title else 2 for text in self.texts])


@dataclass(frozen=True, slots=True)
class Examples:
    """What a network is trained on. `negatives` (pairs, m) are numbers of texts, −1 where there is none."""

    rows: FeatureRows
    is_answer: NDArray[np.bool_]
    query: Indices
    positive: Indices
    clusters: Indices
    """The cluster of each pair."""
    negatives: Indices
    ids: Sequence[str]
    """What each text is called, to tell a person which batch failed."""
    targets: NDArray[np.float32] | None = None
    """A teacher's vectors of the texts, (texts, dim), where there is one; pairs are then of a text with itself."""

    def __len__(self) -> int:
        return len(self.query)


def collect_texts(pairs: Sequence[TrainingPair], others: Iterable[Text] = ()) -> TrainingTexts:
    """The texts of pairs, each once, then those of `others` that are not among them.

    Texts of one id are of one cluster, even if they differ (a title, and the body of the same question).
    """
    texts: dict[tuple[str, str, str], Text] = {}
    for pair in pairs:
        texts.setdefault(_text_key(pair.query), pair.query)
        texts.setdefault(_text_key(pair.positive), pair.positive)
    for text in others:
        texts.setdefault(_text_key(text), text)
    numbers = {key: n for n, key in enumerate(texts)}
    names = {name: n for n, name in enumerate(dict.fromkeys(pair.cluster for pair in pairs))}
    known = {text.id: names[pair.cluster] for pair in pairs for text in (pair.query, pair.positive)}
    return TrainingTexts(
        list(texts.values()),
        {id: n for (_, id, _), n in reversed(numbers.items())},
        np.array([known.get(key[1], len(names) + n) for key, n in numbers.items()], np.int64),
        np.array([numbers[_text_key(pair.query)] for pair in pairs], np.int64),
        np.array([numbers[_text_key(pair.positive)] for pair in pairs], np.int64),
        np.array([names[pair.cluster] for pair in pairs], np.int64),
    )


def _text_key(text: Text) -> tuple[str, str, str]:
    """Texts of one id may differ: a title, and the body of the same question."""
    content = text.body if isinstance(text, Answer) else f"{text.title}\n{text.body}"
    return type(text).__name__, text.id, content
