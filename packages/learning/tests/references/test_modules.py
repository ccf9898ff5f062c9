"""Folders of sentence-transformers with other modules than a transformer and its pooling: routes, tables, sparse."""

import json
from pathlib import Path

import numpy as np
import pytest

from askalike import rankers
from askalike.core.errors import InputError
from askalike.core.records import Question
from askalike.encoders import encode_texts
from askalike.encoders.pretrained import PretrainedEncoder
from askalike.search.encoder_installation import adopt_encoder
from askalike.store import Archive
from needs import need
from small_models import WORDS
from torch_models import SIZES, make_model_folder, make_tokenizer, make_transformer

need("onnxruntime", "onnx", "sentence_transformers")

from askalike.encoders.transformer.model import OnnxModel  # noqa: E402
from askalike.search.encoder_installation import needed_files  # noqa: E402

TEXTS = [" ".join(WORDS[begin:end]) for begin, end in ((0, 4), (2, 20), (5, 6), (9, 13), (0, 4), (1, 19))]
TEXTS += ["rice " * 90, "unknown bike!", "RICE"]
VOCABULARY = SIZES["vocab_size"]


def save_dense(modules, path: Path) -> Path:
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(modules=modules, device="cpu").save(str(path), create_model_card=False)
    return path


def save_sparse(modules, path: Path) -> Path:
    from sentence_transformers import SparseEncoder

    SparseEncoder(modules=modules, device="cpu").save(str(path), create_model_card=False)
    return path


def expected_vectors(folder: Path, role: str, sparse: bool = False, texts: list[str] = TEXTS) -> np.ndarray:
    from sentence_transformers import SentenceTransformer, SparseEncoder

    model = (SparseEncoder if sparse else SentenceTransformer)(str(folder), device="cpu")
    encode = model.encode_query if role == "query" else model.encode_document
    encoded = encode(texts, batch_size=4, show_progress_bar=False)
    return encoded.to_dense().numpy() if sparse else encoded


def make_table(dim: int = 32):
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    rows = np.random.default_rng(3).normal(size=(VOCABULARY, dim)).astype(np.float32)
    return StaticEmbedding(make_tokenizer(), embedding_weights=rows)


def make_weights():
    import torch
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

    weights = torch.from_numpy(np.random.default_rng(4).uniform(0, 5, VOCABULARY).astype(np.float32))
    return SparseStaticEmbedding(make_tokenizer(), weights, frozen=True)


def make_splade(path: Path, name: str, pooling: str = "max", activation: str = "relu"):
    from sentence_transformers.sparse_encoder.modules import SpladePooling

    return [make_transformer(path, name, "fill-mask"), SpladePooling(pooling, activation)]


@pytest.fixture(scope="module")
def inference_free(tmp_path_factory):
    """Queries by a table, documents by a masked language model, as OpenSearch's doc-v3."""
    from sentence_transformers.base.modules import Router

    path = tmp_path_factory.mktemp("inference_free")
    documents = make_splade(path, "distilbert", "max", "log1p_relu")
    return save_sparse([Router.for_query_document([make_weights()], documents)], path / "model")


def test_a_table_equals_sentence_transformers(tmp_path):
    from sentence_transformers.sentence_transformer.modules import Normalize

    folder = save_dense([make_table(), Normalize()], tmp_path / "model")
    texts = [*TEXTS, "", "bike " * 700]
    expected = expected_vectors(folder, "document", texts=texts)
    np.testing.assert_allclose(OnnxModel(folder).encode(texts), expected, atol=1e-5)
    files = [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]
    assert set(needed_files(files, folder)) == set(files), "a copy of it is complete"


def test_shared_and_weighted_rows_of_model2vec_are_read(tmp_path):
    """The file of `StaticModel.save_pretrained`, with a smaller vocabulary of vectors."""
    from safetensors.numpy import save_file
    from sentence_transformers.sentence_transformer.modules import Normalize

    folder, random = save_dense([make_table(), Normalize()], tmp_path / "model"), np.random.default_rng(5)
    tensors = {
        "embeddings": random.normal(size=(9, 8)).astype(np.float16),
        "mapping": random.integers(0, 9, VOCABULARY),
        "weights": random.uniform(size=VOCABULARY),
    }
    place = folder / json.loads((folder / "modules.json").read_text())[0]["path"]
    save_file(tensors, place / "model.safetensors")
    expected = expected_vectors(folder, "document").astype(np.float32)
    np.testing.assert_allclose(OnnxModel(folder).encode(TEXTS), expected, atol=2e-3)


@pytest.mark.parametrize("role", ["query", "document"])
def test_each_role_takes_its_route(role, tmp_path):
    from sentence_transformers.base.modules import Router
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling

    documents = [make_transformer(tmp_path, "bert"), Pooling(32, "cls"), Dense(32, 16, use_residual=True)]
    router = Router.for_query_document([make_table(16)], documents)
    folder = save_dense([router, Normalize()], tmp_path / "model")
    model = OnnxModel(folder, 32, role=role)
    np.testing.assert_allclose(model.encode(TEXTS), expected_vectors(folder, role), atol=1e-4)
    encoder = PretrainedEncoder.from_settings({"encoder": str(folder), "precision": 32})
    np.testing.assert_allclose(encode_texts(TEXTS, encoder, role), model.encode(TEXTS), atol=1e-6)


@pytest.mark.parametrize("name", ["bert", "distilbert", "roberta", "mpnet", "modernbert"])
@pytest.mark.parametrize(("pooling", "activation"), [("max", "relu"), ("sum", "log1p_relu")])
def test_sparse_vectors_equal_sentence_transformers(name, pooling, activation, tmp_path):
    folder = save_sparse(make_splade(tmp_path, name, pooling, activation), tmp_path / "model")
    values = OnnxModel(folder, 32).encode(TEXTS)
    expected = expected_vectors(folder, "document", sparse=True)
    assert expected.any()
    np.testing.assert_allclose(values.toarray(), expected, atol=1e-4 * expected.max())
    rounded = OnnxModel(folder, 8).encode(TEXTS).toarray()
    cosines = (rounded * expected).sum(1) / np.linalg.norm(rounded, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosines.min() > 0.98


@pytest.mark.parametrize("role", ["query", "document"])
def test_queries_without_inference_equal_sentence_transformers(role, inference_free):
    values = OnnxModel(inference_free, 32, role=role).encode([*TEXTS, ""])
    expected = expected_vectors(inference_free, role, sparse=True, texts=[*TEXTS, ""])
    np.testing.assert_allclose(values.toarray(), expected, atol=1e-4 * expected.max())


def test_table_of_weights_may_be_a_word_file(inference_free, tmp_path):
    import shutil

    folder = Path(shutil.copytree(inference_free, tmp_path / "copy"))
    place = next(folder.glob("query_*"))
    (place / "model.safetensors").unlink()
    (place / "config.json").write_text(json.dumps({"frozen": True, "path": "somebody/model/idf.json"}))
    (folder / "idf.json").write_text(json.dumps({"rice": 2.5, "bike": 1.5, "absent": 9}))
    values = OnnxModel(folder, role="query").encode(["rice rice bike my"]).toarray()[0]
    assert sorted(values[values > 0].tolist()) == [1.5, 2.5]


def test_sparse_vectors_rank_alone_and_beside_words(inference_free, tmp_path):
    encoder = PretrainedEncoder.from_settings({"encoder": str(inference_free)})
    [queries] = encoder.encode_queries([Question("q", "my bike was stolen"), Question("e", "")]).parts
    assert (queries.is_sparse, queries.metric) == (True, "dot")
    np.testing.assert_allclose(queries.values.sum(1), [1, 0], atol=1e-6)
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question("a", "my bike was stolen at night"), Question("b", "how do i cook rice")])
        alone = rankers.create("pretrained", {"encoder": str(inference_free)}, archive.path)
        searcher = rankers.open_current(alone, archive.view())
        query = {"q": Question("q", "my bike was stolen")}
        assert len(rankers.rank(searcher, query, 2)["q"]) == 2
        assert rankers.explain_ids(searcher, query["q"], ["a"])["a"].score > 0
        adopt_encoder(archive, str(inference_free), name="sparse")
        hybrid = rankers.open_current(rankers.create(None, {}, archive), archive.view())
        assert rankers.rank(hybrid, query, 1)["q"][0].id == "a"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("router_config.json", {"types": {}}, "not a valid description of routes"),
        ("router_config.json", {"types": {}, "structure": {"image": []}}, "not a valid description of routes"),
        ("modules.json", [], "no modules are listed"),
        ("modules.json", [{"type": "m.CLIPModel", "path": ""}], "the first module is CLIPModel; expected one of Trans"),
        ("document_1_SpladePooling/config.json", {"pooling_strategy": "mean"}, "expected one of max, sum"),
    ],
)
def test_what_cannot_be_read_is_one_line(file, content, message, inference_free, tmp_path):
    import shutil

    folder = Path(shutil.copytree(inference_free, tmp_path / "copy"))
    path = folder / file if (folder / file).exists() or "/" in file else next(folder.rglob(file))
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match=message) as error:
        OnnxModel(folder)
    assert "\n" not in str(error.value)


def test_older_descriptions_of_modern_bert_are_read(tmp_path):
    """As those on the hub: wavelengths and the order of layers by other keys."""
    folder = make_model_folder(tmp_path, "modernbert")
    path = next(path for path in folder.rglob("config.json") if "model_type" in path.read_text())
    config = json.loads(path.read_text())
    config = {key: value for key, value in config.items() if key not in ("layer_types", "rope_parameters")}
    before = expected_vectors(folder, "document")
    config |= {"global_rope_theta": 40.0, "local_rope_theta": 7.0, "global_attn_every_n_layers": 2}
    path.write_text(json.dumps(config))
    expected = expected_vectors(folder, "document")
    assert np.abs(expected - before).max() > 0.01
    np.testing.assert_allclose(OnnxModel(folder, 32).encode(TEXTS), expected, atol=1e-4)
