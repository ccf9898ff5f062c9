"""The encoders of a served archive: its own models, and those that installed extras bring."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from askalike import encoders
from askalike.core.errors import AskalikeError, SettingsError
from askalike.encoders import MODEL_FILE, PACKAGED_ENCODERS, Encoder, Role, encode_texts, find_package
from askalike.rankers import MODELS_FOLDER, trained_model_names
from askalike.text.subwords import VECTORS_PACKAGE

STATIC = "static"


class UnknownEncoderError(AskalikeError):
    """The archive has no encoder with that name."""


class DimensionsError(AskalikeError):
    """More dimensions are requested than an encoder's vectors have."""


class ArchiveEncoders:
    """The encoders of the archive in a directory. Each is opened on first use, and again after it is retrained."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: dict[str, tuple[int, Encoder]] = {}

    def names(self) -> Sequence[str]:
        """Return the encoders' names: the archive's models, then those that installed extras bring."""
        static = (STATIC,) if find_spec(VECTORS_PACKAGE) else ()
        packaged = (name for name in PACKAGED_ENCODERS if find_package(name).is_installed)
        return (*trained_model_names(self._path), *static, *packaged)

    def encode(self, name: str, texts: Sequence[str], role: Role, dimensions: int | None) -> NDArray[np.float32]:
        """Return the vectors of n texts, float32 (n, dimensions), whose dot products are the encoder's scores.

        dimensions: number of leading components to return, normalised to length 1; None: all.
        Raises DimensionsError, UnknownEncoderError, the latter also if vectors are compared by distance.
        """
        encoder = self._open(name)
        try:
            vectors = encode_texts(texts, encoder, role)
        except SettingsError as error:
            raise UnknownEncoderError(f"model: {name} cannot compute embeddings: {error}") from None
        if dimensions is None or dimensions == vectors.shape[1]:
            return vectors
        if dimensions > vectors.shape[1]:
            raise DimensionsError(f"dimensions: {name} has {vectors.shape[1]}, got {dimensions}")
        shortened = vectors[:, :dimensions]
        lengths = np.linalg.norm(shortened, axis=1, keepdims=True)
        return np.asarray(shortened / np.where(lengths > 0, lengths, 1), np.float32)

    def _open(self, name: str) -> Encoder:
        if name not in self.names():
            raise UnknownEncoderError(f"model: no encoder {name!r}; there are: {', '.join(self.names()) or 'none'}")
        description = self._path / MODELS_FOLDER / name / MODEL_FILE
        own = description.exists()
        version = description.stat().st_mtime_ns if own else 0
        opened_version, encoder = self._opened.get(name, (None, None))
        if encoder is None or opened_version != version:
            encoder = encoders.open_encoder(description.parent) if own else encoders.build(name)
            self._opened[name] = version, encoder
        return encoder
