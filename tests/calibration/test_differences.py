"""Titles that are one telling word apart are two questions; rephrasings are one."""

import numpy as np
import pytest

from askalike.calibration.calibration import Calibration
from askalike.calibration.curve_selection import MIN_FACTOR, UNFAMILIAR_FACTOR
from askalike.calibration.differences import FULL_SAMENESS, TitleDifferences, measure_differences
from askalike.calibration.features import COLUMN_COUNT, SAMENESS_COLUMN, HitFeatureExtractor
from askalike.core.records import Question

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
    ("en", "What does 3D printing cost?", "What does printing cost?"),
    ("de", "Wie leihe ich ein Werkzeug aus?", "Wie leihe ich E-Books aus?"),
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
def test_titles_one_telling_word_apart_differ(differences, language, one, other):
    assert differences.sameness(one, other, language) < FULL_SAMENESS / 2
    assert differences.sameness(other, one, language) < FULL_SAMENESS / 2


@pytest.mark.parametrize(("language", "one", "other"), SAME)
def test_rephrasings_are_the_same(differences, language, one, other):
    assert differences.sameness(one, other, language) >= FULL_SAMENESS


def test_thanks_change_no_question(differences):
    assert differences.sameness("Where is the lift?", "Where is the lift? Thanks!", "en") == 1


def test_a_negation_makes_another_question(differences):
    assert differences.sameness("Can I borrow a novel?", "Can I not borrow a novel?", "en") < FULL_SAMENESS / 2


def test_values_of_differences_by_hand():
    own, other = ["how", "do", "i", "borrow", "a", "book"], ["how", "can", "i", "borrow", "a", "large", "book"]
    assert measure_differences(own, other) == (pytest.approx(5 / 7), 0, 1)
    assert measure_differences(other, own) == measure_differences(own, other)
    assert measure_differences(["book"], ["a", "book"]) == (0.5, 1, 0)
    assert measure_differences([], []) == (0, 1, 0)


@pytest.mark.parametrize(("texts", "asks_more"), [
    ({}, True), ({"rephrasings": ("arriving by boat",)}, False), ({"body": "I come by boat."}, False),
])  # fmt: skip
def test_query_asks_more_without_its_word_in_texts(texts, asks_more):
    hit = Question("1", "Where can I park?", **texts)
    archive = TitleDifferences(lambda: ["Where can I park?", "Is there a boat?", *["How do I hire a bike?"] * 3])
    assert archive.asks_more("Where do I park my boat?", hit, "en") == asks_more
    assert not archive.asks_more("Where do I park my bike?", hit, "en")
    assert not archive.asks_more("Where do I moor my boat?", hit, "en")
    assert not archive.asks_more("Parking?", hit, "en")


def test_query_that_is_a_phrasing_asks_no_more():
    hit = Question("1", "Where can I park?", rephrasings=("Where can I park my car?",))
    extractor = HitFeatureExtractor("en")
    phrased, other = (
        extractor.extract(Question("q", title), np.ones(1), [hit])[0, SAMENESS_COLUMN:]
        for title in ("where can I park my car", "where can I park my boat")
    )
    assert phrased.tolist() == [1, 1]
    assert other[1] == 0


def test_sameness_is_a_feature_that_ends_the_curves():
    hits = [Question("1", "How do I borrow a book?"), Question("2", "How do I borrow a bicycle?")]
    features = HitFeatureExtractor("en").extract(hits[0], np.array([2.0, 1.9]), hits)
    assert features.shape == (2, COLUMN_COUNT)
    assert features[0, SAMENESS_COLUMN] == 1 > features[1, SAMENESS_COLUMN] > 0


def test_a_hit_one_word_apart_is_not_sure(directory_calibration):
    features = np.ones((1, COLUMN_COUNT))
    sure = directory_calibration.curve_probabilities(features)[0]
    features[0, SAMENESS_COLUMN] = 0.01
    assert directory_calibration.curve_probabilities(features)[0] == pytest.approx(MIN_FACTOR * sure)
    features[0, SAMENESS_COLUMN:] = 1, 0
    assert directory_calibration.curve_probabilities(features)[0] == pytest.approx(UNFAMILIAR_FACTOR * sure)


@pytest.fixture(scope="module")
def directory_calibration(tmp_path_factory) -> Calibration:
    from askalike import rankers
    from askalike.calibration.calibrate import calibrate
    from askalike.store import Archive
    from calibration.riverside import DEFAULT_RANKER, riverside

    with Archive.open(riverside(tmp_path_factory.mktemp("differences") / "riverside")) as archive:
        return calibrate(archive, rankers.create(DEFAULT_RANKER)).calibration
