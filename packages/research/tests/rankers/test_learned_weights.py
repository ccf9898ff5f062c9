"""Weights of words, learned from pairs or given as a file, against the formula worked out another way."""

import json

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import approx_fprime

import askalike
from askalike import rankers
from askalike.core.errors import InputError, NotFittedError
from askalike.core.records import Link, Question
from askalike.labels.splits import unlearned_splits
from askalike.store import Archive
from askalike_research.rankers.learned_weights import TermWeights, _cross_entropy
from planted import plant

NOISE = 60


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Questions about things, in pairs. Their words `please…` are as rare and say nothing about the thing."""
    with Archive.create(tmp_path_factory.mktemp("weights") / "archive") as archive:
        for n in range(NOISE):
            a, b = Question(f"a{n}", f"mend thing{n % 30} please{n % 20}"), Question(f"b{n}", f"repair thing{n % 30}")
            archive.upsert([a, b, Link(f"a{n}", f"b{n}")])
        archive.upsert(Question(f"c{n}", f"please{n} please{n}") for n in range(20))
        yield archive


@pytest.fixture(scope="module")
def fitted(archive):
    view = archive.training_view(())
    return rankers.create("learned_weights", {"stem": False, "temperature": 2.0, "penalty": 1.0}, archive).fit(view)


def scores(ranker, archive, text, k=200):
    hits = rankers.rank(rankers.open_current(ranker, archive.view()), {"q": Question("q", text)}, k)["q"]
    return {hit.id: hit.score for hit in hits}


def test_words_that_lead_away_weigh_less(fitted):
    weights = fitted.learned.weights
    misleading = [weight for term, weight in weights.items() if term.startswith("please")]
    telling = [weight for term, weight in weights.items() if term.startswith("thing")]
    assert len(misleading) == 20
    assert max(misleading) < 0.9
    assert min(telling) > max(misleading)


def test_score_is_that_of_words_times_weights(fitted, archive):
    bm25 = rankers.create("bm25", {"stem": False, "spelling": False})
    expected: dict[str, float] = {}
    for word in ("thing3", "please3", "mend"):
        for id, score in scores(bm25, archive, word).items():
            expected[id] = expected.get(id, 0) + fitted.learned.weights.get(word, 1.0) * score
    assert scores(fitted, archive, "thing3 please3 mend") == pytest.approx(expected, rel=1e-4)


def test_weights_of_a_file_are_looked_up(fitted, archive, tmp_path):
    fitted.learned.write(tmp_path / "own.json")
    again = rankers.create("learned_weights", {"stem": False, "weights": str(tmp_path / "own.json")}, archive)
    assert scores(again, archive, "thing3 please3") == scores(fitted, archive, "thing3 please3")
    assert (again.learned_labels, again.trained_until) == (fitted.learned_labels, fitted.trained_until)
    assert again.fit(archive.training_view(())) is again
    (tmp_path / "given.json").write_text(json.dumps({"please3": 0.0, "thing3": 2.0}))
    given = rankers.create("learned_weights", {"stem": False, "weights": str(tmp_path / "given.json")})
    bm25 = scores(rankers.create("bm25", {"stem": False}), archive, "thing3")
    found = scores(given, archive, "thing3 please3")
    assert found == pytest.approx({id: 2 * score for id, score in bm25.items()}, rel=1e-4)
    (tmp_path / "words.json").write_text(json.dumps({"weights": 2.0, "learned": 3.0}))
    assert TermWeights.read(tmp_path / "words.json").weights == {"weights": 2.0, "learned": 3.0}
    for wrong in ("[]", '{"a": -1}', '{"a": "b"}', "x"):
        (tmp_path / "wrong.json").write_text(wrong)
        with pytest.raises(InputError, match=r"wrong\.json"):
            TermWeights.read(tmp_path / "wrong.json")


def test_without_pairs_it_is_the_similarity(archive, tmp_path):
    with Archive.create(tmp_path / "unlabelled") as unlabelled:
        unlabelled.upsert(Question(f"q{n}", f"mend thing{n}") for n in range(5))
        ranker = rankers.create("learned_weights").fit(unlabelled.training_view(()))
        assert scores(ranker, unlabelled, "thing3") == scores(rankers.create("bm25"), unlabelled, "thing3")
        with pytest.raises(NotFittedError, match="--set weights=FILE"):
            rankers.open_current(rankers.create("learned_weights"), unlabelled.view())


def test_the_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(1)
    rows = scipy.sparse.csr_array(rng.random((7, 4)) * (rng.random((7, 4)) < 0.7))
    loss = _cross_entropy(rows, np.array([0, 3]), 0.5)
    at = rng.normal(size=4)
    z = rows @ np.exp(at)
    expected = sum(np.log(np.exp(z[a:b]).sum()) - z[a] for a, b in ((0, 3), (3, 7))) + 0.25 * (at**2).sum()
    assert loss(at)[0] == pytest.approx(expected)
    np.testing.assert_allclose(loss(at)[1], approx_fprime(at, lambda x: loss(x)[0], 1e-7), rtol=1e-4, atol=1e-5)


def test_it_learns_nothing_of_what_is_measured(tmp_path):
    with Archive.open(plant(tmp_path / "planted")) as archive:
        ranker = rankers.create("learned_weights", {}, archive).fit(archive.training_view(["halves/test"]))
        assert unlearned_splits(ranker.learned_labels, archive) == ["halves/test"]
        evaluation = askalike.evaluate_ranker(archive, rankers.create("learned_weights"), "halves/test", ["RR"])
        assert evaluation.means["RR"] < 0.2


def test_it_keeps_to_what_every_lexical_ranker_does(fitted, archive):
    """Best first, ties in the archive's order; at most k; candidates, filters and unfinished words; explained."""
    searcher = rankers.open_current(fitted, archive.view())
    query = {"q": Question("q", "mend thing3 please3")}
    hits = rankers.rank(searcher, query, 100)["q"]
    docids = archive.view().docids([hit.id for hit in hits])
    assert hits == sorted(hits, key=lambda hit: (-hit.score, docids[hit.id]))
    assert rankers.rank(searcher, query, 3)["q"] == hits[:3]
    pool = [hits[4].id, hits[1].id]
    assert {hit.id: hit.score for hit in rankers.rank(searcher, query, 5, candidates={"q": pool})["q"]} == {
        hits[n].id: hits[n].score for n in (4, 1)
    }
    assert "b3" in [
        hit.id for hit in rankers.rank(searcher, {"q": Question("q", "repair thin")}, 100, prefix=True)["q"]
    ]
    for id, reason in rankers.explain_ids(searcher, query["q"], [hit.id for hit in hits[:5]]).items():
        assert reason.score == pytest.approx({hit.id: hit.score for hit in hits}[id], rel=1e-6)


def test_unfinished_word_counts_as_its_completions(tmp_path):
    (tmp_path / "weights.json").write_text(json.dumps({"printer": 5.0, "printed": 0.5, "printing": 0.0}))
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question("er", "a printer"), Question("ing", "a printing"), Question("ed", "a printed")])
        values = {"weights": str(tmp_path / "weights.json"), "stem": False}
        searcher = rankers.open_current(rankers.create("learned_weights", values, archive), archive.view())

        def found(text):
            return [(h.id, h.score) for h in rankers.rank(searcher, {"q": Question("q", text)}, 9, prefix=True)["q"]]

        whole = [*found("printer"), *found("printed")]
        assert found("prin") == [(id, pytest.approx(score, rel=1e-6)) for id, score in whole]
        assert found("printing") == []
        assert [score for _, score in found("printer")] == [
            pytest.approx(h.score) for h in rankers.rank(searcher, {"q": Question("q", "printer")}, 9)["q"]
        ]
        retrieved = rankers.search(searcher, {"q": Question("q", "prin")}, 9, prefix=True)
        [absolute] = rankers.add_absolute(searcher, retrieved).absolute
        assert absolute.max() == pytest.approx(1, abs=0.2)


def test_it_follows_its_archive(fitted, tmp_path):
    with Archive.create(tmp_path / "grown") as grown:
        grown.upsert(Question(f"q{n}", f"mend thing{n}") for n in range(5))
        fitted.build(grown.view())
        grown.upsert([Question("q1", "mend thing9"), Question("q9", "thing9")])
        grown.delete(["q4"])
        changed = scores(fitted, grown, "mend thing9")
        again = type(fitted)(fitted.similarity, fitted.settings, fitted.learning, fitted.learned)
        assert changed == scores(again, grown, "mend thing9")
        assert set(changed) == {"q0", "q1", "q2", "q3", "q9"}
