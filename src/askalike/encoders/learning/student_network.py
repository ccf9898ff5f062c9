"""Some layers of a transformer as a separate network, to be trained further and saved as a model's folder."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from askalike.core.packages import MODULES_FILE
from askalike.encoders.onnx.architectures import Affine, Architecture, Layer, Transformer
from askalike.encoders.onnx.weights import to_float32

NAMES = Architecture()
"""The names of a layer's tensors: a student is saved as BERT, whatever its teacher's architecture."""
HIDDEN_ACTIVATIONS = {"none": "gelu", "tanh": "gelu_new", "relu": "relu"}
COPIED_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "sentence_bert_config.json")
POOLING = "1_Pooling"
MODULES = (("Transformer", ""), ("Pooling", POOLING), ("Normalize", "2_Normalize"))


class StudentNetwork(nn.Module):
    """A transformer's embeddings and some of its layers, given by their numbers from 0."""

    def __init__(self, teacher: Transformer, layers: Sequence[int]) -> None:
        super().__init__()
        taught = teacher.layers()
        self.activation, self.heads, self.epsilon = teacher.activation, teacher.heads, teacher.epsilon
        vectors = to_float32(teacher.word_vectors)
        self.words = nn.Embedding(len(vectors), vectors.shape[1], _weight=_tensor(vectors))
        self.positions = nn.Parameter(_tensor(teacher.position_vectors))
        self.norm = _norm(teacher.embedding_norm, self.epsilon)
        self.student_layers = [StudentLayer(taught[n], self) for n in layers]
        self.layers = nn.ModuleList(self.student_layers)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the last states (texts, tokens, hidden) of ids (texts, tokens), without padding."""
        states: Tensor = self.norm(self.words(ids) + self.positions[: ids.shape[1]])
        for layer in self.student_layers:
            states = layer(states)
        return states

    @torch.no_grad()
    def shift(self, change: Tensor) -> None:
        """Add (hidden) to all last states."""
        self.student_layers[-1].output_norm.bias.add_(change)


class StudentLayer(nn.Module):
    """One layer: attention between all tokens of a text, then two linear maps of each token."""

    def __init__(self, layer: Layer, network: StudentNetwork) -> None:
        super().__init__()
        self.heads, self.activation = network.heads, network.activation
        self.attention = _linear(layer.attention)
        self.attention_output = _linear(layer.attention_output)
        self.attention_norm = _norm(layer.attention_norm, network.epsilon)
        self.intermediate, self.output = _linear(layer.intermediate), _linear(layer.output)
        self.output_norm = _norm(layer.output_norm, network.epsilon)

    def forward(self, states: Tensor) -> Tensor:
        """Return the states (texts, tokens, hidden) after the layer."""
        texts, tokens, hidden = states.shape
        joined = self.attention(states).view(texts, tokens, 3, self.heads, hidden // self.heads)
        query, key, value = joined.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value).transpose(1, 2)
        states = self.attention_norm(states + self.attention_output(attended.reshape(texts, tokens, hidden)))
        return self.output_norm(states + self.output(self._activate(self.intermediate(states))))  # type: ignore[no-any-return]

    def _activate(self, values: Tensor) -> Tensor:
        return (
            functional.relu(values)
            if self.activation == "relu"
            else functional.gelu(values, approximate=self.activation)
        )


def save_student(network: StudentNetwork, teacher: Path, prompt: str, folder: Path) -> None:
    """Write a network as a sentence-transformers folder with mean pooling.

    teacher: the folder of the transformer, whose tokenizer is used. prompt: the prefix of each text.
    """
    folder.mkdir()
    for name in COPIED_FILES:
        if (teacher / name).exists():
            shutil.copy(teacher / name, folder / name)
    safetensors.torch.save_file(_name_tensors(network), folder / "model.safetensors", {"format": "pt"})
    kinds = [(f"sentence_transformers.models.{kind}", path) for kind, path in MODULES]
    modules = [{"idx": n, "name": str(n), "type": kind, "path": path} for n, (kind, path) in enumerate(kinds)]
    for _, path in MODULES[1:]:
        (folder / path).mkdir()
    pooling = {"word_embedding_dimension": network.positions.shape[1], "pooling_mode_mean_tokens": True}
    prompts = {"prompts": {"query": prompt, "document": prompt}} if prompt else {}
    described = {
        MODULES_FILE: modules, "config.json": _describe(network), f"{POOLING}/config.json": pooling,
        "config_sentence_transformers.json": prompts,
    }  # fmt: skip
    for name, content in described.items():
        (folder / name).write_text(json.dumps(content, indent=2), encoding="utf-8")


def _describe(network: StudentNetwork) -> Mapping[str, Any]:
    words, hidden = network.words.weight.shape
    [inner, _] = network.student_layers[0].intermediate.weight.shape
    return {
        "model_type": "bert", "architectures": ["BertModel"], "vocab_size": words, "hidden_size": hidden,
        "num_hidden_layers": len(network.layers), "num_attention_heads": network.heads,
        "intermediate_size": inner,
        "max_position_embeddings": len(network.positions), "type_vocab_size": 1, "pad_token_id": 0,
        "layer_norm_eps": network.epsilon, "hidden_act": HIDDEN_ACTIVATIONS[network.activation],
    }  # fmt: skip


def _name_tensors(network: StudentNetwork) -> dict[str, Tensor]:
    """Return the network's parameters under BERT's names."""
    tensors = {
        "embeddings.word_embeddings.weight": network.words.weight,
        "embeddings.position_embeddings.weight": network.positions,
        "embeddings.token_type_embeddings.weight": torch.zeros(1, network.positions.shape[1]),
    }
    modules: dict[str, Any] = {"embeddings.LayerNorm": network.norm}
    for number, layer in enumerate(network.student_layers):
        prefix = NAMES.layer.format(number)
        for name in ("attention_output", "attention_norm", "intermediate", "output", "output_norm"):
            modules[prefix + getattr(NAMES, name)] = getattr(layer, name)
        weights, biases = layer.attention.weight.chunk(3), layer.attention.bias.chunk(3)
        for name, weight, bias in zip((NAMES.query, NAMES.key, NAMES.value), weights, biases, strict=True):
            tensors |= {f"{prefix}{name}.weight": weight, f"{prefix}{name}.bias": bias}
    tensors |= {
        f"{name}.{kind}": getattr(module, kind) for name, module in modules.items() for kind in ("weight", "bias")
    }
    return {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}


def _tensor(values: NDArray[np.float32]) -> Tensor:
    return torch.from_numpy(np.array(values, np.float32))


def _linear(affine: Affine) -> nn.Linear:
    linear = nn.Linear(affine.weight.shape[1], affine.weight.shape[0])
    linear.weight.data, linear.bias.data = _tensor(affine.weight), _tensor(affine.bias)
    return linear


def _norm(affine: Affine, epsilon: float) -> nn.LayerNorm:
    norm = nn.LayerNorm(len(affine.bias), epsilon)
    norm.weight.data, norm.bias.data = _tensor(affine.weight), _tensor(affine.bias)
    return norm
