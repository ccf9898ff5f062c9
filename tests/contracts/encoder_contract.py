"""What every encoder keeps to.

A test file imports all names, and defines the fixtures `name` and `settings`: a registered encoder, and what it needs.
"""

import numpy as np
import pytest

from askalike import encoders
from askalike.core.errors import InputError, NotFittedError, SettingsError
from askalike.core.records import Answer, Link, Question
from askalike.store import Archive

THINGS = ("egg", "rice", "pasta", "bread", "soup", "cake", "tea", "milk")
WAYS = ("how do I cook {}", "what is the way to prepare {}", "best {} recipe", "making {} at home")
TEXTS = [
    Question("1", "how do I cook rice", "it burns in the pot"),
    Question("2", "best egg recipe"),
    Answer("3", "2", "cook the egg at home"),
    Question("4", ""),
]
EMPTY = 3


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with Archive.create(tmp_path_factory.mktemp("encoders") / "kitchen") as archive:
        archive.upsert(Question(f"{t}{n}", way.format(t)) for t in THINGS for n, way in enumerate(WAYS))
        archive.upsert(Link(f"{t}{n}", f"{t}0") for t in THINGS for n in (1, 2))
        yield archive


@pytest.fixture(scope="module")
def fitted(name, settings, archive):
    """The encoder, and the folder of its model, if it has one."""
    return fit_on(archive, name, settings)


def fit_on(archive, name, settings):
    before = set(archive.path.glob("models/*"))
    encoder = encoders.build(name, settings).fit(archive.training_view(()))
    saved = {*archive.path.glob("models/*")} - before
    return encoder, saved.pop() if saved else None


def arrays(vectors):
    return [p.values if isinstance(p.values, np.ndarray) else p.values.toarray() for p in vectors.parts]


ROLES = ("encode_queries", "encode_documents", "approximate_documents")


@pytest.mark.parametrize("role", ROLES)
def test_encoder_returns_rows_and_zeros_for_empty_texts(fitted, role):
    encoder, _ = fitted
    vectors = getattr(encoder, role)(TEXTS)
    assert len(vectors.parts) >= 1
    for part, values in zip(vectors.parts, arrays(vectors), strict=True):
        assert values.shape[0] == len(TEXTS)
        assert values.dtype == np.float32
        assert part.metric in ("cosine", "dot", "euclidean")
        assert np.isfinite(values).all()
        assert not values[EMPTY].any()
    assert any(values[0].any() for values in arrays(vectors))


@pytest.mark.parametrize("role", ROLES)
def test_encoder_vectors_do_not_depend_on_the_batch(fitted, role):
    encode = getattr(fitted[0], role)
    together, again = arrays(encode(TEXTS)), arrays(encode(TEXTS))
    for number, text in enumerate(TEXTS):
        for whole, alone in zip(together, arrays(encode([text])), strict=True):
            np.testing.assert_allclose(whole[number], alone[0], atol=1e-5)
    np.testing.assert_equal(together, again)


def test_encoder_opened_again_gives_equal_vectors_and_fingerprints(name, settings, fitted):
    encoder, folder = fitted
    again = encoders.open_encoder(folder) if folder else encoders.build(name, settings)
    assert again.fingerprint == encoder.fingerprint
    assert again.document_fingerprint == encoder.document_fingerprint
    assert (again.trained_until, again.learned_labels) == (encoder.trained_until, encoder.learned_labels)
    for role in ROLES:
        for one, other in zip(*(arrays(getattr(e, role)(TEXTS)) for e in (encoder, again)), strict=True):
            np.testing.assert_array_equal(one, other)


def test_encoder_that_is_fitted_is_not_fitted_again(fitted, archive):
    encoder, _ = fitted
    assert encoder.fit(archive.training_view(())) is encoder


def test_encoder_has_the_whole_protocol(fitted):
    encoder, _ = fitted
    assert isinstance(encoder, encoders.Encoder)
    assert encoder.fingerprint
    assert encoder.document_fingerprint
    assert isinstance(encoder.indexable, bool)
    assert isinstance(encoder.can_approximate, bool)
    assert 0 < encoder.lexical_weight <= 1
    assert encoder.min_score is None or 0 < encoder.min_score < 1


def test_unfitted_encoder_is_a_clear_error(name, settings, fitted):
    if fitted[1] is None:
        assert not encoders.build(name, settings).trained_until  # there is nothing to learn
        return
    with pytest.raises((NotFittedError, SettingsError), match=r"askalike (train|distil)") as caught:
        encoders.build(name, settings).encode_queries(TEXTS)
    assert "\n" not in str(caught.value)


def test_encoder_refuses_unknown_settings_and_empty_folders(name, settings, tmp_path):
    with pytest.raises(SettingsError) as caught:
        encoders.build(name, {**settings, "no_such_setting": 1})
    assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"model\.toml"):
        encoders.open_encoder(tmp_path)
