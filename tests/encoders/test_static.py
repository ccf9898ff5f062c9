"""The static encoder: the packaged vectors' own pieces, sums by hand, trained files, and what becomes of odd texts."""

import json
import shutil
import weakref

import numpy as np
import pytest
from hypothesis import given, strategies as st
from safetensors.numpy import save_file

from askalike import encoders
from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Answer, Question
from askalike.encoders.static import WEIGHTS_FILE, StaticEncoder
from askalike.text.features.hashed_ngrams import TOKENIZER_FILE, NgramLookup, RowCounts, WeightedRows
from askalike.text.subwords import VECTORS_PACKAGE, Bpe, find_packaged_vectors
from random_examples import examples

VOCABULARY = ["▁", "▁b", "a", "b", "c", "ab", "▁ab", *(f"<0x{byte:02X}>" for byte in range(256))]
MERGES = ["a b", "▁ ab", "▁ b"]


@pytest.fixture(scope="module")
def static():
    pytest.importorskip(VECTORS_PACKAGE, reason="needs the extra vectors")
    return StaticEncoder.from_settings({})


@pytest.fixture
def tokenizer(tmp_path):
    path = tmp_path / "given.json"
    vocabulary = {piece: n for n, piece in enumerate(VOCABULARY)}
    model = {"type": "BPE", "byte_fallback": True, "vocab": vocabulary, "merges": MERGES}
    path.write_text(json.dumps({"model": model}), encoding="utf-8")
    return path


def model(folder, tokenizer, dim=3, **values):
    """A trained model with vectors and weights that count upwards."""
    folder.mkdir(parents=True)
    values = {"subwords": len(VOCABULARY), "words": 11, "bigrams": 13} | values
    rows = values["subwords"] + values["words"] + values["bigrams"]
    table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in values.items())
    (folder / "model.toml").write_text(f'encoder = "static"\n\n[static]\n{table}\n', encoding="utf-8")
    vectors = np.random.default_rng(0).standard_normal((rows, dim)).astype(np.float16)
    weights = np.linspace(0.5, 2, rows)
    save_file({"vectors": vectors, "weights": weights.astype(np.float32)}, folder / WEIGHTS_FILE)
    if values["subwords"]:
        shutil.copyfile(tokenizer, folder / TOKENIZER_FILE)
    return vectors.astype(np.float32), weights.astype(np.float32)


@examples(200)
@given(
    st.text(max_size=30) | st.lists(st.sampled_from(["How", "égg", "boil,", "x86_64", "茶水", "l'œuf"])).map(" ".join)
)
def test_pieces_are_those_of_the_vectors_own_tokenizer(text):
    tokenizers = pytest.importorskip("tokenizers")
    pytest.importorskip(VECTORS_PACKAGE)
    theirs, bpe = _both(tokenizers)
    text = " ".join(text.replace("▁", "").encode(errors="ignore").decode().split())
    mine = [id for ids in bpe.encode(text.split(" ") if text else []) for id in ids]
    assert mine == theirs.encode(text, add_special_tokens=False).ids


def _both(tokenizers, made=[]):  # noqa: B006 (read once)
    if not made:
        made += [
            tokenizers.Tokenizer.from_file(str(find_packaged_vectors()[1])),
            Bpe.from_file(find_packaged_vectors()[1]),
        ]
    return made


def test_pieces_by_hand(tokenizer):
    bpe = Bpe.from_file(tokenizer)
    names = {n: piece for piece, n in zip(VOCABULARY, range(len(VOCABULARY)), strict=True)}
    first, second, long = bpe.encode(["abcb", "é", "c" * 1_000])
    assert [names[i] for i in first] == ["▁ab", "c", "b"]
    assert [names[i] for i in second] == ["▁", "<0xC3>", "<0xA9>"]
    assert len(long) == 1_001


def test_trained_encoder_is_a_weighted_sum_of_rows(tmp_path, tokenizer):
    vectors, weights = model(tmp_path / "models" / "mine", tokenizer)
    encoder = encoders.open_encoder(tmp_path / "models" / "mine")
    rows, offsets = encoder.ngrams.lookup(["ab cb", "", "ab"])
    assert offsets.tolist() == [0, 4 + 2 + 1, 7, 7 + 2]
    subwords, words, bigrams = (rows[:7] < 263), (rows[:7] >= 263) & (rows[:7] < 274), rows[:7] >= 274
    assert (subwords.sum(), words.sum(), bigrams.sum()) == (4, 2, 1)
    found = encoder.encode_queries([Question("q", "ab cb"), Question("r", ""), Answer("a", "q", "ab cb")])
    values = found.parts[0].values
    np.testing.assert_allclose(values[0], (vectors * weights[:, None])[rows[:7]].sum(axis=0), rtol=1e-5)
    assert not values[1].any()
    np.testing.assert_array_equal(values[0], values[2])


def test_rows_in_16_bits_add_up_alike():
    finite = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    vectors = finite[np.isfinite(finite)].reshape(-1, 32)
    rows = np.arange(len(vectors), dtype=np.int32)
    offsets, weights = np.array([0, 1, 1, 5, len(rows)]), np.linspace(-1, 2, len(rows), dtype=np.float32)
    texts = rows, offsets[:-1], offsets[1:]
    sums = WeightedRows.of_vectors(vectors, weights).sum(*texts)
    assert np.array_equal(sums, WeightedRows.of_vectors(vectors.astype(np.float32), weights).sum(*texts))


def test_words_and_pairs_keep_order_with_unknown_rows():
    features = NgramLookup(RowCounts(0, 1_000, 100_000), None)
    one, other = (set(features([text])[0].tolist()) for text in ("Red house, zzyzx", "house red zzyzx"))
    assert len(one & other) == 3
    assert len(one - other) == 2
    assert features(["RED"])[0].tolist() == features(["red?"])[0].tolist()


def test_word_adds_the_same_whatever_else_is_read(static):
    texts = ["boil an egg", "", "egg, " * 3 + "x" * 200]
    found = static.words(texts)
    assert found.tokens.ends.tolist() == [0, 3, 3, 7]
    words = [found.known[number] for number in found.tokens.numbers]
    assert words == " ".join(texts).split()
    assert found.tokens.starts.tolist() == [0, 5, 8, 0, 5, 10, 15]
    alone = static.encode_queries([Question(word, word) for word in words]).parts[0].values
    np.testing.assert_array_equal(found.vectors, alone)


def test_only_the_beginning_of_a_text_counts(static):
    short, long = (Question("q", "egg " * n) for n in (128, 500))
    assert static.text(short) == static.text(long) == " ".join(["egg"] * 128)


def test_like_words_are_alike(static):
    values = static.encode_queries([Question(t, t) for t in ("my bike was stolen", "bicycle theft", "tax form")])
    rows = values.parts[0].values / np.linalg.norm(values.parts[0].values, axis=1, keepdims=True)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.1


def test_the_fingerprint_tells_models_and_settings_apart(static, tmp_path, tokenizer):
    prints = {static.fingerprint, StaticEncoder.from_settings({"code": "drop"}).fingerprint}
    for name, values in {"a": {}, "b": {"lower_case": True}, "c": {"dim": 4}}.items():
        model(tmp_path / name, tokenizer, **values)
        prints.add(encoders.open_encoder(tmp_path / name).fingerprint)
    assert len(prints) == 5
    assert StaticEncoder.from_settings({}).fingerprint == static.fingerprint


@pytest.mark.parametrize(
    ("file", "content", "problem"),
    [
        ("model.toml", "", "expected encoder = NAME"),
        ("model.toml", "encoder = ", "not a valid description"),
        ("model.toml", 'encoder = "static"\n[static]\nwords = 7', "rows expected"),
        ("model.toml", 'encoder = "static"\n[static]\nsize = 7', "size is not a setting"),
        ("static.safetensors", "x", "the weights cannot be read"),
        ("tokenizer.json", "{}", "not a valid tokenizer"),
    ],
)
def test_a_broken_model_is_one_line(tmp_path, tokenizer, file, content, problem):
    model(tmp_path / "mine", tokenizer)
    (tmp_path / "mine" / file).write_text(content, encoding="utf-8")
    with pytest.raises((InputError, SettingsError), match=problem) as raised:
        encoders.open_encoder(tmp_path / "mine")
    assert "\n" not in str(raised.value)


def test_without_the_vectors_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("askalike.text.subwords.VECTORS_PACKAGE", "no_such_package")
    with pytest.raises(SettingsError, match="no_such_package is not installed: pip install"):
        StaticEncoder.from_settings({})


def test_an_encoder_is_gone_where_nobody_uses_it():
    """Its table takes up to 130 MB: it does not wait for the collector of cycles."""
    encoder = StaticEncoder.from_settings({})
    encoder.words(["how to boil an egg"])
    reference = weakref.ref(encoder)
    del encoder
    assert reference() is None
