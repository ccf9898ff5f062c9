"""What tuning is worth is measured on queries that had no part in it."""

import numpy as np
import pytest

from askalike.core.errors import SettingsError
from askalike.core.types import EvaluationQuery, Judgement, Link, Question, Split
from askalike.experiments.grid_search import estimate_tuning, sample_queries
from askalike.experiments.measuring import tuning_splits
from askalike.labels.clusters import assign_folds, clusters_from_qrels
from askalike.labels.splits import restrict_split
from askalike.store import Archive

SPACE = {"k1": [1.2, 0.1, 0.5, 2.0, 5.0], "b": [0.75, 0.0, 0.3, 1.0]}
N = 60


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    """Questions of random words: whatever is said to be relevant, no setting can know it."""
    rng = np.random.default_rng(7)
    texts = [" ".join(f"w{w}" for w in rng.zipf(1.4, rng.integers(3, 20)) if w < 30) for _ in range(N)]
    with Archive.create(tmp_path_factory.mktemp("estimate") / "archive") as archive:
        archive.upsert(Question(f"d{n}", text or "w1") for n, text in enumerate(texts))
        yield archive


def labelled(seed, n_queries=N):
    """Queries of random words, each with one document of its own that is relevant by chance."""
    rng = np.random.default_rng(seed)
    queries = {f"q{n}": Question(f"q{n}", " ".join(f"w{w}" for w in rng.integers(1, 30, 6))) for n in range(n_queries)}
    return Split(queries, {q: {f"d{d}": 1} for q, d in zip(queries, rng.permutation(N)[:n_queries], strict=True)})


@pytest.mark.long
def test_nested_random_labels_are_found_by_chance_alone(archive):
    results = [estimate_tuning(archive, "bm25", SPACE, labelled(seed), None, "Success@5") for seed in range(3)]
    gains = [r.tuned["dev"].means["Success@5"] - r.untuned["dev"].means["Success@5"] for r in results]
    held_out = [r.difference.difference for r in results]
    assert min(gains) > 0
    assert np.mean(held_out) < np.mean(gains) / 2
    assert all(r.difference.low <= 0 for r in results)
    assert all(r.tuned["test"].n == N for r in results)


@pytest.mark.long
def test_a_fold_s_own_labels_do_not_touch_its_choice(archive):
    labels = labelled(1)
    first = estimate_tuning(archive, "bm25", SPACE, labels, None, "RR")
    folds = list(assign_folds(labels.qrels, clusters_from_qrels(labels.qrels), 5))
    assert len(folds) == 5
    for at, fold in enumerate(folds):
        rolled = dict(zip(fold, (labels.qrels[q] for q in fold[1:] + fold[:1]), strict=True))
        other = estimate_tuning(archive, "bm25", SPACE, Split(labels.queries, {**labels.qrels, **rolled}), None, "RR")
        assert other.fold_settings[at] == first.fold_settings[at]


def test_with_a_test_split_its_labels_do_not_touch_the_choice(archive):
    dev = labelled(1, 30)
    tests = [labelled(seed, 20) for seed in (2, 3)]
    first, second = (estimate_tuning(archive, "bm25", SPACE, dev, test, "RR") for test in tests)
    assert first.best == second.best
    assert not first.fold_settings
    assert first.tuned["test"].n == 20
    assert list(first.run) == list(tests[0].queries)
    values = first.as_dict()
    assert values["dev"]["tuned"]["mean"] == first.best.value >= values["dev"]["untuned"]["mean"]
    assert values["difference"]["difference"] == pytest.approx(
        values["test"]["tuned"]["mean"] - values["test"]["untuned"]["mean"]
    )


def test_test_queries_that_are_duplicates_of_dev_ones_are_counted(archive):
    labels = labelled(1, 10)
    assert estimate_tuning(archive, "bm25", {"k1": [1.0]}, labels, labels, "RR").n_leaked == 10
    first, second = restrict_split(labels, {"q1"}), restrict_split(labels, {"q2"})
    assert estimate_tuning(archive, "bm25", {"k1": [1.0]}, first, second, "RR").n_leaked == 0


def test_too_few_clusters_for_the_folds_is_a_clear_error(archive):
    labels = labelled(1, 10)
    one = Split(labels.queries, {q: {"d1": 1} for q in labels.qrels})
    with pytest.raises(SettingsError, match="form only 1 cluster, too few for 5 folds"):
        estimate_tuning(archive, "bm25", SPACE, one, None, "RR")


def test_a_sample_is_seeded_and_whole(archive):
    labels = labelled(1)
    drawn = sample_queries(labels, 7, seed=3)
    assert len(drawn.queries) == len(drawn.qrels) == 7
    assert drawn == sample_queries(labels, 7, seed=3) != sample_queries(labels, 7, seed=4)
    assert sample_queries(labels, 1000) is labels


def test_which_splits_choose_and_measure(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question("a", "x"), Question("b", "x"), Link("a", "b")])
        assert tuning_splits(archive) == ("duplicates", None)
        for name in ("train", "test", "dev"):
            archive.upsert([EvaluationQuery(name, Question(f"q{name}", "x")), Judgement(name, f"q{name}", "a", 1)])
        assert tuning_splits(archive) == ("dev", "test")
        assert tuning_splits(archive, "train", "dev") == ("train", "dev")
        assert tuning_splits(archive, "test") == ("test", None)
        with pytest.raises(SettingsError, match="'dev' cannot both choose settings and measure them"):
            tuning_splits(archive, "dev", "dev")
