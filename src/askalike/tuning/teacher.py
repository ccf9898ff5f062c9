"""The pre-trained encoder of a run, which is loaded once and encodes each text once."""

import shutil
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from askalike.encoders import Encoder, VectorCache, build
from askalike.store import View, sample_questions
from askalike.tuning.candidates import PRETRAINED_RANKER
from askalike.tuning.state import TuningState
from askalike.types import Question

if TYPE_CHECKING:
    from askalike.encoders.pretrained import PretrainedEncoder

PROBE_QUESTIONS = 32
"""The number of questions that measure its speed."""
BF16_MIN_SPEEDUP = 1.3
"""bf16 is used where float32 takes so many times as much processor time."""
MAX_WORDS = 200
"""Words of a text that count for its length: most models cut off the rest."""
MEMORY_FOLDER = "encoded"


class Teacher:
    """A pre-trained encoder by its folder or package, as the ranker `pretrained` takes it."""

    def __init__(self, model: str, view: View, state: TuningState) -> None:
        self.model, self._view, self._state = model, view, state
        self._folder = state.folder / MEMORY_FOLDER
        self._words_per_s = 0.0

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Its settings as a ranker: the model, and bf16 where that is faster, which is measured once an archive."""
        if (settings := self._state.read_note(self.model)) is None:
            plain: dict[str, Any] = {"model": self.model}
            half = {**plain, "precision": "bf16"}
            settings = half if self._encoding_cpu_s(plain) > BF16_MIN_SPEEDUP * self._encoding_cpu_s(half) else plain
            self._state.write_note(self.model, settings)
        return dict(settings)

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder, with a memory on disk of what it has encoded."""
        encoder = cast("PretrainedEncoder", self._load_encoder(self.settings))
        started = time.monotonic()
        encoder.encode(self._probes, "document")
        self._words_per_s = sum(map(count_words, self._probes)) / (time.monotonic() - started)
        encoder.cache = VectorCache(self._folder, encoder.fingerprint)
        return encoder

    @property
    def words_per_s(self) -> float:
        """The words of the archive's questions that it encodes a second; measured when it is loaded."""
        return self._words_per_s if self.encoder else 0.0

    def share_encoder(self, ranker: Any) -> None:
        """Give this encoder to a ranker, and to parts of it, that use the same model."""
        if ranker.name == PRETRAINED_RANKER and ranker.encoder.fingerprint == self.encoder.fingerprint:
            ranker.encoder = self.encoder
        for part in getattr(ranker, "parts", ()):
            self.share_encoder(part)

    def clear_memory(self) -> None:
        """Remove what it has encoded from the disk."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @cached_property
    def _probes(self) -> Sequence[Question]:
        return list(islice(sample_questions(self._view, PROBE_QUESTIONS, 0), PROBE_QUESTIONS))

    def _encoding_cpu_s(self, settings: Mapping[str, Any]) -> float:
        encoder, started = self._load_encoder(settings), time.process_time()
        encoder.encode(self._probes, "document")
        return time.process_time() - started

    def _load_encoder(self, settings: Mapping[str, Any]) -> Encoder:
        """Return the encoder after a first text, which takes longer than others."""
        encoder = build(PRETRAINED_RANKER, settings)
        encoder.encode(self._probes[:1], "document")
        return encoder


def count_words(question: Question) -> int:
    """Return about how many words of a question an encoder reads."""
    return min(len(question.title.split()) + len(question.body.split()), MAX_WORDS)
