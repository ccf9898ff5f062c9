"""Small sentence-transformers folders with random weights, written without the packages that make real ones."""

import json
from pathlib import Path

SENTENCE = "how do i cook rice in a pot without burning it my bike was stolen at night and the police asks why"
WORDS = SENTENCE.split()


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
