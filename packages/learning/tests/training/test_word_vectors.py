import numpy as np
import pytest
from safetensors.numpy import load_file

from askalike.core.errors import InputError, SettingsError, TrainingError
from askalike.text.features import RESERVED
from askalike.text.subwords import Bpe, find_packaged_vectors
from askalike_learning import word_vectors
from askalike_learning.recipes import EmbeddingSettings
from askalike_learning.word_vectors import initialise_vectors, load_packaged_vectors, read_vectors

TOKENS = ("", "", "egg", "Rice", "new york", "water")
WORD2VEC = "4 2\negg 1 2\nwater 3.5 -4e-1 \nRICE 9 9\nother 0 0\n"
GLOVE = "egg 1 2\nnew york 5 6\nWater 7 8\nwater 3.5 -4e-1\n"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_that_opens_with_its_sizes(tmp_path):
    vectors = read_vectors(write(tmp_path / "w2v.txt", WORD2VEC), TOKENS)
    assert vectors.dtype == np.float32
    assert vectors[2].tolist() == [1, 2]
    assert vectors[5].tolist() == pytest.approx([3.5, -0.4])
    assert np.isnan(vectors[[0, 1, 3, 4]]).all()


def test_a_file_without_and_tokens_with_spaces(tmp_path):
    vectors = read_vectors(write(tmp_path / "glove.txt", GLOVE), TOKENS)
    assert vectors[4].tolist() == [5, 6]
    assert vectors[5].tolist() == pytest.approx([3.5, -0.4])  # the exact form comes before the one in capitals


def test_capitalized_word_serves_its_small_form(tmp_path):
    vectors = read_vectors(write(tmp_path / "glove.txt", "EGG 1 2\nEgg 3 4\n"), TOKENS)
    assert vectors[2].tolist() == [1, 2]


@pytest.mark.parametrize("text", ["egg 1 2\nwater 1\n", "egg 1 2\nwater 1 x\n", "3 2\negg 1 2\nwater\n"])
def test_a_malformed_line_is_named(tmp_path, text):
    path = write(tmp_path / "bad.txt", text)
    with pytest.raises(InputError, match=r"bad\.txt:[23]: expected a word and 2 numbers"):
        read_vectors(path, TOKENS)


def test_a_missing_file():
    with pytest.raises(SettingsError, match="expected skipgram, random, packaged, or a file"):
        initialise_vectors(EmbeddingSettings(init="nowhere.txt"), TOKENS, 2, lambda: iter(()))


def test_real_glove(shared_data):
    path = shared_data / "vectors" / "glove.6B.50d.7846.txt"
    start = initialise_vectors(
        EmbeddingSettings(init=str(path)), ("", "", "the", "question", "zzzyx"), 50, lambda: iter(())
    )
    assert start.vectors[2, :3].tolist() == pytest.approx([0.418, 0.24968, -0.41242])
    assert start.coverage.startswith("word vectors: 2 of 3 words (66.7%) begin as ")


def test_skip_gram_repeats_itself_and_leaves_padding_out():
    texts = [["egg", "water", "salt"], ["water", "egg"], ["salt", "egg", "water"]] * 5
    tokens = ("", "", "egg", "water", "missing")

    def vectors(seed):
        settings = EmbeddingSettings(init_epochs=2, init_seed=seed)
        return initialise_vectors(settings, tokens, 4, lambda: iter(texts)).vectors

    one = vectors(1)
    np.testing.assert_array_equal(one, vectors(1))
    assert not np.array_equal(one[2], vectors(2)[2])
    assert np.isfinite(one[2:4]).all()
    assert np.isnan(one[[0, 1, 4]]).all()


def test_texts_without_a_word_that_counts_are_refused() -> None:
    with pytest.raises(TrainingError, match="features.min_texts"):
        initialise_vectors(EmbeddingSettings(init="skipgram"), TOKENS[:2], 8, lambda: iter([["boil"]]))


def test_word_vectors_are_learned_once_per_texts(tmp_path, monkeypatch):
    texts = [["egg", "water", "salt"], ["water", "egg"], ["salt", "egg", "water"]] * 5
    learned = []
    train = word_vectors.train_skipgram
    monkeypatch.setattr(word_vectors, "train_skipgram", lambda *values: learned.append(1) or train(*values))

    def vectors(texts, **settings):
        return initialise_vectors(
            EmbeddingSettings(init_epochs=1, **settings), ("", "", "egg", "water"), 4, lambda: iter(texts), tmp_path
        ).vectors

    first = vectors(texts)
    np.testing.assert_array_equal(first, vectors(texts))
    assert len(learned) == 1
    assert not np.array_equal(first, vectors(texts, init_seed=5), equal_nan=True)
    vectors(texts[1:])
    assert len(learned) == 3
    for seed in range(20):
        vectors(texts, init_seed=seed)
    assert len(list(tmp_path.iterdir())) == word_vectors.MAX_CACHED_TABLES


def test_packaged_vectors_are_sums_of_subwords():
    known = load_file(find_packaged_vectors()[0])["embedding.weight"].astype(np.float32)
    bpe = Bpe.from_file(find_packaged_vectors()[1])
    vectors = load_packaged_vectors(["", "?", "water", "defibrillators"])
    assert np.isnan(vectors[:RESERVED]).all()
    subwords = bpe.encode(("water", "defibrillators"))
    assert [len(ids) > 1 for ids in subwords] == [False, True]
    np.testing.assert_allclose(vectors[RESERVED:], [known[ids].sum(0) for ids in subwords], rtol=1e-6)
