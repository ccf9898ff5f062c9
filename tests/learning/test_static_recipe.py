"""Static encoders, taught by pairs or by another encoder, and served with numpy alone."""

import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file
from tests.encoders.conftest import TINY

from askalike import encoders, rankers
from askalike.core import registry
from askalike.core.errors import SettingsError
from askalike.core.types import Link, Question, VectorPart, Vectors
from askalike.encoders import concatenate_parts
from askalike.encoders.static import WEIGHTS_FILE
from askalike.experiments import models
from askalike.learning.distil import (
    DistillationSettings,
    collect_questions,
    encode_targets,
    find_excluded_ids,
    make_teacher_texts,
)
from askalike.learning.networks.static import StaticNetwork
from askalike.learning.recipes import Recipe
from askalike.learning.ridge import fit_ngram_vectors
from askalike.learning.trained_network import create_network, load_features_class
from askalike.learning.training_run import train_recipe
from askalike.store import Archive
from askalike.text.features import RaggedArray

STATIC = {k: v for k, v in TINY.items() if k not in ("units", "min_texts", "random")} | {
    "subwords": 0, "words": 300, "bigrams": 300, "init": "random", "batch_size": 16,
}  # fmt: skip
SERVED = """
import sys
from askalike import encoders
from askalike.core.types import Question
from pathlib import Path
vectors = encoders.open_encoder(Path(sys.argv[1])).encode_queries([Question("q", "how do I cook rice")])
print(vectors.parts[0].values.tolist())
print("torch" in sys.modules)
"""


@pytest.mark.parametrize("start", ["random", "skipgram"])
def test_a_static_encoder_learns_from_pairs_and_is_served_with_numpy_alone(archive, start):
    recipe = Recipe.read("static", STATIC | {"init": start, "training.epochs": 12, "dim": 32})
    folder = models.train(archive, recipe, "mine")
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


def test_the_network_and_the_served_encoder_give_the_same(archive, tmp_path):
    recipe = Recipe.read("static", STATIC)
    texts = [Question("1", "how do I boil an egg"), Question("2", "", "a body alone"), Question("3", "")]
    known = load_features_class(recipe).from_texts(recipe.features, texts)
    network = create_network(recipe, len(known.tokens)).eval()
    arrays = known.encode(texts).batch(np.arange(3))
    (expected,) = network({name: torch.from_numpy(array) for name, array in arrays.items()})
    tensors = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    tensors["rows.weight"] = tensors["rows.weight"].astype(np.float16)
    table = encoders.static.StaticEncoder.save_model(tmp_path, recipe, known, tensors)["static"]
    lines = "\n".join(f"{k} = {str(v).lower() if isinstance(v, bool) else repr(v)}" for k, v in table.items())
    (tmp_path / "model.toml").write_text(f'encoder = "static"\n[static]\n{lines}\n')
    served = encoders.open_encoder(tmp_path).encode_queries(texts).parts[0].values
    np.testing.assert_allclose(served, expected.detach().numpy(), atol=2e-3)
    assert not served[2].any()


def test_of_rephrasings_that_are_queries_only_their_questions_are_taught(tmp_path):
    with Archive.create(tmp_path / "desk") as desk:
        desk.upsert([Question("a", "How do I renew a card?", rephrasings=("card renewal", "my card expired"))])
        desk.upsert([Question("b", "When are you open?"), Question("c", "opening hours"), Link("c", "b")])
        view = desk.view()
        assert find_excluded_ids(view, ["rephrasings"]) == {"a#1", "a#2"}
        assert find_excluded_ids(view, ["duplicates", "rephrasings"]) == {"a#1", "a#2", "c"}
        settings = DistillationSettings(encoder="", excluded_splits="duplicates, rephrasings")
        assert [q.title for q in collect_questions(view, settings)] == ["How do I renew a card?", "When are you open?"]
        assert len(collect_questions(view, DistillationSettings(encoder=""))) == 5
        part = desk.training_view((), excluded_ids=["b"])
        assert [q.id for q in collect_questions(part, settings)] == ["a"]
        with pytest.raises(SettingsError, match="no split of that name"):
            collect_questions(view, DistillationSettings(excluded_splits="nothing"))


def test_unfinished_titles():
    questions = [Question(str(n), f"how do I cook {thing}", "in a pot") for n, thing in enumerate(("egg", "rice"))]
    settings = DistillationSettings(n_prefixes=1, n_word_dropout=0, n_recombined=0, single_words=False)
    texts = list(make_teacher_texts(questions, settings, np.random.default_rng(1)))
    titles = [q.title for q in texts if q.title and not q.body]
    assert len(titles) == 2 * len(questions)
    assert all(any(q.title.startswith(title) for q in questions) for title in titles)
    assert len(texts) == 4 * len(questions)


def test_recombined_titles_and_single_words():
    """Recombined titles walk over pairs of words that some title has; no title is taught twice."""
    titles = ("how do I cook rice", "how do I boil an egg", "best way to cook an egg", "best rice recipe")
    questions = [Question(str(n), title) for n, title in enumerate(titles)]
    settings = DistillationSettings(n_prefixes=0, n_word_dropout=0, n_recombined=5, single_words=True)
    texts = [q.title for q in make_teacher_texts(questions, settings, np.random.default_rng(0))]
    assert texts[:4] == list(titles)
    assert len(texts) == len(set(texts))
    alone = {t for t in texts if t not in titles and len(t.split()) < 3}
    words = {w for t in titles for w in t.lower().split()}
    assert alone == words | {"how do", "do i", "an egg"}
    steps = {pair for t in titles for pair in pairwise(["", *t.lower().split(), ""])}
    recombined = [t for t in texts if t not in titles and t not in alone]
    assert recombined
    assert all(set(pairwise(["", *t.lower().split(), ""])) <= steps for t in recombined)


def test_the_start_is_the_least_squares_solution():
    random = np.random.default_rng(1)
    lists = [random.integers(2, 12, random.integers(1, 6)).tolist() for _ in range(60)]
    dense = np.zeros((60, 14))
    for text, numbers in enumerate(lists):
        np.add.at(dense[text], numbers, 1)
    targets = random.normal(size=(60, 5)).astype(np.float32)
    expected = np.linalg.solve(dense.T @ dense + 3.0 * np.eye(14), dense.T @ targets)
    rows = RaggedArray.from_rows(lists)
    vectors = fit_ngram_vectors(rows, targets, 14, 3.0)
    np.testing.assert_allclose(vectors, expected, atol=1e-3)
    assert rows.values.tolist() == [piece for numbers in lists for piece in numbers]  # they are learned from afterwards
    assert not vectors[[0, 1, 12, 13]].any()


def test_the_rows_of_no_text_take_no_part_in_training(archive, monkeypatch):
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
    before = models.train(archive, Recipe.read("static", STATIC), "first")
    lines = []
    values = STATIC | {"init": str(before), "learning_rate": 1e-9, "training.epochs": 1}
    after = models.train(archive, Recipe.read("static", values), "second", log=lines.append)
    assert "initial weights from first" in lines
    text = [Question("q", "how do I cook rice")]
    first, second = (encoders.open_encoder(f).encode_queries(text).parts[0].values for f in (before, after))
    np.testing.assert_allclose(first, second, atol=1e-3)
    with pytest.raises(SettingsError, match="expected the same"):
        models.train(archive, Recipe.read("static", values | {"words": 200}), "third")
    with pytest.raises(SettingsError, match="model of the encoder static; expected a network over word vectors"):
        models.train(archive, Recipe.read("cnn", TINY | {"init": str(before)}), "third")


def test_vectors_of_several_parts_are_taught_as_one(monkeypatch):
    import scipy.sparse

    random = np.random.default_rng(0)
    first = random.random((20, 6)).astype(np.float32)
    second = scipy.sparse.random_array((20, 9), density=0.4, format="csr", rng=random, dtype=np.float32)
    vectors = Vectors((VectorPart(first, "cosine", 0.5), VectorPart(second, "dot", 2.0)))

    class Teacher:
        def encode_documents(self, texts):
            return Vectors(
                tuple(VectorPart(p.values[texts[0] : texts[-1] + 1], p.metric, p.weight) for p in vectors.parts)
            )

    length = np.linalg.norm(first, axis=1, keepdims=True)
    scores = 0.5 * (first / length) @ (first / length).T + 2 * (second @ second.T).toarray()
    monkeypatch.setattr("askalike.learning.distil.CHUNK_SIZE", 8)
    monkeypatch.setattr("askalike.learning.distil.REPORT_S", 0)
    lines = []
    encoded = encode_targets(Teacher(), list(range(20)), 14, lines.append)
    pattern = r"the teacher has encoded (8|16) of 20 texts; about \d+\.\d s left"
    assert [bool(re.fullmatch(pattern, line)) for line in lines] == [True, True, False]  # the last: reduced
    vectors = Vectors(vectors.parts[:1])
    np.testing.assert_array_equal(encode_targets(Teacher(), list(range(20)), 6, print), concatenate_parts(vectors))
    np.testing.assert_allclose(encoded @ encoded.T, scores, atol=0.2)
    with pytest.raises(SettingsError, match="expected vectors compared by cosine or dot"):
        concatenate_parts(Vectors((VectorPart(first, "euclidean"),)))


def test_an_experiment_takes_an_archives_models(archive, tmp_path):
    from askalike.experiments.declaration import read_experiment

    models.train(archive, Recipe.read("static", STATIC), "mine")
    path = tmp_path / "one.toml"
    system = '[[system]]\nranker = "mine"\n[[system]]\nranker = "hybrid"\nsettings = { parts = ["bm25", "mine"] }\n'
    path.write_text(f'archive = "{archive.path}"\nsplit = "duplicates"\n{system}')
    assert [system.ranker for system in read_experiment(path).system] == ["mine", "hybrid"]
    path.write_text(path.read_text().replace('"mine"', '"other"'))
    with pytest.raises(SettingsError, match="no ranker is called 'other'; there are: .*mine"):
        read_experiment(path)
