"""The features of a hit."""

import numpy as np
import pytest

from askalike.calibration.features import CALIBRATION_DEPTH, FEATURES, HitFeatureExtractor
from askalike.core.records import Question


def extract(scores, hits, query="boil an egg", body=""):
    rows = HitFeatureExtractor("en").extract(
        Question("q", query, body), np.array(scores), [Question("h", title) for title in hits]
    )
    return [dict(zip(FEATURES, row, strict=False)) for row in rows.tolist()]


def test_by_hand():
    first, second = extract([6.0, 4.0, 2.0], ["boiling eggs in water", "pasta"])
    assert first["score"] == 6
    assert first["length"] == pytest.approx(np.log(4))
    assert (first["margin"], second["margin"]) == (2, -2)
    assert (first["mean_margin"], second["mean_margin"]) == (3, 0)
    assert first["shared"] == pytest.approx(2 / 3)
    assert first["overlap"] == pytest.approx(2 / 5)
    assert second["shared"] == second["overlap"] == 0


def test_margin_of_an_only_hit_is_its_score():
    [only] = extract([5.0], ["egg"])
    assert only["margin"] == only["mean_margin"] == 5


def test_hits_after_the_first_ten_change_nothing():
    scores = np.arange(20.0, 0.0, -1.0)
    deep = extract(scores, ["egg"] * 15)
    assert deep[:CALIBRATION_DEPTH] == extract(scores[:CALIBRATION_DEPTH], ["egg"] * CALIBRATION_DEPTH)
    assert deep[12]["margin"] == 8 - 20
    assert deep[12]["mean_margin"] == 8 - np.mean(scores[:CALIBRATION_DEPTH])


def test_empty_texts_and_no_hits():
    assert extract([], []) == []
    [row] = extract([1.0], [""], "", "")
    assert np.isfinite(list(row.values())).all()


def test_bodies_count_as_length_only():
    [bare], [full] = extract([1.0], ["egg"]), extract([1.0], ["egg"], body="in a very small pot")
    assert full["length"] > bare["length"]
    assert full["shared"] == bare["shared"]
