"""Encoders, one per file: texts in, vectors out."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from askalike.core import registry
from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Question
from askalike.encoders._encoder import (
    AnswerGenerator as AnswerGenerator,
    DistinctWords as DistinctWords,
    Encoder as Encoder,
    LookupTable as LookupTable,
    RecentVectors as RecentVectors,
    Role as Role,
    TextWords as TextWords,
    VectorCache as VectorCache,
    concatenate_parts as concatenate_parts,
)

if TYPE_CHECKING:
    from askalike.encoders._packaged import ModelPackage

MODEL_FILE = "model.toml"
PACKAGED_ENCODERS = ("minilm_l6", "e5_small")
"""Encoders whose weights the packages of extras bring; the first that knows an archive's languages fits best."""
STRONGER_ENCODER = "sentence-transformers/all-mpnet-base-v2"
"""The hub's name of an English one that finds more but is slower, see docs/vectors.md; no package brings it alone."""


def build(name: str, settings: Mapping[str, Any] | None = None) -> Encoder:
    """Return a registered encoder with these settings. Raises SettingsError if it is unknown or not installed."""
    return registry.load("encoder", name).from_settings(settings or {})  # type: ignore[no-any-return]


def open_encoder(folder: Path, settings: Mapping[str, Any] | None = None) -> Encoder:
    """Open the trained encoder in a folder, with settings for its use.

    Raises InputError if there is no model, SettingsError if no installed package has its encoder.
    """
    name = read_model_file(folder).get("encoder")
    if not isinstance(name, str):
        raise InputError(f"{folder / MODEL_FILE}: expected encoder = NAME, the kind of the model")
    if not registry.find_kind(name, ("encoder",)):
        raise SettingsError(f"{folder}: a model of the encoder {name!r}; install the package that has trained it")
    return registry.load("encoder", name).open(folder, settings or {})  # type: ignore[no-any-return]


def read_model_file(folder: Path) -> dict[str, Any]:
    """Return the tables of a trained model's model.toml. Raises InputError for a folder without one."""
    path = folder / MODEL_FILE
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a valid description of a model ({error})") from None


def encode_texts(
    texts: Sequence[str],
    encoder: str | Path | Encoder = "static",
    role: Role = "document",
    settings: Mapping[str, Any] | None = None,
) -> NDArray[np.float32]:
    """Return the vectors of n texts, float32 (n, dim), whose dot products are the encoder's scores.

    encoder: a registered name, the folder of a trained model (`DIR/models/NAME`), or an Encoder. role: some encoders
    encode queries and documents differently. A text without words gets zeros. Raises SettingsError for an encoder that
    is unknown or whose vectors are compared by Euclidean distance, InputError for values that are not text.
    """
    if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
        raise InputError("encode_texts: expected a list of strings, as in encode_texts(['how do I reset my password'])")
    if not isinstance(encoder, str | Path):
        found = encoder
    elif Path(encoder).is_dir():
        found = open_encoder(Path(encoder), settings)
    else:
        found = build(str(encoder), settings)
    questions = [Question(str(n), text) for n, text in enumerate(texts)]
    vectors = found.encode_queries(questions) if role == "query" else found.encode_documents(questions)
    joined = concatenate_parts(vectors)
    return joined if isinstance(joined, np.ndarray) else np.asarray(joined.toarray(), np.float32)


def find_package(name: str) -> "ModelPackage":
    """Return the package that brings the weights of one of PACKAGED_ENCODERS, installed or not."""
    return registry.load("encoder", name).package  # type: ignore[no-any-return]
