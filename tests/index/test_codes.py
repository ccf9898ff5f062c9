"""A large segment's codes lead to what its sketch finds, whatever was deleted, excluded or filtered out."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from askalike.core.arrays import VectorPart, Vectors
from askalike.core.filters import AllowedDocs
from askalike.index import writing
from askalike.index.rows import Excluded
from askalike.index.vectors import codes as codes_module
from askalike.index.vectors.code_products import BLOCK, GROUP, MAX_STEP, multiply_codes, pack_levels
from askalike.index.vectors.index import VectorIndex, VectorLayout
from askalike.index.vectors.searcher import VectorQueries
from askalike.native import simd
from askalike.native.compiled import CACHE_VARIABLE, Matrix, compiled
from askalike.native.simd import has_feature

DIM = 100
DOCUMENTS = 3_000


@pytest.fixture
def small_segments_have_codes(monkeypatch):
    monkeypatch.setattr(codes_module, "MIN_CODED_ROWS", 500)


def clustered(generator: np.random.Generator, n: int, spread: float = 0.7) -> np.ndarray:
    """Rows around 40 centres that are not around the origin, as texts' vectors are."""
    centres = np.random.default_rng(9).standard_normal((40, DIM)) + 0.3
    rows = centres[generator.integers(0, 40, n)] + spread * generator.standard_normal((n, DIM))
    return rows.astype(np.float32)


def build(path, metric="cosine", storage="f16"):
    """Two phrasings of every third document; a tenth is deleted by a later commit, another one replaced."""
    generator = np.random.default_rng(0)
    index = VectorIndex.open(path, VectorLayout("x", storage))
    docids = np.repeat(np.arange(DOCUMENTS), 1 + (np.arange(DOCUMENTS) % 3 == 0))
    phrasings = np.concatenate([[0], (docids[1:] == docids[:-1]).astype(int)])
    with index.writer() as writer:
        writer.add(docids, phrasings, Vectors((VectorPart(clustered(generator, len(docids)), metric),)))
        writer.commit(1)
    with index.writer() as writer:
        writer.delete(range(100, 400))
        others = np.arange(1_000, 1_300)
        writer.add(others, 0 * others, Vectors((VectorPart(clustered(generator, 300), metric),)))
        writer.commit(2)
    return index


def make_queries(exclusion=None, n=50):
    rows = clustered(np.random.default_rng(1), n, 1.0)
    return VectorQueries(Vectors((VectorPart(rows),)), [exclusion] * n)


def has_codes(index):
    return any(segment.live.codes for segment in index.segments)


@pytest.fixture(scope="module", params=["f16", "int8"])
def plain_and_coded(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("codes")
    plain = build(folder / "plain", storage=request.param)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(codes_module, "MIN_CODED_ROWS", 500)
        coded = build(folder / "coded", storage=request.param)
    return plain, coded


@pytest.mark.parametrize("exclusion", [None, Excluded(600), Excluded(600, 1)])
@pytest.mark.parametrize("allowed", [None, range(0, DOCUMENTS, 7), range(40)], ids=["all", "some", "few"])
@pytest.mark.usefixtures("small_segments_have_codes")
def test_codes_find_what_the_sketch_finds(plain_and_coded, exclusion, allowed):
    plain, coded = plain_and_coded
    assert has_codes(coded)
    assert not has_codes(plain)
    docs = None if allowed is None else AllowedDocs(lambda: np.array(allowed, np.int64))
    for k in (1, 10, 200):
        found, expected = (i.searcher.search(make_queries(exclusion), k, docs) for i in (coded, plain))
        missed = sum(len(set(b.docids) - set(a.docids)) for a, b in zip(found, expected, strict=True))
        assert missed <= 0.005 * sum(len(top.docids) for top in expected)
        same = [a for a, b in zip(found, expected, strict=True) if a.docids.tolist() == b.docids.tolist()]
        assert len(same) >= 0.9 * len(expected)
        for a, b in zip(found, expected, strict=True):
            scores = dict(zip(b.docids.tolist(), b.scores.tolist(), strict=True))
            assert all(scores[n] == s for n, s in zip(a.docids.tolist(), a.scores.tolist(), strict=True) if n in scores)


@pytest.mark.parametrize("features", [("avx512vnni", "avx2"), ("avx2",), ()], ids=["AVX-512", "AVX2", "any"])
def test_products_are_those_of_whole_numbers(monkeypatch, tmp_path, features):
    if missing := [feature for feature in features if not has_feature(feature)]:
        pytest.skip(f"this processor has no {missing[0]}")
    monkeypatch.setattr(simd, "has_feature", features.__contains__)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))

    @compiled()
    def multiply(words: Matrix[np.uint32], query: NDArray[np.int8], products: NDArray[np.int32]) -> None:
        multiply_codes(len(query) // GROUP, words, query, products)

    generator = np.random.default_rng(3)
    for numbers in (7 * GROUP, 40 * GROUP):
        levels = generator.integers(0, 4, (BLOCK, numbers), np.uint8)
        query = generator.integers(-MAX_STEP, MAX_STEP + 1, numbers).astype(np.int8)
        levels[0], query[: numbers // 2] = 3, MAX_STEP
        for function in multiply, multiply.function:
            products = np.empty(BLOCK, np.int32)
            function(pack_levels(levels), query, products)
            assert products.tolist() == (levels.astype(np.int64) @ query).tolist()


@pytest.mark.usefixtures("small_segments_have_codes")
def test_a_batch_is_its_queries_one_by_one(tmp_path):
    searcher = build(tmp_path).searcher
    together = searcher.search(make_queries(), 20)
    rows = make_queries().vectors.parts[0].values
    assert len(rows) > 0
    for row, whole in zip(rows, together, strict=True):
        [alone] = searcher.search(VectorQueries(Vectors((VectorPart(row[None]),)), [None]), 20)
        assert alone.docids.tolist() == whole.docids.tolist()


def build_fields(path):
    """Two fields side by side, whose vectors are similar."""
    generator = np.random.default_rng(5)
    index = VectorIndex.open(path, VectorLayout("x", "f16", (0.5, 1.0)))
    titles = clustered(generator, DOCUMENTS)
    rows = np.hstack([titles, titles + 0.5 * generator.standard_normal((DOCUMENTS, DIM)).astype(np.float32)])
    with index.writer() as writer:
        writer.add(np.arange(DOCUMENTS), np.zeros(DOCUMENTS), Vectors((VectorPart(rows, "dot"),)))
        writer.commit(1)
    return index


@pytest.mark.parametrize("weights", [(0.5, 1.0), (0.1, 1.0), (1.0, 0.0)])
def test_codes_of_two_fields_find_what_sketches_find(tmp_path, monkeypatch, weights):
    plain = build_fields(tmp_path / "plain")
    monkeypatch.setattr(codes_module, "MIN_CODED_ROWS", 500)
    coded = build_fields(tmp_path / "coded")
    assert has_codes(coded)
    texts = clustered(np.random.default_rng(1), 50, 1.0)
    queries = VectorQueries(
        Vectors((VectorPart(np.hstack([weight * texts for weight in weights]).astype(np.float32), "dot"),)),
        [None] * 50,
    )
    found, expected = (index.searcher.search(queries, 20) for index in (coded, plain))
    missed = sum(len(set(b.docids) - set(a.docids)) for a, b in zip(found, expected, strict=True))
    assert missed <= 0.005 * 20 * 50


@pytest.mark.usefixtures("small_segments_have_codes")
def test_one_text_reads_mean_codes_alone(tmp_path):
    [segment] = build_fields(tmp_path).segments
    live, texts = segment.live, clustered(np.random.default_rng(1), 5)
    halves, codes = len(live.codes.words) // 2, live.codes
    words = codes.words.copy()
    words[halves:] = 0
    without_others = codes._replace(words=words)
    for weights, is_same in (((0.5, 1.0), True), ((1.0, 0.5), False)):
        queries = np.hstack([weight * texts for weight in weights]).astype(np.float32)
        one, other = (own.estimate_scores(queries, live.live_bits) for own in (codes, without_others))
        assert all(np.array_equal(a.rows, b.rows) == is_same for a, b in zip(one, other, strict=True))
        exact = queries @ live.parts[0].decode_rows(np.arange(DOCUMENTS)).T
        assert np.mean([a.rows[:DOCUMENTS] < scores for a, scores in zip(one, exact, strict=True)]) < 0.005


@pytest.mark.usefixtures("small_segments_have_codes")
def test_likely_scores_are_rarely_low_and_select_few(tmp_path):
    index = build(tmp_path, "dot")
    segment = max((s.live for s in index.segments), key=lambda live: len(live.docids))
    rows = segment.parts[0].decode_rows(np.arange(len(segment.docids)))
    queries = clustered(np.random.default_rng(2), 30)
    exact = queries @ rows.T
    assert segment.codes
    for scores, likely in zip(exact, segment.codes.estimate_scores(queries, segment.live_bits), strict=True):
        live = segment.live_mask
        bounds = likely.rows[: len(scores)]
        assert np.mean(bounds[live] < scores[live]) < 0.005
        left = np.flatnonzero(bounds >= np.sort(scores[live])[-20])
        assert live[left].all()
        assert len(left) < 0.2 * len(scores)
        padded = np.pad(np.where(live, bounds, -np.inf), (0, len(likely.rows) - len(bounds)), constant_values=-np.inf)
        blocks = padded.reshape(-1, BLOCK).max(axis=1)
        np.testing.assert_array_equal(likely.block_max[np.isfinite(blocks)], blocks[np.isfinite(blocks)])


@pytest.mark.usefixtures("small_segments_have_codes")
@pytest.mark.parametrize(
    "parts",
    [
        (VectorPart(np.ones((600, DIM), np.float32), "euclidean"),),
        (VectorPart(np.ones((600, 8), np.float32)),),
        (VectorPart(np.ones((600, DIM), np.float32)), VectorPart(np.ones((600, DIM), np.float32), "dot")),
        (VectorPart(sparse.csr_array(np.ones((600, DIM), np.float32))),),
        (VectorPart(np.ones((600, DIM), np.float32), "cosine", 0.5),),
    ],
    ids=["distances", "few numbers", "two parts", "sparse", "weighted"],
)
def test_other_vectors_have_no_codes(tmp_path, parts):
    index = VectorIndex.open(tmp_path, VectorLayout("x"))
    with index.writer() as writer:
        writer.add(np.arange(600), np.zeros(600), Vectors(parts))
        writer.commit(1)
    assert not has_codes(index)


@pytest.mark.usefixtures("small_segments_have_codes")
def test_equal_rows_and_rows_of_zeros_are_found(tmp_path):
    rows = np.zeros((600, DIM), np.float32)
    rows[:590] = 1
    index = VectorIndex.open(tmp_path, VectorLayout("x"))
    with index.writer() as writer:
        writer.add(np.arange(600), np.zeros(600), Vectors((VectorPart(rows, "dot"),)))
        writer.commit(1)
    assert has_codes(index)
    query = VectorQueries(Vectors((VectorPart(np.ones((1, DIM), np.float32), "dot"),)), [None])
    [found] = index.searcher.search(query, 595)
    assert found.docids.tolist() == list(range(590))
    assert set(found.scores) == {float(DIM)}


def test_older_index_gets_codes_with_next_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "SMALL_SEGMENTS", (8, 16))  # so that the segment stays as it is
    index = build(tmp_path)
    reader = VectorIndex.open(tmp_path, VectorLayout("x"))
    for searched in (index, reader):
        searched.searcher.search(make_queries(), 5)
        assert not has_codes(searched)
    monkeypatch.setattr(codes_module, "MIN_CODED_ROWS", 500)
    with index.writer() as writer:
        writer.add(np.array([9_000]), np.array([0]), Vectors((VectorPart(np.ones((1, DIM), np.float32)),)))
        writer.commit(3)
    assert reader.refresh()
    for searched in (index, reader, VectorIndex.open(tmp_path, VectorLayout("x"))):
        searched.searcher.search(make_queries(), 5)
        assert has_codes(searched)
