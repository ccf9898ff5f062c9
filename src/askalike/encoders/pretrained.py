"""Any sentence-transformers model on this machine, in a folder or an installed package, offline.

It runs in 8 bits by default, with layers of our own. Graphs, sparse vectors and 32 bits need ONNX Runtime (the extra
`onnx`), a GPU needs a package that runs models there (the group `askalike.devices`).
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from pydantic import BeforeValidator, Field

from askalike.core import config, registry
from askalike.core.arrays import Floats32, VectorPart, Vectors
from askalike.core.errors import SettingsError
from askalike.core.model_folders import MODULES_FILE, LearnedLabels, find_model
from askalike.core.records import Answer, Question
from askalike.encoders import Encoder, RecentVectors, Role, VectorCache, read_model_file
from askalike.encoders.transformer.modules import has_routes, is_sparse, read_json, read_modules
from askalike.text.clean import CodeRule, plain_text, require_text

MODEL_FOLDER = "pretrained"
"""The subfolder of a fine-tuned model in its folder of `models/`."""
DESCRIBING_SUFFIXES = (".json", ".safetensors", ".onnx")
PROMPT_NAMES: Mapping[Role, Sequence[str]] = {"query": ("query",), "document": ("document", "passage", "corpus")}
"""Role → names of its prompt in models' folders."""


class EncodingSettings(config.Settings):
    """Settings of the encoding of texts."""

    code: CodeRule = Field("drop", description="whether code is read")
    batch: int | None = Field(
        None,
        ge=1,
        description="number of texts encoded at a time, by default 32, on a GPU 256; lower it if memory runs out",
    )
    precision: Annotated[Literal["8", "32", "bf16"], BeforeValidator(str)] = Field(
        "8",
        description="number of bits per weight: 8 is twice as fast as 32, with almost equal vectors; bf16 is for GPUs",
    )
    threads: int | None = Field(None, ge=1, description="number of processor threads; by default all processors")


class PretrainedEncoderSettings(EncodingSettings):
    """The model and the settings of its use."""

    encoder: str = Field("", description="the model's folder, or an installed package that contains the model")
    query_prompt: str | None = Field(None, description="text put before each query; by default the model's own")
    document_prompt: str | None = Field(None, description="text put before each document; by default the model's own")
    device: Literal["cpu", "cuda"] | None = Field(
        None, description="device that encodes; cuda needs a package that runs models there"
    )


class FoundModel(NamedTuple):
    """A model on this machine: its folder, the prompt of each role, and what identifies its weights."""

    folder: Path
    prompts: Mapping[Role, str]
    identity: Sequence[Any]


class DeviceModel(Protocol):
    """A sentence-transformers model on another device than the processor; a class in the group `askalike.devices`.

    It is created from the model's folder and whether it may compute in half precision. Raises SettingsError if the
    device is missing.
    """

    def __init__(self, folder: Path, half: bool) -> None: ...

    def encode(self, texts: Sequence[str], batch: int = 256) -> Floats32:
        """Return the vectors of texts, (texts, dim). batch: number of texts encoded together.

        Raises SettingsError if the device's memory does not suffice.
        """


class PretrainedEncoder(Encoder):
    """A pre-trained encoder. The score is the cosine; that of sparse vectors is the dot product, see `_to_part`."""

    compares_fields = True
    lexical_weight = 0.25
    """See Encoder.lexical_weight."""
    lexical_power = 7
    """See Encoder.lexical_power. Measured with MiniLM on thirteen sets of queries."""
    title_weight = 0.5
    """See Encoder.title_weight."""
    settings_class: ClassVar[type[EncodingSettings]] = PretrainedEncoderSettings

    def __init__(self, settings: EncodingSettings) -> None:
        self.settings = settings
        found = self._find_model()
        self.folder, self._prompts = found.folder, found.prompts
        self.cache: VectorCache | None = None
        """The cache of vectors; without one, every text is encoded each time."""
        self._recent = RecentVectors()
        self.document_cache: VectorCache | None = None
        """The cache of documents' vectors; by default `cache`."""
        described = (self.folder / MODULES_FILE).exists()
        self._has_routes = described and has_routes(self.folder)
        self._is_sparse = described and is_sparse(read_modules(self.folder, "document"))
        self._models: dict[Role, Any] = {}
        precision = [] if settings.precision == "32" else [settings.precision]
        code = [] if settings.code == "drop" else ["code"]
        identity = [*found.identity, *self._prompts.values(), *precision, *code]
        self._fingerprint = hashlib.sha256(json.dumps(identity).encode()).hexdigest()

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """Return the encoder with these settings. Raises SettingsError if its model is not on this machine."""
        return cls(config.validate_settings(cls.settings_class, values, cls.__module__.rpartition(".")[2]))

    @classmethod
    def open(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """Open a fine-tuned model in the subfolder `pretrained` of a folder of `models/`."""
        encoder = cls.from_settings({**values, "encoder": str(folder / MODEL_FOLDER)})
        model = read_model_file(folder)
        encoder.trained_until = model.get("trained", {}).get("trained_until")
        encoder.learned_labels = LearnedLabels.read(folder)
        return encoder

    def __getstate__(self) -> Mapping[str, Any]:
        """Return what another process needs, which opens the model itself."""
        return vars(self) | {"_models": {}}

    @property
    def values(self) -> Mapping[str, Any]:
        """All settings, including defaults."""
        return self.settings.model_dump()

    @property
    def fingerprint(self) -> str:
        """See Encoder.fingerprint."""
        return self._fingerprint

    def share_vectors(self, archive: Path, documents: int) -> VectorCache | None:
        """Use the shared cache of an archive's document vectors, dense ones only. documents: their number."""
        if self._is_sparse:
            return None
        self.document_cache = VectorCache.share(archive, self.fingerprint, documents, older=self.document_cache)
        return self.document_cache

    def encode_queries(self, texts: Sequence[Question | Answer]) -> Vectors:
        """Return the model's vectors of title and body; zeros for a text without words."""
        return self._encode(texts, "query", self.cache or self._recent)

    def encode_documents(self, texts: Sequence[Question | Answer]) -> Vectors:
        """Return the same with the prompt of documents, from their cache."""
        return self._encode(texts, "document", self.document_cache or self.cache)

    def find_missing(self, texts: Sequence[Question]) -> list[int]:
        """Return the places of the documents whose vectors are not stored in the archive, see `share_vectors`."""
        prompted = [self._prompts["document"] + self.text(text) for text in texts]
        return self.document_cache.find_missing(prompted) if self.document_cache else list(range(len(texts)))

    def _encode(self, texts: Sequence[Question | Answer], role: Role, cache: VectorCache | None) -> Vectors:
        plain = [self.text(text) for text in texts]
        prompted = [self._prompts[role] + text for text in plain]
        encode = partial(self._encode_texts, role)
        values = cache.get_or_encode(prompted, encode) if cache and not self._is_sparse else encode(prompted)
        if self._is_sparse:
            return Vectors((self._to_part(values, [bool(text) for text in plain], role),))
        values[[not text for text in plain]] = 0
        return Vectors((VectorPart(values, "cosine"),))

    def _to_part(self, values: Any, has_words: Sequence[bool], role: Role) -> VectorPart:
        """Return sparse vectors as a part whose score is about 1 for the same text.

        The dot product ranks, so that a query may be scaled: by its product with itself, or by the sum of its weights
        if documents are read by other modules, which give a text's own tokens weights of about 1.
        """
        factors = np.array(has_words, np.float32)
        if role == "query":
            sums = (values if self._has_routes else values.multiply(values)).sum(axis=1)
            factors /= np.where(sums > 0, sums, 1)
        return VectorPart(values.multiply(factors[:, None]).tocsr(), "dot")

    def _encode_texts(self, role: Role, texts: Sequence[str]) -> Any:
        """Return vectors (texts, dim), a CSR array if they are sparse."""
        model = self._open_model(role)
        batch = self.settings.batch
        return model.encode(texts) if batch is None else model.encode(texts, batch)

    def text(self, text: Question | Answer) -> str:
        """Return the plain text that is encoded: title and body."""
        require_text(text)
        body = plain_text(text.body, text.markup, code=self.settings.code)
        return body if isinstance(text, Answer) else f"{plain_text(text.title, 'text')} {body}".strip()

    @property
    def model(self) -> Any:
        """The model of documents, opened on first use. Raises SettingsError if the extra is missing, InputError."""
        return self._open_model("document")

    def _open_model(self, role: Role) -> Any:
        key: Role = role if self._has_routes else "document"
        if key not in self._models:
            self._models[key] = self._load_model(key)
        return self._models[key]

    def _find_model(self) -> FoundModel:
        assert isinstance(self.settings, PretrainedEncoderSettings)
        folder = find_model(self.settings.encoder, "encoder")
        return FoundModel(folder, _read_prompts(folder, self.settings), _describe_files(folder))

    def _load_model(self, role: Role) -> Any:
        device = getattr(self.settings, "device", None) or "cpu"
        if device != "cpu":
            return self._load_onto(device)
        from askalike.encoders.transformer.model import OnnxModel

        return OnnxModel(self.folder, self._bits, self.settings.threads, role)

    def _load_onto(self, device: str) -> "DeviceModel":
        if self._is_sparse or self._has_routes:
            raise SettingsError(f"pretrained: {self.folder}: sparse vectors and routes need device=cpu")
        if device not in registry.names("device"):
            raise SettingsError(f"device={device}: no installed package runs models there; docs/install.md names one")
        return registry.load("device", device)(self.folder, self.settings.precision != "32")  # type: ignore[no-any-return]

    @property
    def _bits(self) -> Literal[8, 32]:
        return 32 if self.settings.precision == "32" else 8


def _describe_files(folder: Path) -> list[Any]:
    """Return what identifies a model's files: names, sizes and digests."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix in DESCRIBING_SUFFIXES)
    return [[str(p.relative_to(folder)), os.path.getsize(p), _compute_digest(p)] for p in files]


def _compute_digest(path: Path) -> str:
    """Return the digest of a file's last mebibyte."""
    with open(path, "rb") as file:
        file.seek(max(0, os.path.getsize(path) - (1 << 20)))
        return hashlib.sha256(file.read()).hexdigest()


def _read_prompts(folder: Path, settings: PretrainedEncoderSettings) -> dict[Role, str]:
    """Return the prompt of queries and of documents: from the settings, else from the model's folder."""
    path = folder / "config_sentence_transformers.json"
    described = read_json(path) if path.exists() else {}
    prompts = described.get("prompts") or {}
    default = prompts.get(described.get("default_prompt_name"), "")
    own: dict[Role, str] = {
        role: next((prompts[name] for name in names if name in prompts), default)
        for role, names in PROMPT_NAMES.items()
    }
    given = {"query": settings.query_prompt, "document": settings.document_prompt}
    return {role: prompt if (chosen := given[role]) is None else chosen for role, prompt in own.items()}
