"""Encoders of texts alone: learned, kept without a pickle, opened, and used as rankers and parts of hybrids."""

import numpy as np
import pytest

from askalike import encoders, rankers
from askalike.core.errors import InputError, NotFittedError, SettingsError, TrainingError
from askalike.core.records import Question
from askalike.tuning import models
from askalike_learning.trainable import load_recipe

CORPUS_ENCODERS = ("doc2vec", "topics")
SMALL = {
    "doc2vec": {"min_texts": 1, "dim": 24, "epochs": 60, "sample": 0},
    "topics": {"min_texts": 1, "topics": 18, "epochs": 30},
}
TEXTS = [Question("1", "how do I cook rice"), Question("2", "best egg recipe"), Question("3", ""), Question("4", "zzz")]


def values(encoder, texts=TEXTS):
    return encoder.encode_queries(texts).parts[0].values


@pytest.fixture(params=CORPUS_ENCODERS)
def folder(request, archive):
    return models.train(archive, load_recipe(request.param, SMALL[request.param]), "mine")


def test_it_is_kept_as_text_and_arrays(folder):
    arrays = {f"{name}.npy" for name in encoders.open_encoder(folder).array_names}
    assert {f.name for f in folder.iterdir()} == {"model.toml", "vocabulary.txt", "README.md"} | arrays
    assert "CC0 (72 questions)" in (folder / "README.md").read_text()


def test_vectors_depend_on_the_text_alone(folder):
    first, second = (encoders.open_encoder(folder) for _ in range(2))
    assert first.fingerprint == second.fingerprint
    np.testing.assert_array_equal(values(first), values(second))
    np.testing.assert_allclose(values(first)[:1], values(first, TEXTS[:1]), rtol=1e-6)
    assert np.isfinite(values(first)).all()
    assert not values(first)[2:].any()


def test_it_ranks_alone_and_in_a_hybrid(folder, archive):
    for name, settings in (("mine", {}), ("hybrid", {"parts": "bm25,mine"})):
        ranker = rankers.open_current(rankers.create(name, settings, archive.path), archive.view())
        hits = rankers.rank(ranker, {"q": Question("q", "how do I cook rice")}, 5)["q"]
        assert hits[0].id.startswith("rice")


@pytest.mark.parametrize("name", CORPUS_ENCODERS)
def test_same_seed_gives_the_same_and_fits_once(name, archive):
    unfitted = encoders.build(name, SMALL[name])
    with pytest.raises(NotFittedError, match="not trained yet"):
        unfitted.encode_queries(TEXTS)
    fitted = unfitted.fit(archive.training_view(()))
    assert fitted.fit(archive.training_view(())) is fitted
    folder = models.train(archive, load_recipe(name, SMALL[name]), "again")
    np.testing.assert_array_equal(values(fitted), values(encoders.open_encoder(folder)))


@pytest.mark.parametrize("name", CORPUS_ENCODERS)
def test_what_is_wrong_is_one_line(name, archive):
    with pytest.raises(TrainingError, match="set min_texts=1"):
        models.train(archive, load_recipe(name, {"min_texts": 1000}), "mine")
    with pytest.raises(SettingsError, match="nonsense"):
        load_recipe(name, {"nonsense": 1})
    folder = models.train(archive, load_recipe(name, SMALL[name]), "mine")
    with pytest.raises(SettingsError, match="own settings are fixed"):
        encoders.open_encoder(folder, {"seed": 2})
    array = next(folder.glob("*.npy"))
    array.write_bytes(array.read_bytes()[:100])
    with pytest.raises(InputError, match="the array cannot be read"):
        encoders.open_encoder(folder)


def test_inference_is_that_of_word2vec(archive):
    """gensim's own, where every word is looked at, gives vectors that point the same way."""
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    encoder = encoders.build("doc2vec", SMALL["doc2vec"]).fit(archive.training_view(()))
    texts = [encoder.words.split_words(q) for _, q in archive.view().questions()]
    tagged = [TaggedDocument(text, [n]) for n, text in enumerate(texts)]
    model = Doc2Vec(
        tagged, dm=0, dbow_words=1, vector_size=24, window=15, sample=0, epochs=60, min_count=1, workers=1, seed=1
    )
    theirs = np.array([model.infer_vector(text) for text in texts])
    ours = values(encoder, [q for _, q in archive.view().questions()])
    cosines = (ours * theirs).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert np.mean(cosines) > 0.8
