"""The probability of a hit is the same to the last bit whatever else is computed with it."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from askalike.calibration.calibration import ArchiveState, Calibration
from askalike.calibration.curves import IsotonicCurve, LogisticCurve, ProductCurve, shift_prior
from askalike.calibration.features import CALIBRATION_DEPTH, FEATURES, HitFeatureExtractor
from askalike.core.records import Question
from random_examples import examples

COLUMNS = len(FEATURES)
WORDS = ("egg", "boil", "rice", "pan", "water", "salt", "tea")


def random_logistic_curve(rng, n_columns):
    columns = rng.choice(COLUMNS, n_columns, replace=False)
    low, high = np.sort(rng.normal(size=(2, n_columns)) * 10, axis=0)
    weights, intercept = rng.normal(size=n_columns) * 3, rng.normal()
    return LogisticCurve(
        columns=tuple(columns.tolist()), low=tuple(low.tolist()), high=tuple(high.tolist()),
        weights=tuple(weights.tolist()), intercept=float(intercept),
    )  # fmt: skip


def random_isotonic_curve(rng, n_knots):
    scores, probabilities = np.unique(rng.normal(size=n_knots) * 10), np.sort(rng.random(n_knots))
    return IsotonicCurve(
        columns=(int(rng.integers(COLUMNS)),),
        scores=tuple(scores.tolist()),
        probabilities=tuple(probabilities.tolist()),
    )


def random_curves(seed):
    rng = np.random.default_rng(seed)
    logistic = [random_logistic_curve(rng, n) for n in range(1, COLUMNS + 1)]
    isotonic = [random_isotonic_curve(rng, n) for n in (1, 2, 3, 8, 50)]
    return [*logistic, *isotonic, ProductCurve(curves=(logistic[-1], *isotonic[:2]))]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 257])
def test_curve_gives_a_row_what_a_batch_gives(seed, n):
    rows = np.random.default_rng(seed + 1_000 * n).normal(size=(n, COLUMNS)) * 20
    curves = random_curves(seed)
    assert len(curves) == COLUMNS + 6
    for curve in curves:
        batch = curve.predict(rows)
        alone = np.concatenate([curve.predict(rows[i : i + 1]) for i in range(n)])
        assert batch.tobytes() == alone.tobytes()
        for layout in (rows[::-1], np.asfortranarray(rows)[::-1], np.repeat(rows, 2, axis=0)[::2][::-1]):
            assert curve.predict(layout)[::-1].tobytes() == batch.tobytes()
        assert np.concatenate([curve.predict(part) for part in np.array_split(rows, 3)]).tobytes() == batch.tobytes()
        shifted = np.concatenate([shift_prior(p[None], 0.5, 0.3) for p in alone])
        assert shift_prior(batch, 0.5, 0.3).tobytes() == shifted.tobytes()


def test_logistic_curve_is_that_of_the_weighted_sum():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, COLUMNS)) * 20
    for n_columns in range(1, COLUMNS + 1):
        curve = random_logistic_curve(rng, n_columns)
        seen = np.clip(rows[:, list(curve.columns)], curve.low, curve.high)
        expected = 1 / (1 + np.exp(-(curve.intercept + seen @ np.array(curve.weights))))
        assert curve.predict(rows) == pytest.approx(expected, abs=1e-12)


def random_titles(rng, n):
    return [" ".join(rng.choice(WORDS, rng.integers(0, 6))) for _ in range(n)]


@examples(60)
@given(st.integers(0, 10**9), st.integers(1, 40))
def test_first_hits_do_not_depend_on_later_ones(seed, n):
    rng = np.random.default_rng(seed)
    query, *hits = (Question(str(i), title) for i, title in enumerate(random_titles(rng, n + 1)))
    scores = np.sort(rng.normal(size=n) * 10)[::-1]
    calibration = random_calibration(rng)
    extractor = HitFeatureExtractor("en")
    all_features = extractor.extract(query, scores, hits)
    all_probabilities = calibration.estimate(all_features)
    for k in (1, 2, max(n // 2, 1), max(n - 1, 1), n):
        retrieved = max(k, CALIBRATION_DEPTH)
        features = extractor.extract(query, scores[:retrieved].copy(), hits[:k])
        assert features.tobytes() == all_features[:k].tobytes()
        assert calibration.estimate(features).tobytes() == all_probabilities[:k].tobytes()


def random_calibration(rng):
    first, later = random_logistic_curve(rng, COLUMNS), random_isotonic_curve(rng, 8)
    known = ProductCurve(curves=(first, later)) if rng.random() < 0.5 else None
    return Calibration(
        ranker="any", settings="{}", state=ArchiveState(change=0, committed_at=None, questions=1), split="dev",
        queries=1, has_bodies=False, base_rate=0.5, first_hit_curve=first, later_hit_curve=later,
        answerable_curve=known, prevalence=0.3,
    )  # fmt: skip
