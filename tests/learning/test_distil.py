"""Distillation in closed form: the texts that are taught, the regression, and the teacher's vectors."""

import re
from itertools import pairwise

import numpy as np
import pytest

from askalike.core.arrays import VectorPart, Vectors
from askalike.core.errors import SettingsError
from askalike.core.records import Link, Question
from askalike.encoders import concatenate_parts
from askalike.learning.distil import (
    DistillationSettings,
    collect_questions,
    encode_targets,
    find_excluded_ids,
    fit_ngram_vectors,
    make_teacher_texts,
)
from askalike.store import Archive
from askalike.text.features import RaggedArray


def test_only_questions_of_query_rephrasings_are_taught(tmp_path):
    with Archive.create(tmp_path / "desk") as desk:
        desk.upsert([Question("a", "How do I renew a card?", rephrasings=("card renewal", "my card expired"))])
        desk.upsert([Question("b", "When are you open?"), Question("c", "opening hours"), Link("c", "b")])
        view = desk.view()
        assert find_excluded_ids(view, ["rephrasings"]) == {"a#1", "a#2"}
        assert find_excluded_ids(view, ["duplicates", "rephrasings"]) == {"a#1", "a#2", "c"}
        settings = DistillationSettings(encoder="", excluded_splits="duplicates, rephrasings")
        assert [q.title for q in collect_questions(view, settings)] == ["How do I renew a card?", "When are you open?"]
        assert len(collect_questions(view, DistillationSettings(encoder=""))) == 5
        part = desk.training_view((), excluded_ids=["b"])
        assert [q.id for q in collect_questions(part, settings)] == ["a"]
        with pytest.raises(SettingsError, match="no split of that name"):
            collect_questions(view, DistillationSettings(excluded_splits="nothing"))


def test_unfinished_titles():
    questions = [Question(str(n), f"how do I cook {thing}", "in a pot") for n, thing in enumerate(("egg", "rice"))]
    settings = DistillationSettings(n_prefixes=1, n_word_dropout=0, n_recombined=0, single_words=False)
    texts = list(make_teacher_texts(questions, settings, np.random.default_rng(1)))
    titles = [q.title for q in texts if q.title and not q.body]
    assert len(titles) == 2 * len(questions)
    assert all(any(q.title.startswith(title) for q in questions) for title in titles)
    assert len(texts) == 4 * len(questions)


def test_recombined_titles_and_single_words():
    """Recombined titles walk over pairs of words that some title has; no title is taught twice."""
    titles = ("how do I cook rice", "how do I boil an egg", "best way to cook an egg", "best rice recipe")
    questions = [Question(str(n), title) for n, title in enumerate(titles)]
    settings = DistillationSettings(n_prefixes=0, n_word_dropout=0, n_recombined=5, single_words=True)
    texts = [q.title for q in make_teacher_texts(questions, settings, np.random.default_rng(0))]
    assert texts[:4] == list(titles)
    assert len(texts) == len(set(texts))
    alone = {t for t in texts if t not in titles and len(t.split()) < 3}
    words = {w for t in titles for w in t.lower().split()}
    assert alone == words | {"how do", "do i", "an egg"}
    steps = {pair for t in titles for pair in pairwise(["", *t.lower().split(), ""])}
    recombined = [t for t in texts if t not in titles and t not in alone]
    assert recombined
    assert all(set(pairwise(["", *t.lower().split(), ""])) <= steps for t in recombined)


def test_the_start_is_the_least_squares_solution():
    random = np.random.default_rng(1)
    lists = [random.integers(2, 12, random.integers(1, 6)).tolist() for _ in range(60)]
    dense = np.zeros((60, 14))
    for text, numbers in enumerate(lists):
        np.add.at(dense[text], numbers, 1)
    targets = random.normal(size=(60, 5)).astype(np.float32)
    expected = np.linalg.solve(dense.T @ dense + 3.0 * np.eye(14), dense.T @ targets)
    rows = RaggedArray.from_rows(lists)
    vectors = fit_ngram_vectors(rows, targets, 14, 3.0)
    np.testing.assert_allclose(vectors, expected, atol=1e-3)
    assert rows.values.tolist() == [piece for numbers in lists for piece in numbers]  # they are learned from afterwards
    assert not vectors[[0, 1, 12, 13]].any()


def test_vectors_of_several_parts_are_taught_as_one(monkeypatch):
    import scipy.sparse

    random = np.random.default_rng(0)
    first = random.random((20, 6)).astype(np.float32)
    second = scipy.sparse.random_array((20, 9), density=0.4, format="csr", rng=random, dtype=np.float32)
    vectors = Vectors((VectorPart(first, "cosine", 0.5), VectorPart(second, "dot", 2.0)))

    class Teacher:
        def encode_documents(self, texts):
            return Vectors(
                tuple(VectorPart(p.values[texts[0] : texts[-1] + 1], p.metric, p.weight) for p in vectors.parts)
            )

    length = np.linalg.norm(first, axis=1, keepdims=True)
    scores = 0.5 * (first / length) @ (first / length).T + 2 * (second @ second.T).toarray()
    monkeypatch.setattr("askalike.learning.distil.CHUNK_SIZE", 8)
    monkeypatch.setattr("askalike.core.iteration.REPORT_S", 0)
    lines = []
    encoded = encode_targets(Teacher(), list(range(20)), 14, lines.append)
    pattern = r"the teacher has encoded (8|16) of 20 texts; about \d+\.\d s left"
    assert [bool(re.fullmatch(pattern, line)) for line in lines] == [True, True, False]  # the last: reduced
    vectors = Vectors(vectors.parts[:1])
    np.testing.assert_array_equal(encode_targets(Teacher(), list(range(20)), 6, print), concatenate_parts(vectors))
    np.testing.assert_allclose(encoded @ encoded.T, scores, atol=0.2)
    with pytest.raises(SettingsError, match="expected vectors compared by cosine or dot"):
        concatenate_parts(Vectors((VectorPart(first, "euclidean"),)))
