"""What rankers, promotion and tuning do with recipes, and training with queries that the archive lacks."""

import pytest

import askalike
from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.store import Archive
from askalike.tuning import candidate_search, models, pseudo_queries, run
from askalike.tuning.candidates import CandidateFamily
from askalike.tuning.promotion import promote
from askalike_learning.trainable import load_recipe
from askalike_research.experiments.declaration import read_experiment, resolve
from askalike_research.experiments.run import shorten
from experiments.small import toml_at
from planted import NETWORK, plant
from tuning.small import unlabelled


def test_tune_removes_losing_models(tmp_path, monkeypatch):
    monkeypatch.setattr(rankers, "DEFAULT_NAME", "lm_jelinek_mercer")
    values = {"epochs": 1, "dim": 16, "init": "random", "words": 1024, "accelerator": "cpu", "min_pairs": 8}
    family = CandidateFamily(
        "words", 1, "static", signals=("question_answer",), pairs_per_second=1e6, recipe_settings=values
    )
    monkeypatch.setattr(candidate_search, "list_families", lambda: (family,))
    monkeypatch.setattr(models, "MIN_PAIRS", 1)
    monkeypatch.setattr(pseudo_queries, "MAX_QUERIES", pseudo_queries.MIN_QUERIES)  # the other questions train
    with Archive.open(unlabelled(tmp_path / "a")) as archive:
        first = run.tune_archive(archive)
        tried = [result.candidate.name for result in first.candidate_results]
        assert ("words" in tried, rankers.trained_model_names(archive.path)) == (True, ())
        again = run.tune_archive(archive)
        assert [skipped.reason for skipped in again.skipped] == ["an earlier run trained it, but did not choose it"]


def test_families_lie_between_those_of_askalike():
    from askalike.tuning.candidates import list_families

    names = ["static", "trained static", "distil", "bow_cnn", "cnn", "scqa", "siamese_lstm", "pretrained"]
    assert [family.name for family in list_families()] == names


def test_a_recipe_is_promoted_once_it_is_trained(tmp_path):
    with Archive.open(plant(tmp_path / "planted")) as archive, pytest.raises(SettingsError, match="train it first"):
        promote(archive, "cnn")


def test_a_seed_is_for_the_parts_that_learn():
    ranker = rankers.create("hybrid", {"parts": ["bm25", "dssm"], "seed": 7, "dssm.training.seed": 3})
    assert ranker.values["dssm.training.seed"] == 7
    with pytest.raises(SettingsError, match="seed=7, but no part learns: bm25, tfidf"):
        rankers.create("hybrid", {"parts": ["bm25", "tfidf"], "seed": 7})


@pytest.mark.parametrize("name", ["neural", "cnn", "dssm", "doc2vec"])
def test_models_take_no_name_of_an_existing_entry(name):
    with pytest.raises(SettingsError, match="name of a built-in ranker"):
        rankers.check_model_name(name)
    assert name not in rankers.names()


def test_a_quick_run_trains_little(tmp_path):
    system = [{"ranker": "cnn", "settings": {"init": "skipgram"}}]
    experiment = read_experiment(
        toml_at(tmp_path / "x.toml", plant(tmp_path / "planted"), split="halves/test", system=system)
    )
    with Archive.open(tmp_path / "planted") as archive:
        settings = shorten(resolve(experiment, archive)).system[0].settings
    assert (settings["training.epochs"], settings["embeddings.init"], settings["data.max_pairs"]) == (1, "random", 500)


def test_words_of_training_queries_are_known(tmp_path):
    with Archive.open(plant(tmp_path / "planted")) as archive:
        archive.upsert(askalike.EvaluationQuery("train", askalike.Question(f"e{n}", f"new word{n}")) for n in range(20))
        archive.upsert(askalike.Judgement("train", f"e{n}", f"q{n}", 1) for n in range(20))
        models.train(archive, load_recipe("cnn", NETWORK | {"training.epochs": 1}), "mine", dev="halves/test")
        words = (archive.path / "models/mine/vocabulary.txt").read_text()
        assert "new\t" in words
