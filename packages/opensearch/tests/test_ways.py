"""A cluster finds what the archive's own indexes find, with the same grades."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import askalike
from contracts.ways_contract import *  # noqa: F403 (tests and their fixtures)
from contracts.ways_contract import WORDS, ArchiveRetriever, Hits, asked

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def ask(cluster_url: str, library: Path, engine: ArchiveRetriever) -> Iterator[Callable[[str], Hits]]:
    """Ask the cluster, once the local indexes have measured the limits of grades, which both share."""
    asked(engine, "card")
    with askalike.load(library, WORDS, engine=f"opensearch+{cluster_url}") as cluster:
        yield lambda text: asked(cluster, text)
