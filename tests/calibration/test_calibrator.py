"""The calibrator: which calibration holds, the threshold, and probabilities that do not depend on k."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from askalike import rankers
from askalike.calibration.calibration import Calibrator
from askalike.calibration.features import CALIBRATION_DEPTH, HitFeatureExtractor
from askalike.core.errors import SettingsError
from askalike.core.records import Question
from askalike.store.archive import Archive
from calibration.riverside import DEFAULT_RANKER as RANKER

QUERY = Question("typed", "how long may I keep a book?")


@pytest.fixture
def archive(calibrated_riverside):
    with Archive.open(calibrated_riverside) as archive:
        yield archive


def test_estimates_equal_the_calibrations(archive):
    calibrator = Calibrator.open(archive, rankers.create(RANKER))
    hits = [question for _, question in archive.view().questions()][:40]
    scores = np.linspace(20, 1, 40)
    probabilities = calibrator.estimate(QUERY, scores, hits)
    features = HitFeatureExtractor(archive.view().language).extract(QUERY, scores, hits)
    assert probabilities.tobytes() == calibrator.calibration.estimate(features).tobytes()
    assert (np.diff(probabilities) <= 0).all()
    for k in (1, 2, 9, 11):
        retrieved = calibrator.calibration.retrieval_depth(k)
        assert retrieved == max(k, CALIBRATION_DEPTH)
        assert calibrator.estimate(QUERY, scores[:retrieved], hits[:k]).tobytes() == probabilities[:k].tobytes()
    assert calibrator.estimate(QUERY, np.empty(0), []).tolist() == []


def test_minimum_probability_is_checked(archive):
    calibrator = Calibrator.open(archive, rankers.create(RANKER))
    for probability in (0, 0.3, 1):
        calibrator.check_minimum(probability)
    for wrong in (-0.1, 1.5, 90):
        with pytest.raises(SettingsError, match=f"must be between 0 and 1, got {wrong}"):
            calibrator.check_minimum(wrong)


def test_without_a_calibration_there_are_no_probabilities(archive):
    calibrator = Calibrator.open(archive, rankers.create("bm25"))
    assert calibrator.calibration is None
    assert calibrator.stale_reason == f"only {RANKER} is calibrated"
    with pytest.raises(SettingsError, match=f"is not calibrated .only {RANKER} is calibrated., so there are"):
        calibrator.check_minimum(0.5)
    with pytest.raises(SettingsError, match="run: askalike calibrate"):
        calibrator.estimate(QUERY, np.empty(0), [])


def test_it_follows_the_archive(tmp_path, calibrated_riverside):
    with Archive.open(shutil.copytree(calibrated_riverside, tmp_path / "moved")) as moved:
        calibrator = Calibrator.open(moved, rankers.create(RANKER))
        assert calibrator.calibration is not None
        questions = [question for _, question in moved.view().questions()][:40]
        moved.upsert(replace(question, id=f"new-{question.id}") for question in questions)
        assert calibrator.calibration is None
        assert "40 questions of 244 changed since" in calibrator.stale_reason
        with pytest.raises(SettingsError, match="40 questions of 244 changed since"):
            calibrator.check_minimum(0.5)


def test_a_calibration_of_other_settings_is_told(archive):
    calibrator = Calibrator.open(archive, rankers.create(RANKER, {"fields": "title"}))
    assert calibrator.calibration is None
    assert calibrator.stale_reason == "it was made with other settings"
    with pytest.raises(SettingsError, match=r"not calibrated \(it was made with other settings\)"):
        calibrator.check_minimum(0.5)
    other = Calibrator.open(archive, rankers.create("bm25"))
    assert other.advice.endswith(
        f"have no probabilities: only {RANKER} is calibrated; run: askalike calibrate {archive.path}"
    )
    assert Calibrator.open(archive, rankers.create(RANKER)).advice is None
