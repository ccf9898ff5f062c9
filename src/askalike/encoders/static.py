"""A weighted sum of learned vectors of subwords, words and pairs of words: fast, and served with numpy alone.

Without training it is the mean of packaged subword vectors (extra `vectors`: the wheel of WordLlama, MIT, whose two
files are read as they are). A trained one lies in `models/<name>/`:

    model.toml            encoder = "static", and the table [static] with the settings below
    static.safetensors    vectors (rows, dim) float16 or float32; weights (rows) float32: what each row counts
    tokenizer.json        the subwords' vocabulary and merges, where there are subword rows

Rows are those of `_features.py`. A text's vector is the sum of weight · vector over its rows; the score is the cosine.
"""

import hashlib
import importlib.metadata
import importlib.util
import json
import shutil
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike import config
from askalike.archive.view import View
from askalike.encoders._bpe import Bpe
from askalike.encoders._encoder import Role
from askalike.encoders._features import WORD, Features, Sizes, pooled
from askalike.errors import InputError, SettingsError
from askalike.text.clean import plain_text
from askalike.types import Answer, Markup, Part, Question, Vectors

PACKAGE = "wordllama"
PACKAGED = ("weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json")
WEIGHTS, TOKENIZER = "static.safetensors", "tokenizer.json"
LEAST = 0.35  # cosine of packaged vectors: on small desks, questions about something else stay below it
MISSING = "static: the packaged vectors are not installed: pip install 'askalike[vectors]'"


class TextSettings(config.Settings):
    """What becomes of a text before it is looked up."""

    code: Literal["drop", "keep"] = Field("drop", description="whether code counts")
    links: Literal["token", "keep"] = Field("token", description="whether a link counts as one word, or as its parts")
    longest: int = Field(
        128, ge=1, description="how many words of a text are looked up: its beginning says what it asks"
    )
    lower_case: bool = Field(False, description="whether subwords are looked up in lower case")


class StaticSettings(TextSettings):
    """That, and how many rows there are of each kind."""

    subwords: int = Field(0, ge=0, description="rows of the tokenizer's vocabulary")
    words: int = Field(0, ge=0, description="rows of hashed words")
    bigrams: int = Field(0, ge=0, description="rows of hashed pairs of words")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text, where it stands, and the sum of its rows."""

    start: int
    end: int
    vector: NDArray[np.float32]


class Static:
    """The static encoder. vectors: (rows, dim). weights: (rows)."""

    def __init__(
        self,
        settings: StaticSettings,
        vectors: NDArray[Any],
        weights: NDArray[Any],
        bpe: Bpe | None,
        fingerprint: str,
        least: float | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        sizes = Sizes(settings.subwords, settings.words, settings.bigrams)
        if len(vectors) != sizes.rows or len(weights) != sizes.rows or len(bpe or ()) > max(sizes.subwords, 0):
            raise InputError(
                f"static: {sizes.rows} rows expected, found {len(vectors)} vectors, {len(weights)} weights"
            )
        self.settings = settings
        self.least = least
        """The score below which texts are taken to be about something else; None where nobody has looked."""
        self.values = values or {}
        """See Encoder.values; a trained one's are fixed."""
        self.features = Features(sizes, bpe, settings.lower_case)
        """Texts → rows, for those who train."""
        self._vectors = np.ascontiguousarray(vectors, np.float32)
        self._weights = np.ascontiguousarray(weights, np.float32)
        described = json.dumps([settings.model_dump(), fingerprint, 1], sort_keys=True)
        self.fingerprint = hashlib.sha256(described.encode()).hexdigest()

    @classmethod
    def named(cls, values: Mapping[str, Any]) -> Self:
        """The mean of packaged subword vectors. Raises SettingsError where the extra `vectors` is not installed."""
        text = config.validated(TextSettings, values, "static")
        weights, tokenizer = packaged()
        vectors = _tensors(weights)["embedding.weight"]
        bpe = Bpe.read(tokenizer)
        settings = StaticSettings(**text.model_dump(), subwords=len(vectors))
        origin = f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"
        return cls(settings, vectors, np.ones(len(vectors), np.float32), bpe, origin, LEAST, text.model_dump())

    @classmethod
    def opened(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """The trained encoder in a folder. Its settings are fixed: `values` must be empty."""
        described = tomllib.loads((folder / "model.toml").read_text(encoding="utf-8"))
        if values:
            raise SettingsError(f"{folder.name}: {', '.join(values)}: a trained model's own settings are fixed")
        settings = config.validated(StaticSettings, described.get("static", {}), f"{folder / 'model.toml'}: static")
        tensors = _tensors(folder / WEIGHTS)
        bpe = Bpe.read(folder / TOKENIZER) if settings.subwords else None
        with open(folder / WEIGHTS, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        try:
            return cls(settings, tensors["vectors"], tensors["weights"], bpe, digest)
        except KeyError as missing:
            raise InputError(f"{folder / WEIGHTS}: no tensor {missing}; expected vectors and weights") from None

    def fit(self, view: View) -> Self:
        """Nothing is learned here: returns itself."""
        return self

    def encode(self, texts: Sequence[Question | Answer], role: Role) -> Vectors:
        """The weighted sum of each text's rows; queries and documents alike."""
        rows, offsets = self.features([self.text(t) for t in texts])
        return Vectors((Part(pooled(rows, offsets, self._vectors, self._weights), "cosine"),))

    def text(self, text: Question | Answer) -> str:
        """What of a question or an answer is looked up: the beginning of title and body, plain; "" without a word."""
        texts = [] if isinstance(text, Answer) else [self._plain(text.title, "text")]
        if text.body:
            texts.append(self._plain(text.body, text.markup))
        words = " ".join(texts).split(maxsplit=self.settings.longest)[: self.settings.longest]
        return " ".join(words) if any(map(WORD.search, words)) else ""

    def _plain(self, text: str, markup: Markup) -> str:
        return plain_text(text, markup, code=self.settings.code, links=self.settings.links)

    def words(self, text: str) -> list[Word]:
        """The words of a plain text with what each adds, those of no weight left out; their sum is the text's vector.

        A pair of words counts for its second one.
        """
        found, at, before = [], 0, ""
        for piece in text.split():
            start = text.index(piece, at)
            at = start + len(piece)
            rows, offsets = self.features([f"{before} {piece}".strip(), before])
            both = pooled(rows, offsets, self._vectors, self._weights)
            found.append(Word(start, at, both[0] - both[1]))
            before = piece
        return found


def packaged() -> tuple[Path, Path]:
    """The packaged vectors' two files: weights and tokenizer. Raises SettingsError where they are not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.origin:
        raise SettingsError(MISSING)
    weights, tokenizer = (Path(spec.origin).parent / file for file in PACKAGED)
    if not (weights.exists() and tokenizer.exists()):
        raise SettingsError(f"{MISSING} (the {PACKAGE} that is installed does not carry them)")
    return weights, tokenizer


def save(folder: Path, settings: StaticSettings, vectors: NDArray[Any], weights: NDArray[Any], tokenizer: Path) -> None:
    """Writes a trained encoder's weights and tokenizer; model.toml, with the settings as [static], is the trainer's."""
    from safetensors.numpy import save_file

    save_file({"vectors": vectors, "weights": weights.astype(np.float32)}, folder / WEIGHTS)
    if settings.subwords:
        shutil.copyfile(tokenizer, folder / TOKENIZER)


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: not weights that can be read ({error})") from None
