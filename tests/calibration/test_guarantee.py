"""Thresholds with a guarantee, on an archive's ranker."""

import numpy as np
import pytest
from scipy.stats import binom

from askalike import rankers
from askalike.calibration.calibrate import calibrate
from askalike.calibration.samples import draw_sample
from askalike.calibration.thresholds import CONFIDENCE, find_guarantee, split_clusters
from askalike.core.errors import SettingsError
from askalike.evaluation.intervals import binomial_upper_bound
from askalike.store import Archive
from calibration.riverside import DEFAULT_RANKER, riverside


@pytest.mark.parametrize(("count", "n"), [(0, 1), (0, 29), (3, 50), (49, 50), (50, 50)])
def test_upper_bound_is_the_exact_binomial_one(count, n):
    bound = binomial_upper_bound(count, n, 0.05)
    assert bound == 1.0 if count == n else binom.cdf(count, n, bound) == pytest.approx(0.05)


def test_it_holds_where_probabilities_say_nothing():
    """Of 400 samples, about 5 % may get a threshold above which more is wrong than was asked for; most get one."""
    broken = given = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        scores = rng.random(300)
        right = rng.random(300) < scores**0.2  # 1 − ∫ₜ¹ x^0.2 dx / (1 − t) of those above t are wrong
        guarantee = find_guarantee(scores, ~right, 300, 0.9)
        if guarantee.threshold is not None:
            t, given = guarantee.threshold, given + 1
            broken += 1 - (1 - t**1.2) / 1.2 / (1 - t) > 0.1
    assert given > 100
    assert broken <= binom.ppf(0.999, 400, 1 - CONFIDENCE)


def test_hit_that_fixes_a_threshold_is_not_counted():
    scores = np.linspace(0.01, 1, 100)
    guarantee = find_guarantee(scores, scores < 0.015, 200, 0.9)  # only the last is wrong
    assert (guarantee.wrong.count, guarantee.wrong.n, guarantee.coverage.n) == (0, 99, 200)
    assert 0.01 < guarantee.threshold <= scores[1]


def test_few_or_mostly_wrong_hits_have_no_threshold():
    few = np.linspace(0, 1, 20)
    assert find_guarantee(few, np.zeros(20, bool), 20, 0.9).threshold is None
    assert find_guarantee(np.ones(500), np.zeros(500, bool), 500, 0.9).threshold is None  # ties: nothing is above
    assert find_guarantee(np.empty(0), np.empty(0, bool), 5, 0.9).threshold is None
    many = np.linspace(0, 1, 500)
    assert find_guarantee(many, np.arange(500) % 5 == 0, 500, 0.9).saved_threshold is None


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return riverside(tmp_path_factory.mktemp("guarantee") / "riverside")


def test_guarantee_is_fitted_and_tested_on_other_clusters(directory):
    with Archive.open(directory) as archive:
        report = calibrate(archive, rankers.create(DEFAULT_RANKER), guarantee=0.7, prevalence=0.8)
        sample = draw_sample(archive, rankers.create(DEFAULT_RANKER))
    fitted, tested = split_clusters(sample, 0)
    clusters = np.array(sample.clusters)
    assert set(clusters[fitted]).isdisjoint(clusters[tested])
    assert len(set(clusters[tested])) == tested.sum()
    assert report.guarantee.coverage.n == (tested & sample.measured).sum()
    saved = report.calibration.threshold
    assert (saved.criterion, saved.share) == ("guarantee", 0.7)
    assert report.as_dict()["guarantee"]["wrong"]["n"] == report.guarantee.wrong.n > 20


def test_a_guarantee_and_a_precision_exclude_each_other(directory):
    with Archive.open(directory) as archive, pytest.raises(SettingsError, match="exclude each other"):
        calibrate(archive, rankers.create(DEFAULT_RANKER), guarantee=0.9, precision=0.9)
