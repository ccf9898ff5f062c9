"""Small sentence-transformers folders with random weights, for tests."""

import json
from pathlib import Path

SENTENCE = "how do i cook rice in a pot without burning it my bike was stolen at night and the police asks why"
WORDS = SENTENCE.split()
BERT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
SIZES = {"vocab_size": 40, "max_position_embeddings": 34}
ARCHITECTURES = {
    "bert": BERT | SIZES,
    "roberta": BERT | SIZES | {"pad_token_id": 1, "type_vocab_size": 1},
    "xlm-roberta": BERT | SIZES | {"pad_token_id": 1, "type_vocab_size": 1, "hidden_act": "gelu_new"},
    "mpnet": BERT | SIZES | {"pad_token_id": 1, "hidden_act": "relu"},
    "modernbert": BERT | SIZES | {"local_attention": 8, "num_hidden_layers": 4, "pad_token_id": 1},
    "distilbert": SIZES | {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
}


def make_tokenizer():
    """Return a tokenizer of whole words for transformers."""
    import transformers
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordLevel

    special = ["[CLS]", "[PAD]", "[SEP]", "[UNK]"]
    words = [*special, *dict.fromkeys(WORDS)]
    words += [f"[unused{number}]" for number in range(len(words), SIZES["vocab_size"])]
    ids = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=32,
    )  # fmt: skip


def make_transformer(path: Path, name: str, task: str = "feature-extraction"):
    """Return a small transformer with random weights, and the modules' package. task: or `fill-mask`."""
    import torch
    import transformers
    from sentence_transformers.sentence_transformer.modules import Transformer

    torch.manual_seed(7)
    config = transformers.AutoConfig.for_model(name, **ARCHITECTURES[name])
    kind = transformers.AutoModel if task == "feature-extraction" else transformers.AutoModelForMaskedLM
    model = kind.from_config(config)
    for parameter in model.parameters():  # those of a new model are too small to tell right from wrong
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(path / "start")
    make_tokenizer().save_pretrained(path / "start")
    return Transformer(str(path / "start"), transformer_task=task)


def make_model_folder(
    path: Path, name: str, pooling: str = "mean", dense: bool = False, normalise: bool = True
) -> Path:
    """Save a small model with random weights as sentence-transformers does."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules as models

    steps = [make_transformer(path, name), models.Pooling(32, pooling)]
    steps += [models.Dense(32, 16)] if dense else []
    steps += [models.Normalize()] if normalise else []
    SentenceTransformer(modules=steps, device="cpu").save(str(path / "model"), create_model_card=False)
    return path / "model"


def write_cross_encoder(path: Path, words: list[str], layers: int = 1) -> Path:
    """Write a cross-encoder of BERT's architecture with random weights, without the packages that take long to load."""
    import numpy as np
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, pre_tokenizers, processors
    from tokenizers.models import WordLevel

    size, inner, random = 8, 12, np.random.default_rng(7)
    ids = {word: number for number, word in enumerate(["[CLS]", "[PAD]", "[SEP]", "[UNK]", *words])}
    shapes = {f"bert.embeddings.{kind}_embeddings.weight": (rows, size) for kind, rows in
              (("word", len(ids)), ("position", 40), ("token_type", 2))}  # fmt: skip
    dense = {"attention.self.query": (size, size), "attention.self.key": (size, size),
             "attention.self.value": (size, size), "attention.output.dense": (size, size),
             "intermediate.dense": (inner, size), "output.dense": (size, inner)}  # fmt: skip
    places = [f"bert.encoder.layer.{n}" for n in range(layers)]
    linear = {f"{place}.{name}": shape for place in places for name, shape in dense.items()}
    linear |= {"bert.pooler.dense": (size, size), "classifier": (1, size)}
    for name, shape in linear.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    norms = ["bert.embeddings", *(f"{place}.{name}" for place in places for name in ("attention.output", "output"))]
    tensors = {name: random.normal(0, 0.7, shape).astype(np.float32) for name, shape in shapes.items()}
    for name in norms:
        tensors |= {f"{name}.LayerNorm.weight": np.ones(size, np.float32)}
        tensors |= {f"{name}.LayerNorm.bias": np.zeros(size, np.float32)}
    path.mkdir(parents=True)
    save_file(tensors, path / "model.safetensors")
    config = {"model_type": "bert", "num_attention_heads": 2, "num_hidden_layers": layers, "hidden_act": "gelu"}
    (path / "config.json").write_text(json.dumps(config))
    (path / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 40}))
    tokenizer = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    marks = [("[CLS]", 0), ("[SEP]", 2)]
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", pair=pair, special_tokens=marks)
    tokenizer.save(str(path / "tokenizer.json"))
    return path


def write_encoder(path: Path, words: list[str], layers: int = 1) -> Path:
    """Write a sentence-transformers folder of BERT's architecture with random weights, as `write_cross_encoder` does.

    A text's vector is the mean of its tokens' states.
    """
    write_cross_encoder(path, words, layers)
    (path / "pooling").mkdir()
    (path / "pooling/config.json").write_text(json.dumps({"pooling_mode_mean_tokens": True}))
    modules = [
        {"type": f"models.{kind}", "path": place} for kind, place in (("Transformer", ""), ("Pooling", "pooling"))
    ]
    (path / "modules.json").write_text(json.dumps(modules))
    return path
