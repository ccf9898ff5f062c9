"""The pre-trained encoder of a run: loaded once, as fast as this machine can, asked about each text once."""

import shutil
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from askalike.archive.sample import sampled_questions
from askalike.archive.view import View
from askalike.encoders import Encoder, build
from askalike.encoders._memory import Memory
from askalike.tune.candidates import ENCODER
from askalike.tune.state import State
from askalike.types import Question

PROBES = 32
"""So many questions tell how fast it is."""
FASTER = 1.3
"""bf16 is used where it takes so many times less of the processor."""
LONGEST = 200
"""Words; what comes after is cut off by most models."""
MEMORY = "encoded"


class Teacher:
    """A pre-trained encoder by its folder or package, as `pretrained` takes it."""

    def __init__(self, model: str, view: View, state: State) -> None:
        self.model, self._view, self._state = model, view, state
        self._folder = state.folder / MEMORY
        self._words_per_s = 0.0

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Its settings as a ranker: the model, and bf16 where that is faster, which is found out once."""
        if (known := self._state.noted(self.model)) is None:
            plain: dict[str, Any] = {"model": self.model}
            half = {**plain, "precision": "bf16"}
            known = half if self._processor_s(plain) > FASTER * self._processor_s(half) else plain
            self._state.note(self.model, known)
        return dict(known)

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder, which remembers what it has encoded."""
        made: Any = self._loaded(self.settings)
        started = time.monotonic()
        made.encode(self._probes, "document")
        self._words_per_s = sum(map(words, self._probes)) / (time.monotonic() - started)
        made.memory = Memory(self._folder, made.fingerprint)
        return made  # type: ignore[no-any-return]

    @property
    def words_per_s(self) -> float:
        """How many words of the archive's questions it reads a second; measured when it is loaded."""
        return self._words_per_s if self.encoder else 0.0

    def lend(self, ranker: Any) -> None:
        """Lets a ranker, or a part of it, that uses the same model use this encoder."""
        if ranker.name == ENCODER and ranker.encoder.fingerprint == self.encoder.fingerprint:
            ranker.encoder = self.encoder
        for part in getattr(ranker, "parts", ()):
            self.lend(part)

    def forget(self) -> None:
        """Removes what it has encoded."""
        shutil.rmtree(self._folder, ignore_errors=True)

    @cached_property
    def _probes(self) -> Sequence[Question]:
        return list(islice(sampled_questions(self._view, PROBES, 0), PROBES))

    def _processor_s(self, settings: Mapping[str, Any]) -> float:
        encoder, started = self._loaded(settings), time.process_time()
        encoder.encode(self._probes, "document")
        return time.process_time() - started

    def _loaded(self, settings: Mapping[str, Any]) -> Encoder:
        """The encoder, ready: the first text takes longer."""
        encoder = build(ENCODER, settings)
        encoder.encode(self._probes[:1], "document")
        return encoder


def words(question: Question) -> int:
    """How many words of a question an encoder reads, about."""
    return min(len(question.title.split()) + len(question.body.split()), LONGEST)
