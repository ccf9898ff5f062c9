"""Encoders that learn from an archive's texts alone, without a pair: what those by gensim have in common.

A trained one lies in `models/<name>/`: model.toml with a table of its name, vocabulary.txt, and an array a file (.npy).
"""

import hashlib
import json
import os
import shutil
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike import config
from askalike.encoders import MODEL_FILE
from askalike.encoders._provenance import CARD_FILE, find_latest_date, render_text_model_card
from askalike.encoders._recipe import format_toml
from askalike.errors import InputError, NotFittedError, SettingsError, TrainingError
from askalike.store.view import View
from askalike.text.features._features import Text
from askalike.text.features.words import WordFeatures, WordSettings
from askalike.types import RESERVED, VectorPart, Vectors

Array = NDArray[Any]
Arrays = Mapping[str, Array]
TokenisedTexts = Callable[[], Iterator[list[str]]]
"""An archive's texts as the words that are known of them, as often as asked."""


class CorpusEncoderSettings(WordSettings):
    """Which words are read, and the seed of all chance."""

    seed: int = Field(1, ge=0, description="the same texts and seed give the same model")


class CorpusEncoder(ABC):
    """An encoder of words that are known; scores are cosines."""

    Settings: ClassVar[type[CorpusEncoderSettings]] = CorpusEncoderSettings
    array_names: ClassVar[tuple[str, ...]] = ()
    """The names of the arrays that it keeps."""

    def __init__(
        self, settings: CorpusEncoderSettings, words: WordFeatures | None = None, arrays: Arrays | None = None
    ) -> None:
        self.settings = settings
        self.words = words
        self.trained_arrays = arrays or {}
        self.trained_until: str | None = None
        """The date of the latest text that it may have learned from."""
        self._fingerprint = ""

    @abstractmethod
    def train_arrays(self, texts: TokenisedTexts, words: WordFeatures) -> Arrays:
        """The arrays that these texts teach, by name. Reads gensim's models; keeps none."""

    @abstractmethod
    def infer_vectors(self, values: NDArray[np.int32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors of texts, (texts, dim): text n has the words `values[starts[n] : starts[n + 1]]`."""

    @classmethod
    def registered_name(cls) -> str:
        """Its registered name."""
        return cls.__module__.rpartition(".")[2]

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """An untrained one. Raises SettingsError for what is not known."""
        return cls(config.validate_settings(cls.Settings, values, cls.registered_name()))

    @classmethod
    def open(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """The trained one in a folder. Its settings are fixed: `values` must be empty. Raises InputError."""
        if values:
            raise SettingsError(f"{folder.name}: {', '.join(values)}: a trained model's own settings are fixed")
        text = (folder / MODEL_FILE).read_text(encoding="utf-8")
        described = tomllib.loads(text)
        settings = config.validate_settings(
            cls.Settings, described.get(cls.registered_name(), {}), f"{folder / MODEL_FILE}: {cls.registered_name()}"
        )
        words = WordFeatures.load(settings, folder)
        arrays = {name: _read_array(folder / f"{name}.npy") for name in cls.array_names}
        made = cls(settings, words, arrays)
        if any(array.shape[-1] != len(words.tokens) for array in arrays.values()):
            raise InputError(f"{folder}: arrays and vocabulary are not of one model; train it again")
        made._fingerprint = _compute_digest(text, arrays)
        made.trained_until = described.get("trained", {}).get("knows_until")
        return made

    @property
    def values(self) -> Mapping[str, Any]:
        """See Encoder.values: of a trained one there are none."""
        return {} if self.words else self.settings.model_dump()

    @property
    def fingerprint(self) -> str:
        """Of everything that decides about vectors."""
        self._require_vocabulary()
        return self._fingerprint

    def fit(self, view: View) -> Self:
        """Learns from the view's texts, in the archive's `models/` under a name that the settings decide."""
        if self.words:
            return self
        run = json.dumps([self.settings.model_dump(), view.change, view.kind, view.before, view.group])
        name = f"{self.registered_name()}-{hashlib.sha256(run.encode()).hexdigest()[:12]}"
        folder = Path(view.archive) / "models" / name
        if not (folder / MODEL_FILE).exists():
            self.train(view, folder)
        return self.open(folder, {})

    def train(self, view: View, folder: Path, log: Callable[[str], None] = lambda line: None) -> None:
        """Learns from the view's questions, and its answers where it is of these; leaves a model in `folder`.

        The model is whole or not there at all. Raises TrainingError.
        """
        words = WordFeatures.from_texts(self.settings, _iterate_texts(view))
        if not words.vocabulary.text_counts[RESERVED:]:
            raise TrainingError(
                f"{self.registered_name()}: no word is in {self.settings.min_texts} texts; train on more, or set min_texts=1"
            )
        log(f"{len(view)} texts, {len(words.tokens) - RESERVED} words")

        def texts() -> Iterator[list[str]]:
            known = words.vocabulary.ids
            return ([w for w in words.split_words(text) if w in known] for text in _iterate_texts(view))

        self._save_model(view, folder, words, self.train_arrays(texts, words))

    def encode(self, texts: Sequence[Text], role: Literal["query", "document"]) -> Vectors:
        """The vectors of n texts, queries and documents alike. A text without a known word gets zeros."""
        rows = self._require_vocabulary().encode(texts)
        known = rows.values >= RESERVED
        starts = np.concatenate(([0], np.cumsum(known)))[rows.starts]
        return Vectors((VectorPart(self.infer_vectors(rows.values[known], starts), "cosine"),))

    def _save_model(self, view: View, folder: Path, words: WordFeatures, arrays: Arrays) -> None:
        made = folder.with_name(f".made-{folder.name}")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        words.save(made)
        for name, array in arrays.items():
            np.save(made / f"{name}.npy", array)
        trained = {"texts": len(view), "change": view.change, "knows_until": find_latest_date(view)}
        tables = {self.registered_name(): self.settings.model_dump(), "trained": trained}
        (made / CARD_FILE).write_text(
            render_text_model_card(folder.name, self.registered_name(), view), encoding="utf-8"
        )
        (made / MODEL_FILE).write_text(
            f'encoder = "{self.registered_name()}"\n\n{format_toml(tables)}', encoding="utf-8"
        )
        os.replace(made, folder)

    def _require_vocabulary(self) -> WordFeatures:
        if self.words is None:
            name = self.registered_name()
            raise NotFittedError(f"{name}: nothing is learned yet; train it (askalike train), or call fit(view)")
        return self.words


def _iterate_texts(view: View) -> Iterator[Text]:
    yield from (question for _, question in view.questions())
    if view.kind == "answers":
        yield from (answer for _, answer in view.answers())


def _read_array(path: Path) -> Array:
    try:
        return np.load(path, allow_pickle=False)  # type: ignore[no-any-return]
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not an array that can be read ({error}); train the model again") from None


def _compute_digest(text: str, arrays: Arrays) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()
