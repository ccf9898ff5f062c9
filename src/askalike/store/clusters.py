"""The duplicate clusters of an archive: the transitive closure of all its labels."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from askalike.store.database import Database
from askalike.store.labels import imported_splits, read_labels


@dataclass(frozen=True, slots=True)
class Clusters:
    """The duplicate clusters of an archive, and the names of those that held-out splits have labels of.

    Every duplicate link and every positive judgement joins two texts, also those of held-out splits and those through a
    question that was deleted. No label therefore joins two texts of different clusters.
    """

    name_by_text: Mapping[str, str]
    """Text id → its cluster's name, the smallest id in it. A text without an entry is a cluster of its own."""
    held_out: frozenset[str] = frozenset()
    """The names of the clusters with a text in a held-out split."""

    @classmethod
    def read(cls, database: Database, held_out_splits: Sequence[str] = ()) -> Self:
        """Read the clusters of an archive; 200,000 labels take about a second."""
        names = connected_components(_label_edges(database))
        texts = (label.text_id for split in held_out_splits for label in read_labels(database, split))
        return cls(names, frozenset(names.get(text, text) for text in texts))

    @property
    def visible_names(self) -> Mapping[str, str]:
        """Text id → cluster name, for the clusters of at least two texts that are not held out."""
        sizes = Counter(self.name_by_text.values())
        return {text: name for text, name in self.name_by_text.items() if sizes[name] > 1 and name not in self.held_out}

    def cluster_of(self, text_id: str) -> str:
        """Return the name of a text's cluster."""
        return self.name_by_text.get(text_id, text_id)

    def is_held_out(self, *text_ids: str) -> bool:
        """Return whether the cluster of any of these texts is held out."""
        return any(self.cluster_of(text) in self.held_out for text in text_ids)


def connected_components(edges: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Map every node of an undirected graph to the smallest node of its connected component.

    The result does not depend on the order of the edges.
    """
    parent: dict[str, str] = {}

    def root(node: str) -> str:
        while parent.setdefault(node, node) != node:
            parent[node] = node = parent[parent[node]]
        return node

    for left, right in edges:
        low, high = sorted((root(left), root(right)))
        parent[high] = low
    return {node: root(node) for node in parent}


def _label_edges(database: Database) -> Iterator[tuple[str, str]]:
    """Yield the ids of the two texts that each duplicate link and each positive judgement joins."""
    yield from database._connection.execute("SELECT source, target FROM links WHERE kind = 'duplicate'")
    for split in imported_splits(database):
        yield from (
            (label.text_id, label.relevant_id)
            for label in read_labels(database, split)
            if label.relevant_id is not None
        )
