"""The DSSM and its generator, from an archive's answers to a model that finds and writes them."""

import shutil

import numpy as np
import pytest
import torch

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.records import Answer, Question
from askalike.encoders import open_encoder
from askalike.labels.partitions import create_partition
from askalike.labels.training_pairs import training_pairs
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.search.replies import open_generator
from askalike.store.archive import Archive
from askalike.tuning import models
from askalike_learning.generate import (
    WritingSettings,
    fill_unknown_words,
    join_words,
)
from askalike_learning.recipes import Recipe
from askalike_learning.trainable import NetworkRecipe, load_recipe
from askalike_learning.training_run import train_recipe
from askalike_research.experiments.answer_measures import distinct_n
from kitchen import THINGS

TINY = {
    "dim": 8, "hidden": 12, "latent": 10, "min_texts": 1, "training.epochs": 3, "training.accelerator": "cpu",
    "init_epochs": 2, "learning_rate": 0.01, "batch_size": 16, "min_pairs": 5, "dev_share": 0.2,
}  # fmt: skip
WRITER = {**TINY, "writer": 16, "cutoffs": (20,)}
TOWERS = ("dssm", "dssm_static", "dssm_hierarchical_lstm")


@pytest.fixture
def archive(tmp_path):
    with Archive.create(tmp_path / "kitchen") as made:
        made.upsert(Question(f"{t}", f"how do I cook {t}", license="CC0") for t in THINGS)
        made.upsert(Answer(f"a{t}", t, f"Put the {t} into a pot. Then boil the {t}.") for t in THINGS)
        yield made


@pytest.mark.parametrize("tower", TOWERS)
def test_it_learns_and_its_answers_can_be_ranked(archive, tower):
    models.train(archive, load_recipe(tower, TINY), "mine")
    ranker = rankers.open_current(rankers.create("mine", {}, archive.path), archive.view(kind="answers"))
    hits = rankers.rank(ranker, {"?": Question("?", "how do I cook rice")}, 5)["?"]
    assert len(hits) == 5
    assert all(hit.id.startswith("a") and hit.score <= 0 for hit in hits)  # minus distances


def test_questions_and_answers_have_towers_of_their_own(archive):
    model = open_encoder(models.train(archive, load_recipe("dssm", TINY), "mine"))
    question_text, answer_text = Question("q", "boil the rice"), Answer("a", "q", "boil the rice")
    question, answer, stored = (
        encode([text]).parts[0].values
        for encode, text in (
            (model.encode_queries, question_text),
            (model.encode_documents, answer_text),
            (model.encode_documents, question_text),
        )
    )
    assert not np.allclose(question, answer)
    np.testing.assert_array_equal(question, stored)  # a stored question is one, too


def test_texts_can_be_compared_by_cosines(archive):
    cosine = {"metric": "cosine", "loss": "multiple_negatives", "scale": 20.0}
    model = open_encoder(models.train(archive, load_recipe("dssm", TINY | cosine), "mine"))
    assert model.encode_queries([Question("q", "rice")]).parts[0].metric == "cosine"


@pytest.mark.parametrize("tower", TOWERS)
def test_generator_learns_too_and_shares_the_questions_tower(archive, tower):
    recipe = Recipe.read(tower, WRITER | {"network.writes": True, "training.epochs": 25, "patience": 99})
    epochs = train_recipe(archive.training_view(()), recipe, archive.path / "models/mine")
    assert epochs[-1].loss < epochs[0].loss - 1
    generator = open_generator(archive.path / "models/mine")
    known = [(pair.query, pair.positive) for pair in training_pairs(archive.training_view(()), ["question_answer"])]
    assert 1 < generator.perplexity(known) < len(generator.features.tokens)
    assert generator.write(Question("?", "how do I cook rice"))


def test_its_labels_fall_by_frequency_in_the_answers(archive):
    folder = models.train(archive, load_recipe("dssm_writer", WRITER), "mine")
    generator = open_generator(folder)
    order = [generator.features.tokens[n] for n in generator.network.decoder.word[:6].tolist()]
    assert set(order[:2]) == {"the", "."}  # both twice in each answer
    assert "" in order  # the end, once


def test_without_a_generator_the_loss_stays_the_same(archive):
    recipe = Recipe.read("dssm", TINY)
    assert not recipe.network.writes
    folder = models.train(archive, NetworkRecipe(recipe), "plain")
    assert not any("decoder" in name for name in open_encoder(folder).trained_network.network.state_dict())
    with pytest.raises(SettingsError, match="plain: this model cannot write answers"):
        open_generator(folder)


def test_generator_loss_is_weighted_loss_of_a_word(archive):
    losses = {}
    for weight in (0.0, 1.0, 3.0):
        recipe = Recipe.read("dssm_writer", WRITER | {"weight": weight})
        torch.manual_seed(0)
        from askalike_learning.papers.dssm import DssmNetwork

        network = DssmNetwork(recipe.network, 30)
        batch = {
            "ids": torch.randint(2, 30, (4, 5)), "mask": torch.ones(4, 5, dtype=torch.bool),
            "document": torch.tensor([False, False, True, True]),
        }  # fmt: skip
        torch.manual_seed(1)
        vectors = network(batch)
        losses[weight] = network.auxiliary_loss(batch, vectors, torch.tensor([0, 1]), torch.tensor([2, 3])).detach()
    assert not losses[0.0].any()
    torch.testing.assert_close(losses[3.0], 3 * losses[1.0])


def test_unknown_words_are_copied_and_marked(archive):
    generator = open_generator(models.train(archive, load_recipe("dssm_writer", WRITER), "mine"))
    assert generator.write(Question("?", "???")) == generator.write(Question("?", "zzz yyy")) == ""
    assert fill_unknown_words(["put", None, "and", None], ["tofu"]) == ["put", "⟨tofu⟩", "and", "⟨…⟩"]
    assert join_words(["it", "'s", "(", "so", ")", ",", "is", "n't", "it", "?"]) == "it's (so), isn't it?"
    assert len(generator.write(Question("?", "how do I cook rice"), WritingSettings(beam=1, longest=4)).split()) <= 4


def test_different_runs_of_words_are_counted():
    assert distinct_n(["a b a b", "a b"], 1) == 2 / 6
    assert distinct_n(["a b a b", "a b"], 2) == 2 / 4
    assert distinct_n([], 1) == 0


def test_the_generated_answer_is_labelled_and_has_sources(archive):
    models.train(archive, load_recipe("dssm_writer", WRITER), "writer")
    with ArchiveRetriever.open(archive.path, "lm_jelinek_mercer") as desk:
        reply = desk.answer("how do I cook rice", "generate", 2)
        assert reply.generated
        assert reply.model == "writer"
        assert len(reply.sources) == 2
        assert not desk.answer("how do I cook rice").generated
        assert desk.answer("zzz", "generate").abstained


def test_one_of_several_writers_must_be_named(archive):
    for name in ("one", "two"):
        models.train(archive, load_recipe("dssm_writer", WRITER), name)
    with ArchiveRetriever.open(archive.path, "lm_jelinek_mercer") as desk:
        with pytest.raises(SettingsError, match="several models write answers"):
            desk.answer("rice", "generate")
        assert desk.answer("how do I cook rice", "generate", model="two").model == "two"
        with pytest.raises(SettingsError, match="no model 'three' that can write answers"):
            desk.answer("rice", "generate", model="three")


def test_in_russian(tmp_path):
    food = ("суп", "хлеб", "рис", "чай", "пирог", "борщ", "кофе", "салат", "плов", "омлет", "компот", "кисель")
    with Archive.create(tmp_path / "кухня") as made:
        made.set_meta(language="ru")
        made.upsert(Question(f"{n}", f"Как приготовить {x}?", language="ru") for n, x in enumerate(food))
        made.upsert(Answer(f"о{n}", f"{n}", f"Возьмите {x} и варите на огне.") for n, x in enumerate(food))
        models.train(made, load_recipe("dssm_writer", WRITER | {"training.epochs": 25, "patience": 99}), "writer")
        generator = open_generator(made.path / "models/writer")
        assert generator.write(Question("?", "Как приготовить рис?")).startswith("возьмите")
        ranker = rankers.open_current(rankers.create("writer", {}, made.path), made.view(kind="answers"))
        assert len(rankers.rank(ranker, {"?": Question("?", "Как приготовить рис?")}, 3)["?"]) == 3


def test_held_out_answers_are_not_learned_from(archive):
    create_partition(archive, "cluster", source_split="answers", name="p")
    lines = []
    models.train(archive, load_recipe("dssm", TINY), "mine", log=lines.append)
    learned = int(lines[0].split()[0])
    assert learned < 16  # of 18, without two for dev, two for test, and some to choose the epoch


def test_model_of_another_archive_is_told_apart(archive, tmp_path):
    with Archive.create(tmp_path / "other") as other:
        other.upsert([Question("q", "how?"), Answer("a", "q", "so")])
        models.train(archive, load_recipe("dssm_writer", WRITER), "writer")
        with ArchiveRetriever.open(other.path, "lm_jelinek_mercer") as desk:
            with pytest.raises(SettingsError, match="no model 'writer' that can write answers"):
                desk.answer("how?", "generate", model="writer")
            shutil.copytree(archive.path / "models", other.path / "models")
            with pytest.raises(SettingsError, match="this model was trained on another archive"):
                desk.answer("how?", "generate", model="writer")
