"""A trained encoder, from an archive's pairs to its file and back."""

import resource

import numpy as np
import pytest
import torch

from askalike import rankers
from askalike.core.errors import ArchiveError, InputError, NotFittedError, SettingsError, TrainingError
from askalike.core.records import Answer, Question
from askalike.encoders import open_encoder
from askalike.tuning import models
from askalike_learning.neural import NeuralEncoder
from askalike_learning.recipes import Recipe
from askalike_learning.trainable import NetworkRecipe, load_recipe
from askalike_learning.training_run import train_recipe
from kitchen import TINY


def parts(encoder, texts):
    vectors = encoder.encode_queries(texts)
    return [p.values if isinstance(p.values, np.ndarray) else p.values.toarray() for p in vectors.parts]


LSTM = {k: v for k, v in TINY.items() if k != "units"} | {"hidden": 6, "signals": "duplicates", "training.epochs": 1}
TEXTS = [
    Question("x", "how do I cook rice"),
    Question("y", "", "a body alone"),
    Question("z", ""),
    Question("w", "zzz"),
]


@pytest.mark.parametrize(("name", "vocabulary"), [("cnn_paper", "vocabulary.txt"), ("bow_cnn", "words_and_stems.txt")])
def test_trained_model_is_opened_and_ranks_by_name(archive, name, vocabulary):
    lines = []
    recipe = Recipe.read(name, TINY | {"dim": 24, "units": 96})
    folder = models.train(archive, NetworkRecipe(recipe), "mine", log=lines.append)
    assert lines[0] == "45 training pairs, 4 dev queries over 72 documents" or lines[0].endswith("over 72 documents")
    assert "begin as skip-gram on the archive's own texts" in lines[1]
    files = {"model.toml", "weights.safetensors", vocabulary, "learned.json", "README.md"}
    assert {f.name for f in folder.iterdir()} == files
    assert [f.name for f in folder.parent.iterdir()] == ["mine"]
    first, second = (open_encoder(folder) for _ in range(2))
    assert first.recipe == recipe
    assert first.fingerprint == second.fingerprint
    for left, right in zip(parts(first, TEXTS), parts(second, TEXTS), strict=True):
        np.testing.assert_array_equal(left, right)
        assert np.isfinite(left).all()
        assert not left[2].any()
    for left, alone in zip(parts(first, TEXTS), parts(first, TEXTS[:1]), strict=True):
        np.testing.assert_allclose(left[:1], alone, rtol=1e-5, atol=1e-6)

    searcher = rankers.open_current(rankers.create("mine", {}, archive.path), archive.view())
    hits = rankers.rank(searcher, {"q": Question("q", "how do I cook rice")}, 3)["q"]
    assert hits[0].id.startswith("rice")
    reason = rankers.explain_ids(searcher, Question("q", "how do I cook rice"), [hits[0].id])[hits[0].id]
    assert reason.score == pytest.approx(hits[0].score, abs=1e-3)
    assert sum(c.score for c in reason.contributions) == pytest.approx(reason.score)
    assert any("rice" in c.word for c in reason.contributions[:2])
    assert any("rice" in reason.text[s.field][s.start : s.end] for s in reason.spans)

    card = (folder / "README.md").read_text()
    assert "CC0 (72 questions)" in card
    assert "| epoch | loss | RR |" in card


def test_models_are_listed_and_removed(archive):
    models.train(archive, load_recipe("cnn", TINY), "mine")
    [model] = models.list_models(archive)
    assert (model.name, model.kind, model.measure) == ("mine", "cnn", "RR")
    assert 0 < model.value <= 1
    with pytest.raises(ArchiveError, match="this model already exists; remove it first"):
        models.train(archive, load_recipe("cnn", TINY), "mine")
    with pytest.raises(ArchiveError, match="no model 'nothing'; there are: mine"):
        models.remove_model(archive, "nothing")
    with pytest.raises(ArchiveError, match=r"no model '\.\.'; there are: mine"):
        models.remove_model(archive, "..")
    models.remove_model(archive, "mine")
    assert models.list_models(archive) == []


@pytest.mark.parametrize("signals", ["title_body", "question_answer", "duplicates,title_body"])
def test_every_signal_teaches(archive, signals):
    recipe = Recipe.read("cnn", TINY | {"signals": signals, "training.epochs": 1, "min_pairs": 10})
    models.train(archive, NetworkRecipe(recipe), "mine")
    assert models.list_models(archive)[0].value > 0


def test_negatives_are_mined_from_a_ranker(archive):
    lines = []
    values = TINY | {"training.epochs": 1, "random": 0, "mined": 2, "from_rank": 1, "to_rank": 20, "ranker": "bm25"}
    models.train(archive, load_recipe("cnn", values), "mine", log=lines.append)
    assert any(line.startswith("mined negatives: ") for line in lines)


def test_a_named_dev_split_is_not_learned_from(archive):
    archive.upsert([])
    with pytest.raises(TrainingError, match="0 training pairs: too few"):
        models.train(archive, load_recipe("cnn", TINY), "mine", dev="duplicates")


def test_fit_learns_once(archive):
    encoder = NeuralEncoder.from_settings({"recipe": "cnn", **TINY})
    with pytest.raises(NotFittedError, match="not trained yet"):
        encoder.encode_queries(TEXTS)
    fitted = encoder.fit(archive.training_view(()))
    assert fitted.fingerprint == encoder.fit(archive.training_view(())).fingerprint  # opened, not trained again
    assert fitted.fit(archive.training_view(())) is fitted


@pytest.mark.parametrize("name", ["bow_cnn", "dssm_writer"])
def test_an_interrupted_run_is_resumed(archive, name):
    recipe = Recipe.read(name, TINY if name == "bow_cnn" else LSTM | {"latent": 6, "writer": 16, "training.epochs": 3})

    class Stopped(Exception):
        pass

    def stop(progress):
        if progress.epoch == 2:
            raise Stopped

    view, folder = archive.training_view(()), archive.path / "models"
    train_recipe(view, recipe, folder / "whole")
    with pytest.raises(Stopped):
        train_recipe(view, recipe, folder / "cut", on_progress=stop)
    lines = []
    train_recipe(view, recipe, folder / "cut", log=lines.append)
    assert "resuming after epoch 1" in lines
    assert (folder / "cut/weights.safetensors").read_bytes() == (folder / "whole/weights.safetensors").read_bytes()


def test_files_that_are_not_a_model(archive):
    folder = models.train(archive, load_recipe("cnn", TINY), "mine")
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(InputError, match="not this model's weights"):
        open_encoder(folder)
    (folder / "vocabulary.txt").write_text("12\nno tab\n")
    with pytest.raises(InputError, match=r"vocabulary\.txt:2"):
        open_encoder(folder)


@pytest.mark.parametrize("network", ["lstm", "siamese_lstm", "hierarchical_lstm", "scqa"])
def test_every_network_is_trained_saved_and_opened(archive, network):
    values = {k: v for k, v in TINY.items() if k not in ("units",)} | {"signals": "duplicates", "training.epochs": 2}
    if network == "scqa":
        values = {k: v for k, v in values.items() if k not in ("min_texts",)} | {"dim": 32, "init": "random"}
    ranker = rankers.create(models.train(archive, load_recipe(network, values), "mine").name, {}, archive.path)
    searcher = rankers.open_current(ranker, archive.view())
    hits = rankers.rank(searcher, {"q": Question("q", "how do I cook rice")}, 3)["q"]
    assert len(hits) == 3
    query = Question("q", "how do I cook rice")
    reason = rankers.explain_ids(searcher, query, [hits[0].id], exact=True)[hits[0].id]
    assert {"rice"} <= {c.word.partition(" ")[0] for c in reason.contributions} <= {"how", "do", "I", "cook", "rice"}
    assert all(reason.text[s.field][s.start : s.end].isalpha() for s in reason.spans)


def test_skipgram_reads_answers_too(archive):
    """Words of questions stand in other contexts where answers use them as well."""
    values = {**LSTM, "learning_rate": 1e-12}
    tables = []
    for name in ("before", "after"):
        model = open_encoder(models.train(archive, load_recipe("siamese_lstm", values), name)).trained_network
        tables.append((list(model.features.tokens), model.network.word_embedding.weight.detach().numpy()))
        archive.upsert(Answer(f"b{n}", "tea0", "Put tea and milk into a pot, then more milk.") for n in range(9))
    assert tables[0][0] == tables[1][0]
    assert not np.allclose(tables[0][1], tables[1][1], atol=1e-6)


def test_initial_word_vectors_are_scaled_together(archive):
    values = {**LSTM, "learning_rate": 1e-12, "init_std": 2}
    folder = models.train(archive, load_recipe("siamese_lstm", values), "scaled")
    table = open_encoder(folder).trained_network.network.word_embedding.weight
    assert table[2:].std().item() == pytest.approx(2, rel=1e-5)
    assert not table[0].any()
    with pytest.raises(SettingsError, match=r"embeddings\.init_std: expected a network over word vectors"):
        models.train(
            archive,
            load_recipe("scqa", {"init_std": 2, "init": "random", "dim": 32, "signals": "duplicates", "trigrams": 512}),
            "none",
        )


def test_an_lstm_begins_as_a_trained_one(archive):
    """The vectors are those of the trained one, whatever the order of the words; its labels are learned, too."""
    first = models.train(archive, load_recipe("lstm", LSTM), "first")
    archive.upsert([Question("new", "aardvark aardvark zebra", "aardvark")])
    lines = []
    frozen = LSTM | {"init": str(first), "learning_rate": 1e-12, "training.seed": 5}
    second = models.train(archive, load_recipe("lstm", frozen | {"signals": "title_body"}), "second", log=lines.append)
    old, new = open_encoder(first), open_encoder(second)
    assert "begin as in first" in lines[1]
    assert len(new.trained_network.features.tokens) > len(old.trained_network.features.tokens)
    np.testing.assert_allclose(parts(new, TEXTS)[0], parts(old, TEXTS)[0], atol=1e-5)
    assert new.learned_labels.duplicates >= old.learned_labels.duplicates
    with pytest.raises(SettingsError, match=r"embeddings\.init=.*has the size \[24, 8\], expected \[28, 8\]"):
        models.train(archive, load_recipe("lstm", frozen | {"hidden": 7}), "wider")
    with pytest.raises(SettingsError, match="a model of the network Lstm; expected SiameseLstm"):
        models.train(archive, load_recipe("siamese_lstm", frozen), "other")


def test_topic_network_feeds_an_lstm_unchanged(archive):
    topics = models.train(archive, load_recipe("siamese_lstm", LSTM | {"hidden": 5}), "subject")
    values = LSTM | {"signals": "question_answer", "min_pairs": 5, "topic_hidden": 5}
    with pytest.raises(SettingsError, match=r"network\.topics: expected the folder of a trained siamese_lstm"):
        models.train(archive, load_recipe("siamese_lstm_topics", values), "fed")
    fed = models.train(archive, load_recipe("siamese_lstm_topics", values | {"topics": str(topics)}), "fed")
    subject, learned = parts(open_encoder(topics), TEXTS)[0], open_encoder(topics).learned_labels
    models.remove_model(archive, "subject")  # the new model has all that it needs
    encoder = open_encoder(fed)
    assert encoder.learned_labels.duplicates >= learned.duplicates > frozenset()
    network, features = encoder.trained_network.network, encoder.trained_network.features
    batch = {name: torch.from_numpy(array) for name, array in features.encode(TEXTS).batch(np.arange(4)).items()}
    np.testing.assert_allclose(network.topics(batch)[0].numpy(), subject, atol=1e-6)
    vectors = parts(encoder, TEXTS)[0]
    with torch.no_grad():
        network.topics.reader.words.weight[2:] += 1
    assert (parts(encoder, TEXTS)[0][:2] != vectors[:2]).any(1).all()
    searcher = rankers.open_current(rankers.create("fed", {}, archive.path), archive.view())
    assert len(rankers.rank(searcher, {"q": Question("q", "how do I cook rice")}, 3)["q"]) == 3


def test_pair_classifier_ranks_candidates_and_in_cascades(archive):
    values = {k: v for k, v in TINY.items() if k != "units"} | {"head": "pair", "training.epochs": 2}
    models.train(archive, load_recipe("lstm", values), "mine")
    view = archive.view()
    searcher = rankers.open_current(rankers.create("mine", {}, archive.path), view)
    queries = {"q": Question("q", "how do I cook rice")}
    pools = {"q": ["rice1", "egg0", "gone", "soup2"]}
    hits = rankers.rank(searcher, queries, 5, candidates=pools)["q"]
    assert sorted(h.id for h in hits) == ["egg0", "rice1", "soup2"]
    assert rankers.explain_ids(searcher, queries["q"], ["egg0"])["egg0"].score == pytest.approx(
        next(h.score for h in hits if h.id == "egg0"), abs=1e-5
    )
    assert {c.word for c in rankers.explain_ids(searcher, queries["q"], ["egg0"])["egg0"].contributions} >= {
        "cook",
        "rice",
    }
    with pytest.raises(SettingsError, match="mine ranks given candidates only"):
        rankers.rank(searcher, queries, 5)
    cascade = rankers.open_current(rankers.create("cascade", {"parts": "bm25,mine", "depth": 7}, archive.path), view)
    assert len(rankers.rank(cascade, queries, 50)["q"]) == 7


def test_fitted_pair_classifier_ranks_as_its_model_does(archive):
    """Its vectors alone are no score, though they have a cosine."""
    values = {k: v for k, v in TINY.items() if k != "units"} | {"head": "pair", "training.epochs": 1}
    fitted = rankers.create("lstm", values, archive.path).fit(archive.training_view(()))
    [name] = rankers.trained_model_names(archive.path)
    queries, pools = {"q": Question("q", "how do I cook rice")}, {"q": ["rice1", "egg0", "soup2"]}
    ranked = [
        rankers.rank(rankers.open_current(ranker, archive.view()), queries, 5, candidates=pools)["q"]
        for ranker in (fitted, rankers.create(name, {}, archive.path))
    ]
    assert ranked[0] == ranked[1]


@pytest.mark.parametrize(
    ("values", "gpus", "message"),
    [
        (
            {"accelerator": "cuda"},
            0,
            r"training.accelerator=cuda: torch \S+ finds no NVIDIA GPU; use training.accelerator=cpu",
        ),
        ({"accelerator": "mps"}, 0, r"training.accelerator=mps: torch \S+ finds no Apple GPU"),
        (
            {"accelerator": "cuda", "devices": 2},
            1,
            "2 devices with training.accelerator=cuda: torch finds 1 NVIDIA GPU; use devices=1",
        ),
    ],
)
def test_missing_gpu_is_told_before_anything_is_read(archive, monkeypatch, values, gpus, message):
    monkeypatch.setattr("torch.cuda.is_available", lambda: bool(gpus))
    monkeypatch.setattr("torch.cuda.device_count", lambda: gpus)
    monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
    lines = []
    with pytest.raises(SettingsError, match=message):
        models.train(archive, load_recipe("cnn", TINY | values), "mine", log=lines.append)
    assert not lines


def test_trained_network_on_a_missing_gpu_is_refused(archive, monkeypatch):
    folder = models.train(archive, load_recipe("cnn", TINY), "mine")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(SettingsError, match=r"device=cuda: torch \S+ finds no NVIDIA GPU; use device=cpu"):
        open_encoder(folder, {"device": "cuda"})


def test_full_disk_is_told_and_training_goes_on(archive, limit_file_size):
    recipe = Recipe.read("cnn", TINY)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    limit_file_size(2_000)
    with pytest.raises(ArchiveError, match=r"mine: cannot be written \(.*free some space"):
        models.train(archive, NetworkRecipe(recipe), "mine")
    limit_file_size(unlimited)
    assert (models.train(archive, NetworkRecipe(recipe), "mine") / "weights.safetensors").exists()


def test_training_that_fails_at_once_leaves_no_folder(archive):
    values = TINY | {"optimizer": "sgd", "learning_rate": 1e30, "warm_up": 0, "batch_size": 8, "clip": 0}
    with pytest.raises(TrainingError, match="the loss is .* in epoch 1"):
        models.train(archive, load_recipe("cnn", values), "mine")
    assert not list((archive.path / "models").iterdir())


def test_too_few_pairs_are_told_before_learning_words(archive):
    lines = []
    with pytest.raises(TrainingError, match="4[0-9] training pairs: too few; 100 are needed"):
        models.train(archive, load_recipe("cnn", TINY | {"min_pairs": 100}), "mine", log=lines.append)
    assert not lines
