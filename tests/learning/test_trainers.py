"""A package that trains: its recipes are rankers and models, and it sees no labels that are measured."""

import pytest

import askalike
from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.encoders import open_encoder
from askalike.learning.models import list_recipes
from askalike.store import Archive
from askalike.tuning import models
from askalike.tuning.candidates import list_families
from planted import CHEATING, HONEST, plant

ENTRY_POINTS = """
[askalike.trainers]
hearts = by_heart:TRAINER
[askalike.encoders]
heart = by_heart:HeartEncoder
[askalike.tuning_families]
by_heart = by_heart:FAMILY
"""
MODULE = """
import json
import numpy as np
from askalike import Encoder, VectorPart, Vectors, validate_settings, Settings
from askalike.plugin.models import LearnedLabels, write_text_model
from askalike.plugin.training import collect_learned, training_pairs
from askalike.plugin.training import CandidateFamily
from askalike import Split

class HeartSettings(Settings):
    seed: int = 1

class HeartEncoder(Encoder):
    def __init__(self, cluster_by_title, seed=1):
        self.clusters, self.seed = cluster_by_title, seed
    @classmethod
    def from_settings(cls, values):
        return cls({}, validate_settings(HeartSettings, values, "heart").seed)
    @classmethod
    def open(cls, folder, values):
        encoder = cls(json.loads((folder / "pairs.json").read_text()))
        encoder.learned_labels = LearnedLabels.read(folder)
        return encoder
    @property
    def fingerprint(self):
        return json.dumps(sorted(self.clusters.items()))
    def fit(self, view):
        return HeartEncoder(learn(view)[0])
    def encode_queries(self, texts):
        keys = [self.clusters.get(text.title, text.title) for text in texts]
        rows = [np.random.default_rng(list(key.encode())).normal(size=64) for key in keys]
        return Vectors((VectorPart(np.array(rows, np.float32).reshape(-1, 64), "cosine"),))

def learn(view):
    pairs = list(training_pairs(view, ("duplicates",), 1))
    return {text.title: pair.cluster for pair in pairs for text in (pair.query, pair.positive)}, pairs

class HeartRecipe:
    max_epochs = 1
    def create_encoder(self):
        return HeartEncoder({})
    def train(self, view, folder, *, miner=None, report=None, log=lambda line: None):
        clusters, pairs = learn(view)
        log(f"{len(pairs)} pairs by heart")
        with write_text_model(folder, "heart", {"heart": {}}, view) as new:
            (new / "pairs.json").write_text(json.dumps(clusters))
            collect_learned(pairs, Split({}, {}), False).write(new)

class HeartTrainer:
    def recipe_names(self):
        return ("by_heart",)
    def internal_names(self):
        return ("heart",)
    def load_recipe(self, name, values):
        return HeartRecipe()
    def shorten_setting(self, name, value):
        return value

TRAINER = HeartTrainer()
FAMILY = CandidateFamily("by heart", 200, "by_heart", signals=("duplicates",), pairs_per_second=1e6)
"""


@pytest.fixture
def trainer(add_package):
    add_package("by_heart", ENTRY_POINTS, MODULE)


@pytest.fixture
def planted(tmp_path):
    with Archive.open(plant(tmp_path / "planted")) as archive:
        yield archive


def success(archive, ranker, split):
    return askalike.evaluate_ranker(archive, ranker, split, ["Success@1"]).means["Success@1"]


def test_trainer_adds_recipes(trainer, planted):
    assert list_recipes() == ("by_heart",)
    assert not {"by_heart", "heart"} & set(rankers.names())
    assert rankers.create("by_heart", {}, planted).name == "by_heart"
    with pytest.raises(SettingsError, match="no ranker is called 'heart'"):
        rankers.create("heart", {}, planted)
    for name in ("by_heart", "heart"):
        with pytest.raises(SettingsError, match="name of a built-in ranker"):
            rankers.check_model_name(name)


def test_trainer_sees_no_labels_that_are_measured(trainer, planted):
    cheat = rankers.create("by_heart", {}, planted).fit(planted.training_view(()))
    labels = askalike.load_split(planted, "halves/test")
    run = rankers.rank(rankers.open_current(cheat, planted.view()), labels.queries, 100)
    assert askalike.evaluate(run, labels.qrels, ["Success@1"]).means["Success@1"] > CHEATING
    assert success(planted, "by_heart", "halves/test") < HONEST


def test_trained_model_is_not_measured_on_its_data(trainer, planted):
    said = []
    folder = askalike.train(planted, "by_heart", "mine", log=said.append)
    assert (folder, said) == (planted.path / "models/mine", ["30 pairs by heart"])
    assert [model.name for model in models.list_models(planted)] == ["mine"]
    assert success(planted, "mine", "halves/test") < HONEST
    mine = rankers.create("mine", None, planted)
    assert len(mine.learned_labels.duplicates) >= 30


def test_trainer_family_has_its_place(trainer):
    assert [family.name for family in list_families()] == ["static", "by heart", "distil", "pretrained"]


def test_trainer_missing_is_one_line(planted, tmp_path):
    with pytest.raises(SettingsError, match="by_heart: no installed package trains models"):
        askalike.train(planted, "by_heart", "mine")
    (tmp_path / "model.toml").write_text('encoder = "heart"')
    with pytest.raises(SettingsError, match="a model of the encoder 'heart'; install the package that has trained it"):
        open_encoder(tmp_path)
