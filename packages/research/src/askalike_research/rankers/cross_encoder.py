"""Ranks with a cross-encoder: a transformer that reads query and document as one text.

It re-ranks given candidates, or another ranker's: `--ranker cascade --set parts=hybrid,cross_encoder`. The folder is
that of a sentence-transformers CrossEncoder with one label and BERT architecture (extra `onnx`).
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field

from askalike import Answer, Question, Settings, validate_settings
from askalike.plugin.exports import Floats32, plain_text
from askalike.plugin.rankers import CodeRule, PairwiseRanker, find_cross_encoder


class CrossEncoderSettings(Settings):
    """The model, and the settings of its use."""

    encoder: str = Field("", description="the model's folder, or an installed package that contains the model")
    fields: Literal["title", "body", "text"] = Field("text", description="the fields that are read (text: both)")
    code: CodeRule = Field("drop", description="whether code is read")
    precision: Annotated[Literal["8", "32"], BeforeValidator(str)] = Field("8", description="number of bits per weight")
    rephrasings: bool = Field(
        True, description="accepted in hybrids and cascades without effect: rephrasings are not read"
    )


class CrossEncoderScorer:
    """Scores pairs with a cross-encoder: the probability of its only label, from 0 to 1."""

    def __init__(self, settings: CrossEncoderSettings) -> None:
        self.settings, self.folder = settings, find_cross_encoder(settings.encoder, "cross_encoder.encoder")

    @property
    def values(self) -> Mapping[str, Any]:
        """See PairScorer.values."""
        return self.settings.model_dump()

    @property
    def fingerprint(self) -> str:
        """A digest of the model's configuration, and of the size and the last bytes of its weights."""
        digest = hashlib.sha256((self.folder / "config.json").read_bytes())
        for path in sorted(self.folder.glob("*.safetensors")):
            with open(path, "rb") as file:
                file.seek(max(0, path.stat().st_size - (1 << 20)))
                digest.update(f"{path.stat().st_size}".encode() + file.read())
        return digest.hexdigest()

    def score(self, query: Question, documents: Sequence[Question | Answer]) -> Floats32:
        """See PairScorer.score."""
        text = self._text(query)
        scores: Floats32 = self._model.score([(text, self._text(document)) for document in documents])
        return scores

    def _text(self, text: Question | Answer) -> str:
        body = plain_text(text.body, text.markup, code=self.settings.code) if self.settings.fields != "title" else ""
        if isinstance(text, Answer):
            return body
        return f"{plain_text(text.title, 'text') if self.settings.fields != 'body' else ''} {body}".strip()

    @cached_property
    def _model(self) -> Any:
        """The model, opened on first use. Raises SettingsError if the extra is not installed, InputError."""
        from askalike_research.rankers.pair_model import OnnxPairModel

        return OnnxPairModel(self.folder, 8 if self.settings.precision == "8" else 32)


class CrossEncoderRanker(PairwiseRanker):
    """Ranking of candidates with a cross-encoder."""

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:  # type: ignore[override]
        """See Ranker.from_settings. Raises SettingsError if the model is not on this machine."""
        return cls(CrossEncoderScorer(validate_settings(CrossEncoderSettings, values, name)), name)
