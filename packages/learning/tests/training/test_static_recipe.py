"""Static encoders, taught by pairs or by another encoder, and served with numpy alone."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from askalike import encoders, rankers
from askalike.core import registry
from askalike.core.errors import SettingsError
from askalike.core.records import Question
from askalike.encoders.static import WEIGHTS_FILE
from askalike.tuning import models
from askalike_learning.networks.static import StaticNetwork
from askalike_learning.recipes import Recipe
from askalike_learning.trainable import NetworkRecipe, load_recipe
from askalike_learning.trained_network import create_network, load_features_class
from askalike_learning.training_run import train_recipe
from kitchen import TINY

STATIC = {k: v for k, v in TINY.items() if k not in ("units", "min_texts", "random")} | {
    "subwords": 0, "words": 300, "bigrams": 300, "init": "random", "batch_size": 16,
}  # fmt: skip
SERVED = """
import sys
from askalike import encoders
from askalike.core.records import Question
from pathlib import Path
vectors = encoders.open_encoder(Path(sys.argv[1])).encode_queries([Question("q", "how do I cook rice")])
print(vectors.parts[0].values.tolist())
print("torch" in sys.modules)
"""


@pytest.mark.parametrize("start", ["random", "skipgram"])
def test_static_encoder_learns_and_is_served_by_numpy(archive, start):
    recipe = Recipe.read("static", STATIC | {"init": start, "training.epochs": 12, "dim": 32})
    folder = models.train(archive, NetworkRecipe(recipe), "mine")
    assert {f.name for f in folder.iterdir()} == {"model.toml", "static.safetensors", "README.md", "learned.json"}
    assert models.list_models(archive)[0].kind == "static"
    ranker = rankers.open_current(rankers.create("mine", {}, archive.path), archive.view())
    assert rankers.rank(ranker, {"q": Question("q", "how do I cook rice")}, 3)["q"][0].id.startswith("rice")
    printed = subprocess.run([sys.executable, "-c", SERVED, str(folder)], capture_output=True, text=True, check=True)
    values, with_torch = printed.stdout.splitlines()
    assert with_torch == "False"
    served = encoders.open_encoder(folder).encode_queries([Question("q", "how do I cook rice")]).parts[0].values
    np.testing.assert_array_equal(np.float32(eval(values)), served)


@pytest.mark.parametrize("loss", registry.names("loss"))
def test_a_static_encoder_learns_by_any_loss(archive, loss):
    recipe = Recipe.read("static", STATIC | {"loss": loss, "training.epochs": 2})
    epochs = train_recipe(archive.training_view(()), recipe, archive.path / "models" / "mine")
    assert epochs[1].loss < epochs[0].loss


def test_network_and_served_encoder_give_the_same(archive, tmp_path):
    recipe = Recipe.read("static", STATIC)
    texts = [Question("1", "how do I boil an egg"), Question("2", "", "a body alone"), Question("3", "")]
    known = load_features_class(recipe).from_texts(recipe.features, texts)
    network = create_network(recipe, len(known.tokens)).eval()
    arrays = known.encode(texts).batch(np.arange(3))
    (expected,) = network({name: torch.from_numpy(array) for name, array in arrays.items()})
    tensors = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    tensors["rows.weight"] = tensors["rows.weight"].astype(np.float16)
    table = network.save_model(tmp_path, recipe.features, known, tensors)["static"]
    lines = "\n".join(f"{k} = {str(v).lower() if isinstance(v, bool) else repr(v)}" for k, v in table.items())
    (tmp_path / "model.toml").write_text(f'encoder = "static"\n[static]\n{lines}\n')
    served = encoders.open_encoder(tmp_path).encode_queries(texts).parts[0].values
    np.testing.assert_allclose(served, expected.detach().numpy(), atol=2e-3)
    assert not served[2].any()


def test_rows_of_no_text_take_no_part(archive, monkeypatch):
    """Also where it is interrupted: the model is that of a training of the whole table."""
    recipe, view, folder = Recipe.read("static", STATIC), archive.training_view(()), archive.path / "models"
    rows = []

    def stop(progress):
        rows.append(len(load_file(folder / ".training-some/checkpoint.safetensors")["network.weight"]))
        if progress.epoch == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        train_recipe(view, recipe, folder / "some", on_progress=stop)
    train_recipe(view, recipe, folder / "some")
    monkeypatch.setattr(StaticNetwork, "is_table", False)
    train_recipe(view, recipe, folder / "whole")
    some, whole = (load_file(folder / name / WEIGHTS_FILE) for name in ("some", "whole"))
    assert max(rows) < len(whole["weights"])
    assert some.keys() == whole.keys()
    for name, values in whole.items():
        np.testing.assert_allclose(some[name], values, rtol=1e-3, atol=1e-5)


def test_a_trained_model_is_trained_further_from_pairs(archive):
    before = models.train(archive, load_recipe("static", STATIC), "first")
    lines = []
    values = STATIC | {"init": str(before), "learning_rate": 1e-9, "training.epochs": 1}
    after = models.train(archive, load_recipe("static", values), "second", log=lines.append)
    assert "initial weights from first" in lines
    text = [Question("q", "how do I cook rice")]
    first, second = (encoders.open_encoder(f).encode_queries(text).parts[0].values for f in (before, after))
    np.testing.assert_allclose(first, second, atol=1e-3)
    with pytest.raises(SettingsError, match="expected the same"):
        models.train(archive, load_recipe("static", values | {"words": 200}), "third")
    with pytest.raises(SettingsError, match="model of the encoder static; expected a network over word vectors"):
        models.train(archive, load_recipe("cnn", TINY | {"init": str(before)}), "third")


def test_an_experiment_takes_an_archives_models(archive, tmp_path):
    from askalike_research.experiments.declaration import read_experiment

    models.train(archive, load_recipe("static", STATIC), "mine")
    path = tmp_path / "one.toml"
    system = '[[system]]\nranker = "mine"\n[[system]]\nranker = "hybrid"\nsettings = { parts = ["bm25", "mine"] }\n'
    path.write_text(f'archive = "{archive.path}"\nsplit = "duplicates"\n{system}')
    assert [system.ranker for system in read_experiment(path).system] == ["mine", "hybrid"]
    path.write_text(path.read_text().replace('"mine"', '"other"'))
    with pytest.raises(SettingsError, match="no ranker is called 'other'; there are: .*mine"):
        read_experiment(path)
