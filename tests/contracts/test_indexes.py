"""What both indexes promise, in memory and in a directory: numbers in, numbers out, without an archive."""

import doctest

import numpy as np
import pytest

from askalike.core.arrays import VectorPart, Vectors
from askalike.core.filters import AllowedDocs
from askalike.index.lexical import index as lexical
from askalike.index.vectors import index as vectors
from askalike.similarities.bm25 import Bm25Similarity

WORDS = [f"w{n}" for n in range(12)]


class Terms:
    """A LexicalIndex of random lists of terms."""

    def __init__(self, path):
        self.path, self.index = path, lexical.LexicalIndex.create(path)

    def document(self, seed):
        rng = np.random.default_rng(seed)
        return list(rng.choice(WORDS, rng.integers(1, 9)))

    def add(self, documents):
        self.index.add(documents)

    def search(self, queries, k=5, allowed=None):
        return self.index.search(queries, Bm25Similarity(), k, allowed)

    def reopen(self):
        self.index = lexical.LexicalIndex.open(self.path)


class Numbers(Terms):
    """A VectorIndex of random vectors."""

    def __init__(self, path):
        self.path, self.index = path, vectors.VectorIndex.create(path)

    def document(self, seed):
        return np.random.default_rng(seed).standard_normal(8).astype(np.float32)

    def add(self, documents):
        docids = sorted(documents)
        self.index.add(docids, self._vectors([documents[docid] for docid in docids]))

    def search(self, queries, k=5, allowed=None):
        return self.index.search(self._vectors(queries), k, allowed)

    def reopen(self):
        self.index = vectors.VectorIndex.open(self.path)

    def _vectors(self, rows):
        return Vectors((VectorPart(np.array(rows, np.float32)),))


KINDS = {"lexical": Terms, "vectors": Numbers}


@pytest.fixture(params=[(kind, place) for kind in KINDS for place in ("memory", "directory")], ids="-".join)
def index(request, tmp_path):
    kind, place = request.param
    return KINDS[kind](tmp_path / "index" if place == "directory" else None)


def pairs(tops):
    return [list(zip(top.docids.tolist(), top.scores.tolist(), strict=True)) for top in tops]


def filled(index, count=300, step=25):
    for first in range(0, count, step):
        index.add({docid: index.document(docid) for docid in range(first, first + step)})
    return index


def test_empty_index_finds_nothing(index):
    assert pairs(index.search([index.document(1)])) == [[]]


def test_search_best_first_at_most_k(index):
    [top] = pairs(filled(index).search([index.document(7)], k=10))
    assert len(top) == 10
    assert top == sorted(top, key=lambda pair: (-pair[1], pair[0]))
    assert top[0][1] >= dict(top).get(7, top[0][1])


def test_search_batch_equals_one_by_one(index):
    filled(index)
    queries = [index.document(seed) for seed in range(1000, 1020)]
    assert pairs(index.search(queries)) == [pairs(index.search([query]))[0] for query in queries]


def test_search_allowed_documents_only(index):
    docids = np.arange(0, 300, 7)
    [top] = pairs(filled(index).search([index.document(7)], 20, AllowedDocs(lambda: docids)))
    assert top
    assert {docid for docid, _ in top} <= set(docids.tolist())


def test_add_replaces_and_delete_removes(index):
    filled(index)
    index.add({3: index.document(999)})
    [before] = pairs(index.search([index.document(999)], 1))
    assert before[0][0] == 3
    index.index.delete([3, 4])
    after = {docid for docid, _ in pairs(index.search([index.document(999)], 300))[0]}
    assert after
    assert not after & {3, 4}


@pytest.mark.parametrize("kind", KINDS)
def test_memory_equals_directory_and_reopened(kind, tmp_path):
    stored, memory = (filled(KINDS[kind](path)) for path in (tmp_path / "index", None))
    for each in (stored, memory):
        each.index.delete(range(40, 120))
        each.add({docid: each.document(5000 + docid) for docid in range(60, 80)})
    queries = [memory.document(seed) for seed in range(2000, 2030)]
    expected = pairs(memory.search(queries))
    assert pairs(stored.search(queries)) == expected
    stored.reopen()
    assert pairs(stored.search(queries)) == expected
    with pytest.raises(ValueError, match="memory"):
        _ = memory.index.folder


@pytest.mark.parametrize("module", [lexical, vectors])
def test_examples_of_docstrings(module):
    results = doctest.testmod(module)
    assert (results.failed, results.attempted > 3) == (0, True)
