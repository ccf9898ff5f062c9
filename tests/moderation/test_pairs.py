"""Similarities of pairs, and the clusters that they make."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from askalike import rankers
from askalike.core.arrays import VectorPart, Vectors
from askalike.core.records import Answer, Question
from askalike.encoders.transformer.model import OnnxModel
from askalike.moderation.pairs import (
    PairFinder,
    cluster_pairs,
    cohesion,
    compare_answers,
    find_pairs,
    mean_link_probability,
    pair_key,
)
from askalike.search.encoder_installation import adopt_encoder
from small_models import WORDS, write_encoder

FORM = "We run the latest release of the desk on our own server behind a proxy and all tests of it passed."


@pytest.fixture
def similarity(archive):
    """Return a function that gives the similarity of two questions among a few others; 0 if they are no pair."""

    def measure(one, other, ranker="lm_jelinek_mercer"):
        others = [Question(f"z{n}", title) for n, title in enumerate(("Where is the exit?", "Who sells bread?"))]
        archive.upsert([replace(one, id="a"), replace(other, id="b"), *others])
        return find_pairs(archive, rankers.create(ranker)).get(("a", "b"), 0.0)

    return measure


def ask(title, body=""):
    return Question("x", title, body)


@pytest.mark.parametrize("ranker", ["lm_jelinek_mercer", "hybrid"])
def test_equal_questions_have_similarity_1(similarity, ranker):
    question = ask("How do I borrow a drill?", "I have a card, and the shelf is empty.")
    assert similarity(question, question, ranker) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Solution of exercise 2.2 in chapter four", "Solution of exercise 2.4 in chapter four"),
        ("How do active sensors in the yard work?", "How do passive sensors in the yard work?"),
        ("May I eat in the reading room?", "May I not eat in the reading room?"),
        ("How do I install release 12.04 of the desk?", "How do I install release 14.04 of the desk?"),
    ],
)  # fmt: skip
def test_one_telling_word_apart_is_no_pair(similarity, one, other):
    assert similarity(ask(one), ask(other)) < 0.5


def test_quoted_text_weighs_nothing(similarity):
    """Two questions about one passage are as similar as their titles, unless these are equal."""
    one, other = "Who prints the labels of the boxes?", "Where do the labels of the boxes lie?"
    plain = similarity(ask(one), ask(other), "hybrid")
    quoted = similarity(ask(one, FORM), ask(other, FORM), "hybrid")
    assert 0.6 < quoted <= plain + 0.01
    assert similarity(ask(one, FORM), ask(one.upper(), FORM)) == pytest.approx(1, abs=0.01)


class PlanarEncoder:
    """Gives each text the unit vector at the angle that it names, in degrees."""

    unrelated_score = 0.0

    def encode_documents(self, texts):
        angles = np.radians([float(getattr(text, "title", text.body) or text.body) for text in texts])
        return Vectors((VectorPart(np.stack([np.cos(angles), np.sin(angles)], axis=1), "cosine"),))

    def share_vectors(self, path, n):
        pass


@pytest.mark.parametrize(
    ("own", "other", "fit"),
    [
        (60, 45, 0.5 - 0.9 * 0.5),  # the other title fits better, which counts as equally well
        (60, 150, 0 - 0.9 * 0.5),
        (85, 5, 0.1 * np.cos(np.radians(85))),  # it fits neither
    ],
)
def test_answers_tell_by_how_well_they_fit(archive, own, other, fit):
    """The answer is at 0 degrees."""
    archive.upsert([Question("a", str(own)), Question("b", str(other)), Answer("1", "a", "0")])
    pair = tuple(archive.view().get_questions("ab").values())
    assert compare_answers(PlanarEncoder(), archive.view(), [pair]) == {pair: pytest.approx(fit)}
    archive.delete(["a"])
    assert compare_answers(PlanarEncoder(), archive.view(), [pair]) == {}


@pytest.mark.parametrize("ranker", ["lm_jelinek_mercer", "hybrid"])
def test_similarity_is_that_of_any_batch(archive, ranker):
    archive.upsert(Question(f"{n}", f"How do I get the ladder home {'and back' * n}?", FORM) for n in range(12))
    built = rankers.create(ranker)
    built.build(archive.view())
    finder = PairFinder(built, archive.view())
    questions = [question for _, question in archive.view().questions()]
    alone = [finder.find([question]) for question in questions]
    together = finder.find(questions)
    assert together
    assert together == pytest.approx({pair: value for pairs in alone for pair, value in pairs.items()}, abs=0.001)
    assert finder.find([]) == {}


def test_stored_vectors_are_not_computed_again(archive, tmp_path, monkeypatch):
    encoder = write_encoder(tmp_path / "small", list(dict.fromkeys(WORDS)))
    archive.upsert(Question(f"{n}", f"how do i cook rice {n}", FORM) for n in range(100))
    adopt_encoder(archive, str(encoder), name="small")
    ranker = rankers.create(None, None, archive)
    ranker.build(archive.view())
    monkeypatch.setattr(OnnxModel, "encode", None)
    assert len(PairFinder(ranker, archive.view()).find([question for _, question in archive.view().questions()])) > 100


def test_a_chain_does_not_become_one_cluster():
    names = [f"{n:02}" for n in range(20)]
    chain = dict.fromkeys(pairwise(names), 0.9)
    assert max(map(len, cluster_pairs(chain, 0.5))) <= 3
    clique = {(a, b): 0.9 for a in names for b in names if a < b}
    assert cluster_pairs(clique, 0.5) == [frozenset(names)]
    assert cluster_pairs(clique, 0.95) == []
    two_cliques = {**{("x" + a, "x" + b): 0.9 for a, b in clique}, **clique, ("00", "x00"): 0.8}
    assert max(map(len, cluster_pairs(two_cliques, 0.5))) <= 20


def test_clusters_ignore_the_order_of_pairs():
    rng = np.random.default_rng(0)
    pairs = {pair_key(*map(str, rng.choice(30, 2, replace=False))): float(rng.random()) for _ in range(120)}
    shuffled = [list(pairs.items())[i] for i in rng.permutation(len(pairs))]
    assert cluster_pairs(pairs, 0.3) == cluster_pairs(dict(shuffled), 0.3)


def test_cohesion_and_mean_by_hand():
    assert cohesion({("a", "b"): 1.0}, "a", "bc") == 0.5
    assert mean_link_probability({("a", "b"): 0.9, ("b", "c"): 0.5, ("c", "d"): 0.1}, "cab") == pytest.approx(0.7)
