"""The engine of the registry: indexes in an OpenSearch cluster, which any number of processes can search.

The archive itself is not moved. Ranking, fusion, explanations and calibration are the same as with local files: only
the postings and vectors are in the cluster.
"""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Self

from askalike.plugin.index import IndexEngine, IndexLocation, LexicalLayout, TermScorer, VectorLayout
from askalike_opensearch.connection import OpenSearchConnection, connect
from askalike_opensearch.lexical import OpenSearchLexicalIndex
from askalike_opensearch.scoring import similarity_settings
from askalike_opensearch.vectors import OpenSearchVectorIndex

NAME = "opensearch"
"""The name of the engine in the registry, and the beginning of its addresses."""
PREFIX = "askalike-"


class OpenSearchEngine(IndexEngine):
    """The indexes of archives in one cluster, each named `askalike-ARCHIVE-DIGEST-INDEX`."""

    def __init__(self, connection: OpenSearchConnection) -> None:
        self._cluster = connection

    @classmethod
    def connect(cls, url: str) -> Self:
        return cls(connect(url))

    def lexical(self, location: IndexLocation, layout: LexicalLayout, similarity: TermScorer) -> OpenSearchLexicalIndex:
        """Open a separate index for each similarity, since a cluster's similarity is a setting of the index."""
        settings = similarity_settings(similarity)
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
        return OpenSearchLexicalIndex(self._cluster, f"{_full_name(location)}-{digest}", layout, settings)

    def vectors(
        self, location: IndexLocation, layout: VectorLayout, exact_up_to: int, count_documents: Callable[[], int]
    ) -> OpenSearchVectorIndex:
        """Open an index of vectors; new generations with more documents than `exact_up_to` have a graph."""
        return OpenSearchVectorIndex(self._cluster, _full_name(location), layout, exact_up_to, count_documents)


def archive_prefix(path: Path, created_at: str | None) -> str:
    """Return the prefix of the names of an archive's indexes. created_at: the date of its first change."""
    folder = path.resolve().name
    slug = re.sub("[^a-z0-9]+", "-", folder.lower()).strip("-")[:40]
    return f"{PREFIX}{slug}-{hashlib.sha256(f'{folder} {created_at}'.encode()).hexdigest()[:8]}-"


def _full_name(location: IndexLocation) -> str:
    return archive_prefix(location.archive, location.created_at) + location.name
