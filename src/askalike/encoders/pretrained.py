"""Any sentence-transformers model on this machine, a folder or an installed package (extra `pretrained`), offline."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike import config
from askalike.encoders import Role, VectorCache, read_model_file
from askalike.encoders.recipes import Tables
from askalike.errors import SettingsError
from askalike.packages import find_model
from askalike.store import TrainingView
from askalike.text.clean import CodeRule, plain_text
from askalike.types import Answer, Question, VectorPart, Vectors

MODEL_FOLDER = "pretrained"
"""The subfolder of a fine-tuned model in its folder of `models/`."""


class PretrainedEncoderSettings(config.Settings):
    """Which model is used, and how."""

    model: str = Field("", description="the model's folder, or an installed package that carries one")
    query_prompt: str = Field("", description="what stands before each query, for models that want it")
    document_prompt: str = Field("", description="what stands before each document")
    code: CodeRule = Field("drop", description="whether code counts")
    batch: int = Field(32, ge=1, description="texts encoded at a time; lower it where memory runs out")
    precision: Literal["32", "bf16"] = Field(
        "32", description="bf16: up to three times as fast on processors that have it, and nearly the same vectors"
    )
    device: Literal["cpu", "cuda"] | None = Field(
        None, description="where it runs; unless given, a GPU where there is one"
    )


class PretrainedEncoder:
    """A pre-trained encoder. The score is the cosine."""

    def __init__(self, settings: PretrainedEncoderSettings) -> None:
        self.settings = settings
        self.folder = find_model(settings.model, "model")
        self.trained_until: str | None = None
        """The date of the newest text or link that a fine-tuned model was trained on; else None."""
        self.cache: VectorCache | None = None
        """The cache of vectors; without one, every text is encoded each time."""
        self._model: Any = None
        described = json.dumps([*_describe_files(self.folder), *_describe_usage(settings)])
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """Return the encoder with the model that `model` names. Raises SettingsError if it is not on this machine."""
        return cls(config.validate_settings(PretrainedEncoderSettings, values, "pretrained"))

    @classmethod
    def open(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """Open a fine-tuned model in the subfolder `pretrained` of a folder of `models/`."""
        encoder = cls.from_settings({**values, "model": str(folder / MODEL_FOLDER)})
        encoder.trained_until = read_model_file(folder).get("trained", {}).get("knows_until")
        return encoder

    @staticmethod
    def save_model(folder: Path, recipe: Any, features: Any, tensors: Mapping[str, NDArray[Any]]) -> Tables:
        """Write a fine-tuned network as sentence-transformers reads it; see NeuralEncoder.save_model."""
        import torch

        from askalike import registry

        network = registry.load("network", recipe.name)(recipe.network, len(features.tokens))
        network.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
        network.model.save(str(folder / MODEL_FOLDER), create_model_card=False)
        return {}

    @property
    def values(self) -> Mapping[str, Any]:
        """All settings, the defaults included."""
        return self.settings.model_dump()

    def fit(self, view: TrainingView) -> Self:
        """Return itself: there is nothing to learn."""
        return self

    def encode(self, texts: Sequence[Question | Answer], role: Role) -> Vectors:
        """Return the model's vectors of title and body; zeros for a text without a word."""
        plain = [self.text(text) for text in texts]
        prompt = self.settings.query_prompt if role == "query" else self.settings.document_prompt
        prompted = [prompt + text for text in plain]
        values = self.cache.get_or_encode(prompted, self._encode_texts) if self.cache else self._encode_texts(prompted)
        values[[not text for text in plain]] = 0
        return Vectors((VectorPart(values, "cosine"),))

    def _encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors (texts, dim). The model batches texts of similar length."""
        options = {"batch_size": self.settings.batch, "show_progress_bar": False, "convert_to_tensor": True}
        vectors = self.model.encode(list(texts), **options)
        return np.asarray(vectors.float().cpu(), np.float32).reshape(len(texts), -1)

    def text(self, text: Question | Answer) -> str:
        """Return the plain text that is encoded: title and body."""
        body = plain_text(text.body, text.markup, code=self.settings.code)
        return body if isinstance(text, Answer) else f"{plain_text(text.title, 'text')} {body}".strip()

    @property
    def model(self) -> Any:
        """The sentence-transformers model, loaded when it is first used. Raises SettingsError without the extra."""
        if self._model is None:
            try:
                from askalike.nn.transformer import load_sentence_transformer
            except ImportError:
                problem = "sentence-transformers is not installed: pip install 'askalike[pretrained]'"
                raise SettingsError(f"pretrained: {problem}") from None
            model = load_sentence_transformer(self.folder, self.settings.device)
            self._model = model.bfloat16() if self.settings.precision == "bf16" else model
        return self._model


def _describe_files(folder: Path) -> list[Any]:
    """Return what identifies a model's files: names, sizes and digests."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix in (".json", ".safetensors"))
    return [[str(p.relative_to(folder)), os.path.getsize(p), _compute_digest(p)] for p in files]


def _compute_digest(path: Path) -> str:
    """Return the digest of a file's last mebibyte."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - (1 << 20)))
        return hashlib.sha256(file.read()).hexdigest()


def _describe_usage(settings: PretrainedEncoderSettings) -> list[str]:
    precision = [] if settings.precision == "32" else [settings.precision]
    code = [] if settings.code == "drop" else ["code"]
    return [settings.query_prompt, settings.document_prompt, *precision, *code]
