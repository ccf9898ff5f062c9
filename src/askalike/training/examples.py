"""Training pairs as arrays: distinct texts, and pairs and negatives by the numbers of their texts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.text.features import FeatureRows, Text
from askalike.types import Answer, TrainingPair

Indices = NDArray[np.int64]


class TrainingTexts(NamedTuple):
    """The distinct texts of pairs, and others to draw negatives from."""

    texts: Sequence[Text]
    index_by_id: dict[str, int]
    """Id → the number of the first text with it."""
    clusters: Indices
    """(texts,), the cluster of each text; a text in no pair is its own cluster."""
    query: Indices
    positive: Indices
    pair_clusters: Indices
    """(pairs,), the cluster of each pair."""

    @property
    def is_answer(self) -> NDArray[np.bool_]:
        """(texts,), True for an answer."""
        return np.array([isinstance(text, Answer) for text in self.texts])

    @property
    def kinds(self) -> Indices:
        """(texts,), 0 for an answer, 1 for a body alone, 2 for a question."""
        return np.array([0 if isinstance(text, Answer) else 1 if not text.title else 2 for text in self.texts])


@dataclass(frozen=True, slots=True)
class Examples:
    """The training data of a network: features, (texts,), ids of texts, and pairs of their numbers.

    query, positive, clusters: (pairs,). negatives: (pairs, m), −1 for none. targets: (texts, dim), a teacher's vectors;
    the pairs are then of a text with itself. relevant: (pairs,), False for a pair judged irrelevant; None: all are.
    """

    rows: FeatureRows
    is_answer: NDArray[np.bool_]
    query: Indices
    positive: Indices
    clusters: Indices
    negatives: Indices
    ids: Sequence[str]
    targets: NDArray[np.float32] | None = None
    relevant: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.query)


def collect_texts(pairs: Sequence[TrainingPair], others: Iterable[Text] = ()) -> TrainingTexts:
    """Return the distinct texts of pairs, then `others`; texts with the same id are always in the same cluster."""
    texts: dict[tuple[str, str, str], Text] = {}
    for text in (*(text for pair in pairs for text in (pair.query, pair.positive)), *others):
        texts.setdefault(_text_key(text), text)
    numbers = {key: n for n, key in enumerate(texts)}
    names = {name: n for n, name in enumerate(dict.fromkeys(pair.cluster for pair in pairs))}
    cluster_by_id = {text.id: names[pair.cluster] for pair in pairs for text in (pair.query, pair.positive)}
    return TrainingTexts(
        list(texts.values()),
        {id: n for (_, id, _), n in reversed(numbers.items())},
        np.array([cluster_by_id.get(key[1], len(names) + n) for key, n in numbers.items()], np.int64),
        np.array([numbers[_text_key(pair.query)] for pair in pairs], np.int64),
        np.array([numbers[_text_key(pair.positive)] for pair in pairs], np.int64),
        np.array([names[pair.cluster] for pair in pairs], np.int64),
    )


def _text_key(text: Text) -> tuple[str, str, str]:
    """Return a text's key: texts with the same id may differ (a title, and the body of the same question)."""
    content = text.body if isinstance(text, Answer) else f"{text.title}\n{text.body}"
    return type(text).__name__, text.id, content
