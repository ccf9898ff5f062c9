import tomllib

import pytest

from askalike.core import registry
from askalike.core.errors import InputError, SettingsError, UnknownSettingError
from askalike.learning.models import format_toml
from askalike_learning.recipe_files import list_recipes, read_tables
from askalike_learning.recipes import TABLE_NAMES, Recipe, _load_settings_classes


def test_every_network_is_packaged_with_a_recipe():
    assert set(registry.names("network")) <= set(list_recipes())


@pytest.mark.parametrize("name", [name for name in list_recipes() if "network" in read_tables(name)])
def test_every_recipe_survives_its_file(name, tmp_path):
    recipe = Recipe.read(name)
    path = tmp_path / "recipe.toml"
    path.write_text(format_toml(recipe.to_tables()))
    assert Recipe.read(str(path)) == recipe
    assert tomllib.loads(path.read_text()).keys() == set(TABLE_NAMES)


@pytest.mark.parametrize("name", registry.names("network"))
@pytest.mark.parametrize("loss", registry.names("loss"))
def test_no_two_tables_share_a_setting_s_name(name, loss):
    models = _load_settings_classes(registry.load("network", name), loss)
    keys = [key for model in models.values() for key in model.model_fields]
    assert len(keys) == len(set(keys))


def test_the_papers_settings():
    cnn, both = Recipe.read("cnn_paper"), Recipe.read("bow_cnn_paper")
    assert (cnn.network.dim, cnn.network.window, cnn.network.units, cnn.training.learning_rate) == (200, 3, 1000, 0.05)
    assert (both.network.units, both.training.learning_rate) == (400, 0.01)
    for recipe in (cnn, both):
        assert (recipe.loss_name, recipe.loss.gamma, recipe.training.optimizer) == ("logistic_ranking", 10, "sgd")
        assert (recipe.negatives.random, recipe.negatives.hardest, recipe.negatives.in_batch) == (20, True, False)
        assert recipe.features.tokenizer == "ptb"
        assert recipe.embeddings.init == "skipgram"
    assert both.features.bag == "words"
    lstm = Recipe.read("lstm_paper")
    assert (lstm.network.dim, lstm.network.hidden, lstm.network.pooling, lstm.network.head) == (
        300,
        400,
        "mean_max",
        "pair",
    )
    assert (lstm.training.learning_rate, lstm.network.train_words) == (0.0001, True)


def test_networks_of_words_begin_with_packaged_vectors():
    """Measured on dev: better than skip-gram over the archive's own text, for each of these networks."""
    for name in ("cnn", "bow_cnn", "lstm"):
        assert Recipe.read(name).embeddings.init == "packaged"


def test_settings_are_set_by_their_names():
    values = {"units": 7, "training.epochs": 3, "signals": "title_body,duplicates", "loss": "triplet", "margin": 0.5}
    recipe = Recipe.read("cnn", values)
    assert recipe.network.units == 7
    assert recipe.training.epochs == 3
    assert recipe.data.signals == ("title_body", "duplicates")
    assert (recipe.loss_name, recipe.loss.margin) == ("triplet", 0.5)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"unitz": 7}, r"unitz is not a setting \(known: network\.dim"),
        ({"units": 0}, "network: units=0"),
        ({"loss": "nothing"}, "no loss is called 'nothing'"),
        ({"train.epochs": 3}, "train.epochs is not a setting"),
    ],
)
def test_unknown_settings_are_named(values, message):
    with pytest.raises(SettingsError, match=message):
        Recipe.read("cnn", values)


def test_several_devices_have_batches_of_their_own():
    with pytest.raises(SettingsError, match="accumulate is for one process"):
        Recipe.read("bow_cnn", {"training.accumulate": 2, "training.devices": 2})


def test_balanced_clusters_need_a_number_of_pairs():
    with pytest.raises(SettingsError, match="expected max_pairs_per_cluster=1 or more"):
        Recipe.read("cnn", {"balanced": True})


def test_single_pairs_have_their_own_loss_without_negatives():
    assert Recipe.read("lstm_paper").data.irrelevant
    with pytest.raises(SettingsError, match="data.irrelevant: pairs are learned one by one"):
        Recipe.read("lstm_paper", {"judged": 10})
    with pytest.raises(SettingsError, match="expected loss=cross_entropy"):
        Recipe.read("cnn", {"irrelevant": True})
    with pytest.raises(SettingsError, match="no negatives"):
        Recipe.read("cnn", {"in_batch": False})


def test_a_file_that_is_no_recipe(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text("[network]\nname = 'cnn'\n[training]\nepochs = 2\n[wrong]\n")
    with pytest.raises(SettingsError, match=rf"{path}: a recipe has no table wrong"):
        Recipe.read(str(path))
    path.write_text("[network]\nname = 'cnn'\n[training]\nepoch = 2\n")
    with pytest.raises(UnknownSettingError, match=rf"{path}: .*epoch"):
        Recipe.read(str(path))
    path.write_text("network = ")
    with pytest.raises(InputError, match="not a valid recipe"):
        Recipe.read(str(path))
    path.write_text("network = 'cnn'")
    with pytest.raises(InputError, match="expected tables"):
        Recipe.read(str(path))


def test_recipe_of_a_foreign_network_keeps_its_loss():
    writer = Recipe.read("dssm_writer")
    assert (writer.name, writer.loss_name, writer.loss.scale) == ("dssm", "multiple_negatives", 3.0)
    assert writer.network.writes
    assert Recipe.read("dssm_writer", {"loss": "triplet"}).loss_name == "triplet"


@pytest.mark.parametrize("network", ["dssm", "dssm_writer", "hierarchical_lstm", "siamese_lstm", "scqa"])
def test_paper_variant_draws_one_negative_with_fixed_words(network):
    ours, paper = Recipe.read(network), Recipe.read(f"{network}_paper")
    assert ours.loss_name == ("triplet" if network == "dssm" else "multiple_negatives")
    assert (ours.negatives.in_batch, ours.negatives.random) == (True, 0)
    assert ours.embeddings.init_std == (0.0 if network == "scqa" else 1.0)
    assert (paper.negatives.in_batch, paper.negatives.random, paper.negatives.sides) == (False, 1, "query")
    assert (paper.loss_name, paper.embeddings.init_std) == ("triplet" if "dssm" in network else "contrastive", 0.0)


def test_dssm_and_paper_learn_from_their_own_negatives():
    ours, paper = Recipe.read("dssm"), Recipe.read("dssm_paper")
    assert (ours.loss.over, ours.loss.margin) == ("semi_hard", 10)
    assert (paper.loss.over, paper.loss.margin) == ("violated", 10)
    assert (paper.network.dim, paper.network.latent, paper.network.metric) == (512, 256, "euclidean")
    assert paper.embeddings.init == "skipgram"
    assert Recipe.read("siamese_lstm_topics").loss_name == "multiple_negatives"
