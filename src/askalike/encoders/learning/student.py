"""Distils a transformer into some of its layers, on an archive's texts without labels.

A student is initialised with layers of its teacher. Each token's last state is trained to approximate the teacher's
(Jiao et al. 2020, TinyBERT, eq. 8), and the mean of a text's states to have the teacher's direction. The mean over
texts is subtracted from the teacher's states, as it carries no information.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from askalike.core.counts import format_count
from askalike.core.errors import SettingsError, TrainingError
from askalike.core.types import LogCallback
from askalike.encoders.learning.student_network import StudentNetwork, save_student
from askalike.encoders.onnx.architectures import Transformer
from askalike.encoders.onnx.model import OnnxModel, batches_of_equal_length
from askalike.encoders.onnx.modules import read_json, read_steps
from askalike.encoders.onnx.weights import map_tensors
from askalike.encoders.pretrained import PretrainedEncoder
from askalike.text.features import Text
from askalike.training import checkpoint

GROUP_SIZE = 64
"""Number of texts of equal length (in tokens) that are computed together."""
STEP_SIZE = 256
"""Number of texts, of different lengths, per optimizer step."""
SAMPLE_SIZE = 2_000
"""Number of texts whose mean is subtracted."""
LOGGED_TEXTS = 1 << 14
"""Number of texts between log lines."""
MAX_TOKENS = 128
"""Maximum number of tokens used of a text."""
LEARNING_RATE = 5e-4
WARM_UP = 0.05
"""Share of the training in which the learning rate increases; then it decreases to 0."""
MAX_NORM = 1.0

Groups = list[list[int]]


class Student:
    """Some layers of a teacher, and their training texts. partial: the folder of checkpoints.

    Raises SettingsError for a teacher with fewer layers, or whose vectors are not the means of its tokens' states, and
    TrainingError if no text has words.
    """

    def __init__(
        self, teacher: PretrainedEncoder, layers: int, texts: Sequence[Text], seed: int, partial: Path, log: LogCallback
    ) -> None:
        self._place, _ = read_steps(teacher.folder)
        self._network = _cut_layers(self._place, layers)
        self._teacher = _require_mean_of_tokens(teacher)
        self._seed, self._partial, self._log = seed, partial, log
        self._prompt = teacher.prompt("document")
        plain = [self._prompt + plain for plain in map(teacher.text, texts) if plain]
        self._rows = [ids[:MAX_TOKENS] for ids in self._teacher.tokenize(plain)]
        if not self._rows:
            raise TrainingError("distil: no text with a word to learn from")
        self._common = self._compute_mean()
        self._network.shift(-self._common)
        self._optimizer = torch.optim.AdamW(self._network.parameters(), LEARNING_RATE, betas=(0.9, 0.98))
        described = json.dumps([teacher.fingerprint, layers, seed, *plain])
        self._run_id = hashlib.sha256(described.encode()).hexdigest()

    def train(self, epochs: int) -> None:
        """Train on all texts once per epoch; the same call resumes after the last complete epoch."""
        run_id = f"{self._run_id} {epochs}"
        history = checkpoint.read_history(self._partial, run_id) or []
        if history:
            checkpoint.restore(self._partial, self._network, self._optimizer)
        for number in range(len(history) + 1, epochs + 1):
            begin = time.monotonic()
            loss = self._train_epoch(number, epochs)
            seconds = time.monotonic() - begin
            rate = len(self._rows) / max(seconds, 1e-9)
            speed = format_count(round(rate), "text")
            self._log(f"epoch {number} of {epochs}: loss {loss:.4f}, {speed} a second")
            history.append(checkpoint.Epoch(number, loss, 0.0, rate, seconds))
            self._partial.mkdir(exist_ok=True)
            checkpoint.save(self._partial, self._network, self._optimizer, run_id, history)

    def save(self, folder: Path) -> None:
        """Write the network as a sentence-transformers folder."""
        save_student(self._network, self._place, self._prompt, folder)

    def _train_epoch(self, number: int, epochs: int) -> float:
        """Return the mean loss of all texts."""
        random, seen, total = np.random.default_rng([self._seed, number]), 0, 0.0
        for groups in _make_steps(self._rows, random):
            self._set_rate((number - 1 + seen / len(self._rows)) / epochs)
            size = sum(map(len, groups))
            total += self._step(groups, size) * size
            seen += size
            if seen % LOGGED_TEXTS < size:
                self._log(f"the layers have learned {seen} of {len(self._rows)} texts, epoch {number} of {epochs}")
        return total / len(self._rows)

    def _step(self, groups: Groups, size: int) -> float:
        """Make an optimizer step; return the mean loss of its texts. groups: the texts' numbers. size: their count."""
        ids = [np.array([self._rows[n] for n in group], np.int64) for group in groups]
        self._optimizer.zero_grad()
        loss = 0.0
        for own, taught in zip(ids, self._run_teacher(ids), strict=True):
            with torch.autocast("cpu", torch.bfloat16, enabled=_has_bfloat16()):
                states = self._network(torch.from_numpy(own))
            own_loss = compute_losses(states.float(), taught, self._common).sum() / size
            own_loss.backward()  # type: ignore[no-untyped-call]
            loss += float(own_loss.detach())
        torch.nn.utils.clip_grad_norm_(self._network.parameters(), MAX_NORM)
        self._optimizer.step()
        return loss

    def _set_rate(self, progress: float) -> None:
        """Set the learning rate. progress: the completed share of the training."""
        share = min(progress / WARM_UP, (1 - progress) / (1 - WARM_UP))
        for group in self._optimizer.param_groups:
            group["lr"] = LEARNING_RATE * max(share, 0.01)

    def _compute_mean(self) -> Tensor:
        """Return the mean over some texts, (hidden), of the teacher's mean state of each."""
        order = np.random.default_rng(self._seed).permutation(len(self._rows))[:SAMPLE_SIZE]
        sample = [self._rows[n] for n in order]
        groups = [
            np.array([sample[n] for n in group], np.int64) for group in batches_of_equal_length(sample, GROUP_SIZE)
        ]
        means = [states.mean(1) for states in self._run_teacher(groups)]
        return torch.cat(means).mean(0)

    def _run_teacher(self, groups: Sequence[NDArray[np.int64]]) -> Sequence[Tensor]:
        with ThreadPoolExecutor() as pool:
            return [torch.from_numpy(states) for states in pool.map(self._teacher.run, groups)]


def compute_losses(states: Tensor, taught: Tensor, common: Tensor) -> Tensor:
    """Return each text's loss, (texts): the distance of its tokens' states and of the direction of their mean.

    states, taught: (texts, tokens, hidden), the student's and the teacher's. common: (hidden), subtracted from the
    teacher's. The squared distance of states is divided by the squares of the teacher's.
    """
    target = taught - common
    squares = (states - target).square().sum((1, 2)) / taught.square().sum((1, 2))
    return squares + 1 - functional.cosine_similarity(states.mean(1), target.mean(1))


def choose_layers(count: int, available: int) -> Sequence[int]:
    """Return the numbers, from 0, of a student's layers: the first of those available, and the last ones."""
    return [0, *range(available - count + 1, available)] if count > 1 else [available - 1]


def _make_steps(rows: Sequence[Sequence[int]], random: np.random.Generator) -> Iterator[Groups]:
    """Yield the groups of each step: texts in random order, those of a group with the same number of tokens."""
    order = random.permutation(len(rows)).tolist()
    groups = [[order[n] for n in group] for group in batches_of_equal_length([rows[n] for n in order], GROUP_SIZE)]
    step: Groups = []
    for place in random.permutation(len(groups)).tolist():
        step.append(groups[place])
        if sum(map(len, step)) >= STEP_SIZE:
            yield step
            step = []
    if step:
        yield step


def _cut_layers(place: Path, count: int) -> StudentNetwork:
    transformer = Transformer(read_json(place / "config.json"), map_tensors(place), place)
    if count > transformer.layer_count:
        expected = f"expected at most the {format_count(transformer.layer_count, 'layer')} of {place}"
        raise SettingsError(f"distil: layers={count}: {expected}")
    if transformer.has_relative_positions:
        raise SettingsError(
            f"distil: layers={count}: {place} has relative positions; expected layers=0 for this teacher"
        )
    return StudentNetwork(transformer, choose_layers(count, transformer.layer_count))


def _require_mean_of_tokens(teacher: PretrainedEncoder) -> OnnxModel:
    if not teacher.averages_words:
        problem = "its vectors are not the means of its tokens' states; expected layers=0 for this teacher"
        raise SettingsError(f"distil: {teacher.folder}: {problem}")
    return teacher.model  # type: ignore[no-any-return]


def _has_bfloat16() -> bool:
    """Return whether this processor multiplies bfloat16 numbers, which is 1.5 times as fast as 32 bits."""
    capabilities: Mapping[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(capabilities.get("avx512_bf16"))
