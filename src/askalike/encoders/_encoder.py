"""What every encoder does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, Self

from askalike.store.view import View
from askalike.types import Answer, Question, Vectors

Role = Literal["query", "document"]


class Encoder(Protocol):
    """Turns texts into vectors whose scores say how alike they are.

    A text's vectors depend on that text alone, not on the others it is encoded with.
    """

    @classmethod
    def from_settings(cls, values: Mapping[str, Any]) -> Self:
        """The built-in encoder with these settings. Raises SettingsError for what is not known or not installed."""

    @classmethod
    def open(cls, folder: Path, values: Mapping[str, Any]) -> Self:
        """The trained encoder in a folder of `models/`. Raises InputError for what cannot be read."""

    @property
    def fingerprint(self) -> str:
        """Of everything that decides about vectors: an index refuses those of another one."""

    @property
    def values(self) -> Mapping[str, Any]:
        """The settings that may be chosen when it is used, the defaults too."""

    def fit(self, view: View) -> Self:
        """Learns from the view's texts. An encoder that has nothing to learn returns itself at once."""

    def encode(self, texts: Sequence[Question | Answer], role: Role) -> Vectors:
        """The vectors of n texts: one row each, in every part. A text without a word gets zeros."""
