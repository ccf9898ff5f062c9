"""The index of vectors answers as the definition says, whatever it went through, in every storage."""

import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from brute import exclusions, is_excluded
from hypothesis import example, given, strategies as st
from scipy import sparse

from askalike.core.arrays import VectorPart, Vectors
from askalike.core.errors import SearchIndexError
from askalike.core.filters import AllowedDocs
from askalike.index.files import ARRAYS_FILE, open_arrays, release_pages
from askalike.index.rows import DocAttributes
from askalike.index.vectors import codes
from askalike.index.vectors.index import PendingVectors, VectorIndex, VectorLayout
from askalike.index.vectors.parts import DensePart, SparsePart, prepare_rows
from askalike.index.vectors.searcher import VectorQueries
from askalike.index.vectors.sketch import CACHED_ROWS, Sketch, exact_dots, exact_half_dots
from random_examples import examples

DIM = 5
NUMBERS = st.integers(0, 12)
rows = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.25, 1.0, 3.0]), min_size=DIM, max_size=DIM).map(tuple)
phrasings = st.lists(rows, min_size=1, max_size=3)
steps = st.lists(
    st.tuples(st.dictionaries(NUMBERS, phrasings, max_size=5), st.sets(NUMBERS, max_size=3)), min_size=1, max_size=6
)
queries = st.lists(st.tuples(rows, exclusions), max_size=6)
METRICS = [("cosine",), ("dot",), ("euclidean",), ("cosine", "dot"), ("dot", "euclidean", "cosine")]
layouts = st.tuples(st.sampled_from(METRICS), st.sampled_from(["f16", "int8", "f32"]), st.booleans())
allowed_numbers = st.none() | st.sets(NUMBERS).map(lambda s: np.array(sorted(s), np.int64))
moderate = examples(60)
pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


def vectors(values, metrics, has_sparse):
    dense = np.array(values, np.float32).reshape(-1, DIM)
    parts = [VectorPart(dense, metric, 1.0 - 0.3 * i) for i, metric in enumerate(metrics)]
    if has_sparse:
        parts.append(VectorPart(sparse.csr_array(dense), "cosine", -0.25))
    return Vectors(tuple(parts))


def add(writer, documents, kind):
    flat = [(n, p, row) for n, rows in sorted(documents.items()) for p, row in enumerate(rows)]
    numbers, phrased, values = ([x[i] for x in flat] for i in range(3))
    attributes = [DocAttributes(title_keys=list(map(title_key, documents[number]))) for number in numbers]
    writer.add(np.array(numbers, np.int64), np.array(phrased, np.uint16), vectors(values, *kind), attributes)


def title_key(row):
    """A key that several rows share, 0 for none."""
    return sum(map(bool, row)) % 3


def titled(documents, key, excluded):
    """The documents with a title, by the definition. A row of zeros has none."""
    return [
        number
        for number, own in sorted(documents.items())
        if any(
            key and title_key(row) == key and not is_excluded(excluded, number, phrasing)
            for phrasing, row in enumerate(own)
        )
    ]


def replayed(steps, kind, storage, path):
    index, documents = VectorIndex.open(path, VectorLayout("x", storage)), {}
    for change, (more, deleted) in enumerate(steps, 1):
        with index.writer() as writer:
            writer.delete(deleted)
            add(writer, more, kind)
            writer.commit(change)
        documents = {n: d for n, d in documents.items() if n not in deleted} | more
        if change % 2:
            index = VectorIndex.open(path, VectorLayout("x", storage))
    return index, documents


def fresh(documents, kind, storage, path):
    index = VectorIndex.open(path, VectorLayout("x", storage))
    with index.writer() as writer:
        add(writer, documents, kind)
        writer.commit(1)
    return index


def make_queries(queries, kind):
    return VectorQueries(vectors([q for q, _ in queries], *kind), [excluded for _, excluded in queries])


def score(document, query, kind, storage):
    """One row against one query, by the definition, over what is kept of the row."""
    total = 0.0
    for kept, wanted in zip(vectors([document], *kind).parts, vectors([query], *kind).parts, strict=True):
        stored = (SparsePart if sparse.issparse(kept.values) else DensePart).from_part(kept, storage)
        x = (stored.rows.toarray() if isinstance(stored, SparsePart) else stored.decode_rows(np.arange(1)))[0].astype(
            np.float64
        )
        y = prepare_rows(wanted)
        y = (y.toarray() if sparse.issparse(y) else y)[0].astype(np.float64)
        total += kept.weight * (-np.sqrt(((x - y) ** 2).sum()) if kept.metric == "euclidean" else x @ y)
    return total


def truth(documents, query, skip, kind, storage, allowed):
    best = {}
    if not any(query) and "euclidean" not in kind[0]:
        return best
    for number, phrasings in documents.items():
        usable = [r for p, r in enumerate(phrasings) if not is_excluded(skip, number, p)]
        usable = [r for r in usable if any(r) or "euclidean" in kind[0]]
        if usable and (allowed is None or number in allowed):
            best[number] = max(score(r, query, kind, storage) for r in usable)
    return best


ALL_ROWS_IN_ANOTHER_ORDER = (
    [({5: [(-1.0,) * DIM], 1: [(-1.0,) * DIM, (-1.0,) * 4 + (-0.5,)]}, set())], (("cosine",), "f16", True),
    [((-1.0,) * DIM, None)], None, 1,
)  # fmt: skip


@moderate
@example(*ALL_ROWS_IN_ANOTHER_ORDER)
@given(steps, layouts, queries, allowed_numbers, st.sampled_from([1, 2, 5, 100]))
def test_incremental_equals_rebuilt_and_the_definition(steps, layout, queries, allowed, k):
    metrics, storage, has_sparse = layout
    kind = (metrics, has_sparse)
    with tempfile.TemporaryDirectory() as folder:
        index, documents = replayed(steps, kind, storage, Path(folder) / "a")
        other = fresh(documents, kind, storage, Path(folder) / "b")
        docs = None if allowed is None else AllowedDocs(lambda: allowed)
        mine, theirs = (i.searcher.search(make_queries(queries, kind), k, docs) for i in (index, other))
        pool = [np.array([5, 1, 99, 2], np.int64)] * len(queries)
        again, anew = (i.searcher.score(make_queries(queries, kind), pool) for i in (index, other))
        keys, skipped = [title_key(query) for query, _ in queries], [skip for _, skip in queries]
        titles = index.searcher.find_titles(keys, skipped)
        assert [titles.get(row, []) for row in range(len(keys))] == [
            titled(documents, *one) for one in zip(keys, skipped, strict=True)
        ]
        assert [(f.docids.tolist(), f.scores.tolist()) for f in mine] == [
            (f.docids.tolist(), f.scores.tolist()) for f in theirs
        ]
        np.testing.assert_array_equal(again, anew)
        for found, scores, (query, skip) in zip(mine, again, queries, strict=True):
            expected = truth(documents, query, skip, kind, storage, allowed)
            assert len(found.docids) == min(k, len(expected))
            np.testing.assert_allclose(found.scores, [expected[n] for n in found.docids], rtol=1e-5, atol=1e-5)
            np.testing.assert_allclose(found.scores, sorted(expected.values(), reverse=True)[:k], rtol=1e-5, atol=1e-5)
            assert [*found.docids] == [n for n, _ in sorted(zip(found.docids, found.scores, strict=True),
                                                             key=lambda x: (-x[1], x[0]))]  # fmt: skip
            everything = truth(documents, query, skip, kind, storage, None)
            np.testing.assert_allclose(scores, [everything.get(n, np.nan) for n in pool[0]], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_best_rows_of_a_sparse_part_are_found(tmp_path, metric):
    rows = sparse.random_array((500, 40), density=0.2, format="csr", dtype=np.float32, rng=np.random.default_rng(1))
    index = VectorIndex.open(tmp_path, VectorLayout("x", "f16"))
    with index.writer() as writer:
        writer.add(np.arange(500), np.zeros(500), Vectors((VectorPart(rows, metric),)))
        writer.commit(1)
    part = VectorPart(rows[:20], metric)
    stored, wanted = prepare_rows(VectorPart(rows, metric)).toarray(), prepare_rows(part).toarray()
    distances = np.linalg.norm(stored[None] - wanted[:, None], axis=2)
    expected = -distances if metric == "euclidean" else wanted @ stored.T
    found = index.searcher.search(VectorQueries(Vectors((part,)), [None] * 20), 10)
    best = np.sort(expected)[:, ::-1][:, :10]
    np.testing.assert_allclose([top.scores for top in found], best, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("waiting", [[(0.0,) * DIM, (1.0,) * DIM], [(0.0,) * DIM]])
@pytest.mark.parametrize("kind", [(("cosine",), False), (("cosine", "dot"), True)])
def test_waiting_vectors_are_found_as_if_committed(tmp_path, waiting, kind):
    index = fresh({1: [(1.0, 0.0, 0.0, 0.0, 0.0)], 2: [(0.0, 1.0, 0.0, 0.0, 0.0)]}, kind, "f16", tmp_path / "waits")
    numbers = np.arange(2, 2 + len(waiting))
    keys = np.array(list(map(title_key, waiting)), np.uint64)
    pending = PendingVectors(numbers, np.zeros(len(waiting), np.uint16), vectors(waiting, *kind), keys)
    early = index.search_with(pending, numbers.tolist())
    with index.writer() as writer:
        add(writer, {int(n): [row] for n, row in zip(numbers, waiting, strict=True)}, kind)
        writer.commit(2)
    wanted, candidates = make_queries([((1.0, 0.5, 0.0, 0.0, 0.0), None)], kind), [np.array([1, *numbers])]
    [found], [expected] = (searcher.search(wanted, 9) for searcher in (early, index.searcher))
    assert (found.docids.tolist(), found.scores.tolist()) == (expected.docids.tolist(), expected.scores.tolist())
    np.testing.assert_array_equal(early.score(wanted, candidates)[0], index.searcher.score(wanted, candidates)[0])
    titles, later = (searcher.find_titles([2], [None]) for searcher in (early, index.searcher))
    assert titles == later


@pytest.mark.parametrize("storage", ["f16", "int8", "f32"])
def test_batches_are_single_queries_and_k_a_prefix(tmp_path, storage):
    generator = np.random.default_rng(1)
    values = generator.standard_normal((3_000, 64)).astype(np.float32)
    index = VectorIndex.open(tmp_path, VectorLayout("x", storage))
    with index.writer() as writer:
        writer.add(np.arange(3_000), np.zeros(3_000), Vectors((VectorPart(values),)))
        writer.commit(1)
    batch = VectorQueries(Vectors((VectorPart(generator.standard_normal((20, 64)).astype(np.float32)),)), [None] * 20)
    together = index.searcher.search(batch, 50)
    assert len(together) == 20
    for i, whole in enumerate(together):
        one = VectorQueries(Vectors((VectorPart(batch.vectors.parts[0].values[i : i + 1]),)), [None])
        for k in (1, 10, 50):
            found = index.searcher.search(one, k)[0]
            assert found.docids.tolist() == whole.docids[:k].tolist()
            assert found.scores.tolist() == whole.scores[:k].tolist()


def test_other_vectors_than_the_indexs_are_refused(tmp_path):
    index = VectorIndex.open(tmp_path, VectorLayout("x"))
    with index.writer() as writer:
        writer.add(np.arange(2), np.zeros(2), Vectors((VectorPart(np.ones((2, 4), np.float32)),)))
        with pytest.raises(SearchIndexError, match="do not match"):
            writer.add(np.arange(2), np.zeros(2), Vectors((VectorPart(np.ones((2, 3), np.float32)),)))
        writer.commit(1)
    with pytest.raises(SearchIndexError, match="rebuild it"):
        index.searcher.search(VectorQueries(Vectors((VectorPart(np.ones((1, 3), np.float32)),)), [None]), 1)
    with pytest.raises(SearchIndexError, match="storage differs"):
        VectorIndex.open(tmp_path, VectorLayout("x", "int8"))
    other = VectorIndex.open(tmp_path / "other", VectorLayout("x"))
    with pytest.raises(SearchIndexError, match="storage=f32"), other.writer() as writer:
        writer.add(np.arange(1), np.zeros(1), Vectors((VectorPart(np.full((1, 4), 1e6, np.float32), "dot"),)))


def test_a_large_build_is_cut_into_segments(tmp_path):
    index = VectorIndex.open(tmp_path, VectorLayout("x"))
    index.memory_bytes = 4_000
    with index.writer() as writer:
        for start in range(0, 300, 10):
            values = np.random.default_rng(start).standard_normal((10, 8)).astype(np.float32)
            writer.add(np.arange(start, start + 10), np.zeros(10), Vectors((VectorPart(values),)))
        writer.commit(1)
    batch = VectorQueries(Vectors((VectorPart(np.ones((1, 8), np.float32)),)), [None])
    assert len(index.searcher.search(batch, 1_000)[0].docids) == 300
    assert len(index.segments) < 10


def test_merging_holds_a_few_rows_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("askalike.index.vectors.index.CHUNK_ROWS", 100)
    index = VectorIndex.open(tmp_path, VectorLayout("x"))
    index.memory_bytes = 400_000
    values = np.random.default_rng(0).standard_normal((5_000, 128)).astype(np.float32)
    with index.writer() as writer:
        for start in range(0, 5_000, 100):
            docids = np.arange(start, start + 100)
            writer.add(docids, 0 * docids, Vectors((VectorPart(values[docids]),)))
        tracemalloc.start()
        writer.commit(1)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    (segment,) = index.segments
    stored = sum(array.nbytes for array in segment.live.parts[0].arrays().values())
    assert peak < stored / 2
    together = VectorIndex.open(tmp_path / "together", VectorLayout("x"))
    monkeypatch.undo()
    with together.writer() as writer:
        writer.add(np.arange(5_000), np.zeros(5_000), Vectors((VectorPart(values),)))
        writer.commit(1)
    for name, array in together.segments[0].live.parts[0].arrays().items():
        np.testing.assert_array_equal(segment.live.parts[0].arrays()[name], array)


def mapped_bytes() -> int:
    """Bytes of mapped files that are in memory, those of libraries among them."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssFile:")]
    return 1024 * int(line.split()[1])


def test_merging_and_coding_map_few_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("askalike.index.vectors.index.CHUNK_ROWS", 1_000)
    monkeypatch.setattr(codes, "CHUNK_ROWS", 1_024)
    monkeypatch.setattr(codes, "SAMPLE_ROWS", 16)
    peaks = []
    for module in "index", "codes":
        monkeypatch.setattr(
            f"askalike.index.vectors.{module}.release_pages",
            lambda arrays: [peaks.append(mapped_bytes() - before), release_pages(arrays)],
        )
    values = np.random.default_rng(0).standard_normal((20_000, 256)).astype(np.float32)
    for name, memory in ("little", 4 << 20), ("much", 1 << 30):
        index = VectorIndex.open(tmp_path / name, VectorLayout("x"))
        index.memory_bytes, before = memory, mapped_bytes()
        with index.writer() as writer:
            for start in range(0, 20_000, 1_000):
                docids = np.arange(start, start + 1_000)
                writer.add(docids, 0 * docids, Vectors((VectorPart(values[docids]),)))
            writer.commit(1)
        assert max(peaks) < sum(file.stat().st_size for file in (tmp_path / name).rglob("*")) / 2
        (segment,) = index.segments
        assert segment.live.codes
    for file in codes.CODES_FILE, ARRAYS_FILE:
        little, much = (open_arrays(next((tmp_path / name).rglob(file)).parent, file) for name in ("little", "much"))
        assert {name: array.tobytes() for name, array in little.items()} == {
            name: array.tobytes() for name, array in much.items()
        }


def test_leftovers_of_a_killed_build_are_removed(tmp_path):
    index = VectorIndex.open(tmp_path, VectorLayout("x"))
    (tmp_path / "0-1-1").mkdir()
    (tmp_path / "0-1-1" / "arrays.safetensors").write_bytes(b"\0" * 100)
    with index.writer():
        assert [path.name for path in tmp_path.iterdir()] == ["lock"]


def test_products_of_16_bit_rows_equal_32_bits():
    rows = np.random.default_rng(0).normal(0, 1e-3, (9, 40)).astype(np.float16)
    rows[3, :4] = [np.float16(6e-8), -0.0, 65_504, -65_504]  # the smallest number there is, zero, the largest
    query = np.linspace(-1, 2, 40).astype(np.float32)
    for places in ([], [3], [8, 3, 3, 0, 5], list(range(9))):
        expected = exact_dots(rows[places].astype(np.float32), query)
        assert exact_half_dots(rows, np.array(places, np.int64), query) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_rows", [0, 7, CACHED_ROWS, 2 * CACHED_ROWS + 13])
def test_bounds_hold_alike_for_one_and_several(n_rows):
    random = np.random.default_rng(0)
    values, queries = (random.standard_normal((n, 12)).astype(np.float32) for n in (n_rows, 5))
    sketch = Sketch.from_rows(values)
    low, high = sketch.score_bounds(queries, "dot")
    exact = queries.astype(np.float64) @ values.T.astype(np.float64)
    assert np.all(low <= exact)
    assert np.all(exact <= high)
    for n, query in enumerate(queries):
        alone = sketch.score_bounds(query[None], "dot")
        assert np.allclose(np.concatenate(alone), [low[n], high[n]], rtol=0, atol=1e-5)
