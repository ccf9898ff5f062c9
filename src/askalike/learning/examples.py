"""Training pairs as arrays: distinct texts, and pairs and negatives by the numbers of their texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from askalike.core.types import Answer, TrainingPair
from askalike.text.features import FeatureRows, Text

Indices = NDArray[np.int64]


class TrainingTexts(NamedTuple):
    """The distinct texts of pairs, and others to draw negatives from."""

    texts: Sequence[Text]
    index_by_id: dict[str, int]
    """Id → the number of the first text with it."""
    clusters: Indices
    """(texts,), the cluster of each text; a text in no pair and no known cluster has one of its own."""
    query: Indices
    positive: Indices
    """(pairs,) like `query`, the numbers of each pair's texts."""

    @property
    def pair_clusters(self) -> Indices:
        """(pairs, 2), the clusters of each pair's query and positive: no negative of the pair is of these."""
        return self.clusters[np.stack((self.query, self.positive), 1)]

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
    """The training data of a network: features, clusters and ids of texts, (texts,), and pairs of their numbers.

    query, positive: (pairs,). negatives: (pairs, m), −1 for none. relevant: (pairs,), False for a pair judged
    irrelevant; None: all are.
    """

    rows: FeatureRows
    is_answer: NDArray[np.bool_]
    query: Indices
    positive: Indices
    clusters: Indices
    negatives: Indices
    ids: Sequence[str]
    relevant: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.query)


def collect_texts(
    pairs: Sequence[TrainingPair], others: Iterable[Text] = (), known_clusters: Mapping[str, str] | None = None
) -> TrainingTexts:
    """Return the texts of pairs, then `others`, each once; texts with one id are in one cluster even if they differ.

    A query that is the positive of no pair may be of several clusters, those of what answers it; the last one counts.
    known_clusters: the id of a question → its cluster, also of those in no pair.
    """
    texts: dict[tuple[str, str, str], Text] = {}
    for text in (*(text for pair in pairs for text in (pair.query, pair.positive)), *others):
        texts.setdefault(_text_key(text), text)
    numbers = {key: n for n, key in enumerate(texts)}
    cluster_by_id = {_text_key(pair.query)[:2]: pair.query_cluster or pair.cluster for pair in pairs}
    cluster_by_id |= {_text_key(pair.positive)[:2]: pair.cluster for pair in pairs}
    known = known_clusters or {}
    clusters = [cluster_by_id.get((kind, id), known.get(id) if kind == "Question" else None) for kind, id, _ in texts]
    names = {name: n for n, name in enumerate(dict.fromkeys(filter(None, clusters)))}
    return TrainingTexts(
        list(texts.values()),
        {id: n for (_, id, _), n in reversed(numbers.items())},
        np.array([names.get(cluster or "", len(names) + n) for n, cluster in enumerate(clusters)], np.int64),
        np.array([numbers[_text_key(pair.query)] for pair in pairs], np.int64),
        np.array([numbers[_text_key(pair.positive)] for pair in pairs], np.int64),
    )


def _text_key(text: Text) -> tuple[str, str, str]:
    """Return a text's key: texts with the same id may differ (a title, and the body of the same question)."""
    content = text.body if isinstance(text, Answer) else f"{text.title}\n{text.body}"
    return type(text).__name__, text.id, content
