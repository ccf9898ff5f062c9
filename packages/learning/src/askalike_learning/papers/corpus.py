"""Encoders trained on an archive's texts alone, with gensim: model.toml, vocabulary.txt and a file per array."""

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike import (
    Encoder,
    InputError,
    NotFittedError,
    SettingsError,
    TrainingError,
    TrainingView,
    VectorPart,
    Vectors,
    View,
    validate_settings,
)
from askalike.plugin.features import RESERVED, Array, Text
from askalike.plugin.models import MODEL_FILE, read_model_file, write_text_model
from askalike_learning.features.words import WordFeatures, WordSettings

Arrays = Mapping[str, Array]
TokenisedTexts = Callable[[], Iterator[list[str]]]
"""Each call yields an archive's texts as lists of their words in the vocabulary."""


class CorpusEncoderSettings(WordSettings):
    """Settings of the words used, and the random seed."""

    seed: int = Field(1, ge=0, description="random seed; the same texts and seed give the same model")


class CorpusEncoder(Encoder):
    """An encoder of the words in its vocabulary; scores are cosines."""

    Settings: ClassVar[type[CorpusEncoderSettings]] = CorpusEncoderSettings
    array_names: ClassVar[tuple[str, ...]] = ()
    """The names of the trained arrays."""

    def __init__(
        self, settings: CorpusEncoderSettings, words: WordFeatures | None = None, arrays: Arrays | None = None
    ) -> None:
        self.settings = settings
        self.words = words
        self.trained_arrays = arrays or {}
        self._fingerprint = ""

    @abstractmethod
    def train_arrays(self, texts: TokenisedTexts, words: WordFeatures) -> Arrays:
        """Train a gensim model on texts and return its arrays by name."""

    @abstractmethod
    def infer_vectors(self, values: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of texts, (texts, dim): text n has the words `values[starts[n] : starts[n + 1]]`."""

    @classmethod
    def registered_name(cls) -> str:
        """Return the encoder's registered name."""
        return cls.__module__.rpartition(".")[2]

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """Return an untrained encoder. Raises SettingsError for an unknown setting."""
        return cls(validate_settings(cls.Settings, values, cls.registered_name()))

    @classmethod
    def open(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """Open the trained encoder in a folder. Its settings are fixed: `values` must be empty. Raises InputError."""
        if values:
            raise SettingsError(f"{folder.name}: {', '.join(values)}: a trained model's own settings are fixed")
        model = read_model_file(folder)
        name = cls.registered_name()
        settings = validate_settings(cls.Settings, model.get(name, {}), f"{folder / MODEL_FILE}: {name}")
        words = WordFeatures.load(settings, folder)
        arrays = {name: _read_array(folder / f"{name}.npy") for name in cls.array_names}
        encoder = cls(settings, words, arrays)
        if any(array.shape[-1] != len(words.tokens) for array in arrays.values()):
            raise InputError(f"{folder}: arrays and vocabulary belong to different models; train it again")
        encoder._fingerprint = _compute_digest((folder / MODEL_FILE).read_bytes(), arrays)
        encoder.trained_until = model.get("trained", {}).get("trained_until")
        return encoder

    @property
    def values(self) -> Mapping[str, Any]:
        """See Encoder.values; a trained encoder has none."""
        return {} if self.words else self.settings.model_dump()

    @property
    def fingerprint(self) -> str:
        """See Encoder.fingerprint."""
        self._require_vocabulary()
        return self._fingerprint

    def fit(self, view: TrainingView) -> Self:
        """Train on the view's texts; the model is saved in the archive, named by the settings and the view."""
        if self.words:
            return self
        run = json.dumps([self.settings.model_dump(), view.change, view.kind, view.before, view.group])
        name = f"{self.registered_name()}-{hashlib.sha256(run.encode()).hexdigest()[:12]}"
        folder = view.path / "models" / name
        if not (folder / MODEL_FILE).exists():
            self.train(view, folder)
        return self.open(folder, {})

    def train(self, view: View, folder: Path, log: Callable[[str], None] = lambda line: None) -> None:
        """Train on the view's texts and write a model to `folder`, atomically. Raises TrainingError."""
        words = WordFeatures.from_texts(self.settings, _iterate_texts(view))
        if not words.vocabulary.text_counts[RESERVED:]:
            problem = (
                f"no word is in min_texts={self.settings.min_texts} or more; train on more texts, or set min_texts=1"
            )
            raise TrainingError(f"{self.registered_name()}: {problem}")
        log(f"texts: {len(view):,}, words: {len(words.tokens) - RESERVED:,}")

        def texts() -> Iterator[list[str]]:
            ids = words.vocabulary.ids
            return ([word for word in words.split_words(text) if word in ids] for text in _iterate_texts(view))

        self._save_model(view, folder, words, self.train_arrays(texts, words))

    def encode_queries(self, texts: Sequence[Text]) -> Vectors:
        """Return the vectors of n texts, the same for documents. A text without known words gets zeros."""
        rows = self._require_vocabulary().encode(texts)
        known = rows.values >= RESERVED
        starts = np.concatenate(([0], np.cumsum(known)))[rows.starts]
        return Vectors((VectorPart(self.infer_vectors(rows.values[known], starts), "cosine"),))

    def _save_model(self, view: View, folder: Path, words: WordFeatures, arrays: Arrays) -> None:
        name = self.registered_name()
        with write_text_model(folder, name, {name: self.settings.model_dump()}, view) as new:
            words.save(new)
            for array_name, array in arrays.items():
                np.save(new / f"{array_name}.npy", array)

    def _require_vocabulary(self) -> WordFeatures:
        if self.words is None:
            name = self.registered_name()
            raise NotFittedError(f"{name}: not trained yet; train it (askalike train), or call fit(view)")
        return self.words


def _iterate_texts(view: View) -> Iterator[Text]:
    yield from (question for _, question in view.questions())
    if view.kind == "answers":
        yield from (answer for _, answer in view.answers())


def _read_array(path: Path) -> Array:
    try:
        return np.load(path, allow_pickle=False)  # type: ignore[no-any-return]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the array cannot be read ({error}); train the model again") from None


def _compute_digest(description: bytes, arrays: Arrays) -> str:
    digest = hashlib.sha256(description)
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
