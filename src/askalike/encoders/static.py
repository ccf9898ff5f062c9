"""A weighted sum of learned vectors of subwords, words and pairs of words: fast, and needs only numpy.

Without training it is the mean of packaged subword vectors (the wheel of WordLlama, MIT, whose two
files are read unchanged). A trained one is in `models/<name>/`:

    model.toml            encoder = "static", and the table [static] with the settings below
    static.safetensors    vectors (rows, dim) float16 or float32; weights (rows) float32
    tokenizer.json        the subwords' vocabulary and merges, if there are subword rows

For the rows see `text/features/hashed_ngrams.py`. A text's vector is the sum of weight · vector over its rows. Scores
are cosines. In texts that are not in English, packaged vectors skip function words: "Wie storniere ich?" would
otherwise be more like "Wie kündige ich?" than like any text on cancelling.
"""

import hashlib
import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np

from askalike.core import config
from askalike.core.arrays import Array, Floats16, Floats32, Ints, Ints32, VectorPart, Vectors
from askalike.core.errors import InputError, SettingsError
from askalike.core.files import tensor_errors
from askalike.core.model_folders import LearnedLabels
from askalike.core.records import Answer, Question
from askalike.core.values import format_count
from askalike.encoders import MODEL_FILE, Encoder, LookupTable, TextWords, read_model_file
from askalike.text.features import RESERVED
from askalike.text.features.hashed_ngrams import (
    TOKENIZER_FILE,
    HashedNgramFeatures,
    HashedNgramSettings,
    PlainTextSettings,
    WeightedRows,
)
from askalike.text.language import STOP_WORD_LANGUAGES, stop_words
from askalike.text.subwords import VECTORS_PACKAGE, Bpe, find_packaged_vectors

WEIGHTS_FILE = "static.safetensors"
PACKAGED_LANGUAGES = ("en",)
"""The languages that the packaged vectors know: their subwords are parts of English words."""
DEFAULT_MIN_SCORE = 0.35
"""The cosine of packaged vectors below which questions are off topic, measured on small archives."""


class StaticEncoderSettings(HashedNgramSettings):
    """Settings of the cleaning of texts before lookup, and the number of rows of each kind."""


class StaticEncoder(Encoder):
    """Adds up weighted rows. vectors: (rows, dim). weights: (rows,)."""

    compares_fields = True

    def __init__(
        self,
        settings: StaticEncoderSettings,
        vectors: Array,
        weights: Array,
        bpe: Bpe | None,
        fingerprint: str,
        min_score: float | None = None,
        values: Mapping[str, Any] | None = None,
        languages: Sequence[str] | None = None,
    ) -> None:
        """languages: those that the vectors know; None for all. In others, function words weigh nothing."""
        rows = settings.row_counts.total
        if len(vectors) != rows or len(weights) != rows:
            raise InputError(
                f"static: {format_count(rows, 'row')} expected, found {len(vectors)} vectors, {len(weights)} weights"
            )
        self.settings = settings
        self.min_score = min_score
        self._values = values or {}
        self.languages = languages
        self.ngrams = HashedNgramFeatures(settings, bpe, skips_function_words=languages is not None)
        self.vectors = np.ascontiguousarray(vectors, np.float16 if vectors.dtype == np.float16 else np.float32)
        self.weights = np.ascontiguousarray(weights, np.float32)
        self._matrix = WeightedRows.of_vectors(self.vectors, self.weights)
        described = json.dumps([settings.model_dump(), fingerprint, 1, *(languages or ())], sort_keys=True)
        self._fingerprint = hashlib.sha256(described.encode()).hexdigest()

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """Return the mean of packaged vectors."""
        text = config.validate_settings(PlainTextSettings, values, "static")
        path, tokenizer = find_packaged_vectors()
        vectors = _load_tensors(path)["embedding.weight"]
        bpe = Bpe(tokenizer)
        settings = StaticEncoderSettings(**text.model_dump(), subwords=len(vectors))
        origin = f"{VECTORS_PACKAGE} {importlib.metadata.version(VECTORS_PACKAGE)}"
        weights = np.ones(len(vectors), np.float32)
        return cls(settings, vectors, weights, bpe, origin, DEFAULT_MIN_SCORE, text.model_dump(), PACKAGED_LANGUAGES)

    @classmethod
    def open(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """Open the trained encoder in a folder. Its settings are fixed: `values` must be empty. Raises InputError."""
        model = read_model_file(folder)
        if values:
            raise SettingsError(f"{folder.name}: {', '.join(values)}: a trained model's own settings are fixed")
        where = f"{folder / MODEL_FILE}: static"
        settings = config.validate_settings(StaticEncoderSettings, model.get("static", {}), where)
        tensors = _load_tensors(folder / WEIGHTS_FILE)
        bpe = Bpe.from_file(folder / TOKENIZER_FILE) if settings.subwords else None
        if bpe and len(bpe) > settings.subwords:
            raise InputError(f"{where}: {settings.subwords} subwords expected, {TOKENIZER_FILE} has {len(bpe)}")
        with open(folder / WEIGHTS_FILE, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        try:
            encoder = cls(settings, tensors["vectors"], tensors["weights"], bpe, digest)
        except KeyError as missing:
            raise InputError(f"{folder / WEIGHTS_FILE}: no tensor {missing}; expected vectors and weights") from None
        encoder.trained_until = model.get("trained", {}).get("trained_until")
        encoder.learned_labels = LearnedLabels.read(folder)
        return encoder

    @property
    def fingerprint(self) -> str:
        """See Encoder.fingerprint."""
        return self._fingerprint

    @property
    def values(self) -> Mapping[str, Any]:
        """See Encoder.values; a trained encoder has none."""
        return self._values

    @property
    def lookup(self) -> LookupTable:
        settings, counts = self.settings, self.settings.row_counts
        subwords = self.ngrams.tokens[RESERVED : RESERVED + counts.subwords]
        skipped = [] if self.languages is None else list(map(stop_words, STOP_WORD_LANGUAGES))
        how = settings.longest, settings.lower_case, skipped, True, self._read
        return LookupTable(self.vectors, self.weights, counts, subwords, *how)

    def _read(self, texts: Sequence[Question | Answer]) -> tuple[Ints32, Ints]:
        return self.ngrams.lookup(list(map(self.ngrams.extract_text, texts)))

    def encode_queries(self, texts: Sequence[Question | Answer]) -> Vectors:
        """Return the weighted sum of each text's rows, the same for documents."""
        rows, offsets = self._read(texts)
        return Vectors((VectorPart(self._matrix.sum(rows, offsets[:-1], offsets[1:]), "cosine"),))

    def text(self, text: Question | Answer) -> str:
        """Return the plain text that is looked up: the beginning of title and body; "" if there are no words."""
        return self.ngrams.extract_text(text)

    def words(self, texts: Sequence[str]) -> TextWords:
        """Return plain texts' words with their contributions; a pair of words counts as part of its second word."""
        if self.settings.bigrams:
            split = [text.split() for text in texts]
            return TextWords.in_context(split, self._sum_pairs(split))
        return TextWords(*self.ngrams.lookup.look_up_words(texts), self._matrix)

    def _sum_pairs(self, words: Sequence[Sequence[str]]) -> Floats32:
        """Return each word's contribution after the previous one: the pair's rows without those of that word."""
        keys = [pair for own in words for pair in pairwise(["", *own])]
        pairs = [f"{before} {word}".strip() for before, word in keys]
        rows, offsets = self.ngrams.lookup([*pairs, *(before for before, _ in keys if before)])
        sums = self._matrix.sum(rows, offsets[:-1], offsets[1:])
        vectors = sums[: len(keys)]
        followers = [n for n, (before, _) in enumerate(keys) if before]
        vectors[followers] -= sums[len(keys) :]
        return vectors


def save_static_vectors(folder: Path, vectors: Floats16, weights: Floats32) -> None:
    """Write the vectors (rows, dim) and weights (rows,) of a static encoder's rows to a model's folder."""
    from safetensors.numpy import save_file

    with tensor_errors():
        save_file({"vectors": vectors, "weights": weights}, folder / WEIGHTS_FILE)


def _load_tensors(path: Path) -> dict[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: the weights cannot be read ({error})") from None
