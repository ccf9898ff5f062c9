"""Titles that are one telling word apart are two questions; rephrasings are one."""

import numpy as np
import pytest

from askalike.calibration.calibration import Calibration
from askalike.calibration.curve_selection import MIN_FACTOR
from askalike.calibration.differences import FULL_SAMENESS, TitleDifferences, measure_differences
from askalike.calibration.features import COLUMN_COUNT, SAMENESS_COLUMN, HitFeatureExtractor
from askalike.core.types import Question

TITLES = {
    "en": (
        "What does printing cost?",
        "How do I borrow a book?",
        "How can I renew my library card?",
        "Where is the lift?",
    ),
    "de": ("Was kostet das Drucken im ersten Stock?", "Wie leihe ich ein Werkzeug aus?", "Wo stehen die Krimis?"),
    "ru": ("Где находится столица Исландии?", "Сколько стоит доставка?", "Как вернуть товар?"),
}
APART = (
    ("en", "How do I borrow a book for my class?", "How do I borrow a bicycle for my class?"),
    ("en", "What does printing posters cost?", "What does printing cards cost?"),
    ("en", "How can I renew my library card?", "How can I renew my passport card?"),
    ("de", "Was kostet das Drucken im ersten Stock?", "Was kostet das Kopieren im ersten Stock?"),
    ("ru", "Где находится столица Исландии?", "Где находится столица Норвегии?"),
    ("ru", "Сколько стоит доставка?", "Сколько стоит подписка?"),
)
SAME = (
    ("en", "Where is the lift?", "Where's the lift?"),
    ("en", "How do I borrow a book?", "I want to take a novel home, what do I have to do?"),
    ("en", "How can I renew my library card?", "my card has run out, who makes it valid again?"),
    ("de", "Wo stehen die Krimis?", "Wo stehen denn die Krimis?"),
    ("ru", "Как вернуть товар?", "Купленная вещь не подошла, хочу получить деньги назад"),
)


@pytest.fixture
def differences():
    return TitleDifferences(lambda: [title for titles in TITLES.values() for title in titles])


@pytest.mark.parametrize(("language", "one", "other"), APART)
def test_titles_one_telling_word_apart_are_not_the_same(differences, language, one, other):
    assert differences.sameness(one, other, language) < FULL_SAMENESS / 2
    assert differences.sameness(other, one, language) < FULL_SAMENESS / 2


@pytest.mark.parametrize(("language", "one", "other"), SAME)
def test_rephrasings_are_the_same(differences, language, one, other):
    assert differences.sameness(one, other, language) >= FULL_SAMENESS


def test_a_word_that_many_titles_have_tells_less_than_a_rare_one():
    common = TitleDifferences(lambda: [f"How do I return my book {n}?" for n in range(50)])
    pair = "How do I return this long novel by ship?", "How do I return this long novel by ship with a {}?"
    assert common.sameness(pair[0], pair[1].format("book"), "en") > common.sameness(
        pair[0], pair[1].format("camel"), "en"
    )


def test_values_of_differences_by_hand():
    values = measure_differences({"a": 1.0, "b": 0.5}, {"b": 0.5, "c": 0.25, "d": 0.25})
    assert values == (1.0, 0.25, 1, 2, 0.25, pytest.approx(1 / 3), 0.5, *map(pytest.approx, (
        0.25, 0.0625, 1 / 12, 0.5, 1 / 9,
    )))  # fmt: skip


def test_sameness_is_a_feature_of_each_hit_and_curves_end_with_it():
    hits = [Question("1", "How do I borrow a book?"), Question("2", "How do I borrow a bicycle?")]
    features = HitFeatureExtractor("en").extract(hits[0], np.array([2.0, 1.9]), hits)
    assert features.shape == (2, COLUMN_COUNT)
    assert features[0, SAMENESS_COLUMN] == 1 > features[1, SAMENESS_COLUMN] > 0


def test_a_hit_one_word_apart_is_not_sure(directory_calibration):
    features = np.ones((1, COLUMN_COUNT))
    sure = directory_calibration.curve_probabilities(features)[0]
    features[0, SAMENESS_COLUMN] = 0.01
    assert directory_calibration.curve_probabilities(features)[0] == pytest.approx(MIN_FACTOR * sure)


@pytest.fixture(scope="module")
def directory_calibration(tmp_path_factory) -> Calibration:
    from askalike import rankers
    from askalike.calibration.calibrate import calibrate
    from askalike.store import Archive
    from calibration.riverside import DEFAULT_RANKER, riverside

    with Archive.open(riverside(tmp_path_factory.mktemp("differences") / "riverside")) as archive:
        return calibrate(archive, rankers.create(DEFAULT_RANKER)).calibration
