"""Cross-encoders by ONNX Runtime: the probabilities of sentence-transformers, in a cascade behind another ranker."""

import json

import numpy as np
import pytest

from askalike import rankers
from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Question
from askalike.rankers import explain_retrieved
from askalike.store import Archive
from askalike.tuning import candidate_search
from askalike.tuning.run import tune_archive
from needs import need
from small_models import WORDS
from torch_models import ARCHITECTURES, make_model_folder

need("onnxruntime", "onnx", "sentence_transformers")

PAIRS = [(" ".join(WORDS[n : n + 3]), " ".join(WORDS[n + 2 : n + 4 + n % 5])) for n in range(12)]
PAIRS += [("rice", "rice " * 60), ("", "my bike")]


def make_cross_encoder(path, name, labels=1):
    """Save a small cross-encoder with random weights as transformers does."""
    import torch
    import transformers
    from tokenizers.processors import TemplateProcessing

    tokenizer = transformers.AutoTokenizer.from_pretrained(make_model_folder(path, name))
    if name == "bert":  # only its own class numbers the two texts
        tokenizer = transformers.BertTokenizer(vocab=tokenizer.get_vocab(), model_max_length=32)
    else:
        ids = [("[CLS]", 0), ("[SEP]", 2)]
        pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", pair=pair, special_tokens=ids)
    config = transformers.AutoConfig.for_model(name, **ARCHITECTURES[name], num_labels=labels)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    torch.manual_seed(7)
    for parameter in model.parameters():  # those of a new model are too small to tell right from wrong
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(path / "cross")
    tokenizer.save_pretrained(path / "cross")
    return path / "cross"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_cross_encoder(tmp_path_factory.mktemp("cross"), "bert")


@pytest.mark.parametrize("tokenizer", ["its own", "without texts", "without a class"])
@pytest.mark.parametrize("name", ["bert", "roberta", "distilbert"])
def test_it_equals_sentence_transformers(name, tokenizer, tmp_path):
    from sentence_transformers import CrossEncoder
    from torch.nn import Sigmoid

    from askalike_research.rankers.pair_model import OnnxPairModel

    folder = make_cross_encoder(tmp_path, name)
    described = json.loads((folder / "tokenizer_config.json").read_text())
    described |= {"without texts": {"model_input_names": ["input_ids", "attention_mask"]}}.get(tokenizer, {})
    described |= {"without a class": {"tokenizer_class": "PreTrainedTokenizerFast"}}.get(tokenizer, {})
    (folder / "tokenizer_config.json").write_text(json.dumps(described))
    expected = CrossEncoder(str(folder), device="cpu").predict(PAIRS, activation_fn=Sigmoid(), show_progress_bar=False)
    scores = OnnxPairModel(folder, 32).score(PAIRS)
    np.testing.assert_allclose(scores, expected, atol=1e-4)
    model = OnnxPairModel(folder, 32)
    np.testing.assert_allclose([model.score([pair])[0] for pair in PAIRS[:4]], scores[:4], atol=1e-6)
    assert np.ptp(expected) > 0.003


def test_a_cascade_orders_what_another_ranker_proposes(folder, archive):
    archive.upsert(Question(f"{n:02}", " ".join(WORDS[n : n + 4])) for n in range(15))
    settings = {"parts": ["lm_jelinek_mercer", "cross_encoder"], "cross_encoder.encoder": str(folder)}
    ranker = rankers.create("cascade", settings, archive)
    searcher = rankers.open_current(ranker, archive.view())
    query = Question("q", "was my bike stolen")
    retrieved = rankers.search(searcher, {"q": query}, 5)
    documents = archive.view().questions_by_docid(retrieved.distinct_docids)
    texts = [documents[docid] for docid in retrieved.docids[0].tolist()]
    [scores] = retrieved.scores
    assert len(texts) > 2
    assert scores.tolist() == sorted(scores.tolist(), reverse=True)
    np.testing.assert_allclose(scores, ranker.parts[1].scorer.score(query, texts), rtol=1e-6)
    assert explain_retrieved(searcher, retrieved, [retrieved.docids[0][:1]]) != [{}]
    assert rankers.create("cascade", ranker.values, archive).fingerprint == ranker.fingerprint


def test_what_is_wrong_is_said(folder, tmp_path):
    with pytest.raises(SettingsError, match="no such model; expected a folder"):
        rankers.create("cross_encoder", {"encoder": "nowhere"})
    two = make_cross_encoder(tmp_path, "bert", labels=2)
    ranker = rankers.create("cross_encoder", {"encoder": str(two)})
    with pytest.raises(InputError, match="2 labels; expected a cross-encoder with one label"):
        ranker.scorer.score(Question("q", "rice"), [Question("d", "rice")])
    description = json.loads((two / "config.json").read_text())
    (two / "config.json").write_text(json.dumps({**description, "model_type": "mpnet"}))
    with pytest.raises(InputError, match="model_type = 'mpnet'; expected one of bert"):
        rankers.create("cross_encoder", {"encoder": str(two)}).scorer.score(
            Question("q", "rice"), [Question("d", "rice")]
        )


@pytest.mark.long
def test_tune_tries_it(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(candidate_search, "list_families", lambda: ())
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert(
            Question(f"{n:02}", " ".join(WORDS[n : n + 3]), rephrasings=(" ".join(WORDS[n + 1 : n + 4]),))
            for n in range(20)
        )
        outcome = tune_archive(archive, cross_encoder=str(folder))
    results = {result.candidate.name: result for result in outcome.candidate_results}
    tried = [name for name in results if name.startswith("cross_encoder (")]
    assert tried
    for name in tried:
        without, trial = name.removeprefix("cross_encoder (").removesuffix(")"), results[name].best.trial
        assert trial.settings["parts"] == [results[without].best.trial.ranker, "cross_encoder"]
        assert (trial.ranker, trial.settings["cross_encoder.encoder"]) == ("cascade", str(folder))
