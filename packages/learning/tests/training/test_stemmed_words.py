"""Rows of words beside rows of their stems."""

import numpy as np

from askalike.core.records import Question
from askalike_learning.features.stemmed_words import StemmedWordFeatures, StemmedWordSettings
from askalike_learning.features.words import WordFeatures, WordSettings

TEXTS = [Question("1", "boiling eggs"), Question("2", "boiled egg"), Question("3", "plant a tree")]


def features(**values):
    return StemmedWordFeatures.from_texts(StemmedWordSettings(min_texts=1, **values), TEXTS)


def test_forms_are_two_words_and_one_stem():
    known = features()
    batch = known.encode(TEXTS).batch(np.arange(3))
    assert batch["ids"].shape == batch["stems"].shape == batch["mask"].shape == (3, 3)
    assert not (batch["ids"][0] == batch["ids"][1])[:2].any()
    assert (batch["stems"][0] == batch["stems"][1]).all()
    assert known.tokens[batch["stems"][0, 0]] == "boil"
    assert known.idf[known.vocabulary.ids["boil"]] == np.float32(np.log(3 / 2))


def test_unused_form_has_its_stem():
    known = features()
    batch = known.encode([Question("q", "boils")]).batch(np.arange(1))
    assert known.tokens[batch["stems"][0, 0]] == "boil"
    assert known.tokens[batch["ids"][0, 0]] == ""


def test_what_was_saved_is_read_again(tmp_path):
    for bag in ("stems", "words"):
        known = features(bag=bag)
        (tmp_path / bag).mkdir()
        known.save(tmp_path / bag)
        again = StemmedWordFeatures.load(known.settings, tmp_path / bag)
        expected = known.encode(TEXTS).batch(np.arange(3))
        np.testing.assert_equal(again.encode(TEXTS).batch(np.arange(3)), expected)
        assert expected


def test_model_without_stems_has_word_bags(tmp_path):
    """So were all bags before there were stems."""
    WordFeatures.from_texts(WordSettings(min_texts=1), TEXTS).save(tmp_path)
    loaded = StemmedWordFeatures.load(StemmedWordSettings(min_texts=1), tmp_path)
    batch = loaded.encode(TEXTS).batch(np.arange(3))
    np.testing.assert_array_equal(batch["stems"], batch["ids"])
