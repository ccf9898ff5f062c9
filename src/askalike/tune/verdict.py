"""What tuning has come to: what is chosen, what it is worth where it was not chosen, and what goes into service."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from askalike.evaluation.significance import ALPHA
from askalike.tune.bench import SHOWN
from askalike.tune.choosing import Difference, Entry
from askalike.tune.task import NOISE, Task


@dataclass(frozen=True, slots=True)
class Verdict:
    """Measured on queries that chose nothing, once. In nested folds: each fold with what the others choose."""

    task: Task
    measure: str
    chosen: Entry
    words: Entry
    """The lexical ranker that is served where nothing beats the best one."""
    best_words: str
    """The name of the best lexical ranker, by the queries that choose."""
    value: float
    """By SHOWN, as the differences that follow it in the sentence."""
    shown: Difference
    over_words: Difference
    """By the measure that chooses: it decides."""
    over_encoder: Difference | None
    """The chosen one over the pre-trained encoder alone, where there is one, by the measure that chooses."""
    folds: Sequence[str]
    """Nested: what each fold's other folds chose."""

    @property
    def serving(self) -> Entry:
        """The chosen one where it is significantly better than the best lexical one, else the lexical one."""
        return self.chosen if not self.chosen.candidate.lexical and self.over_words.better else self.words

    @property
    def sentence(self) -> str:
        """The verdict."""
        name, n = self.chosen.candidate.name, self.over_words.n
        told = f"{name}: {SHOWN} {100 * self.value:.1f} %"
        if self.chosen.candidate.lexical:
            return f"{told}, n = {n:,}: nothing beats words on the queries that choose; serving it{self._noise}"
        told += f", {points(self.shown, f' over {self.best_words}')}"
        if self.measure != SHOWN:
            told += f"; {self.measure} {points(self.over_words)}"
        if self.over_words.better:
            return f"{told}, n = {n:,}; serving it{self._noise}"
        return f"{told}, n = {n:,}: that does not beat words; serving {self.words.candidate.name}{self._noise}"

    @property
    def _noise(self) -> str:
        if self.task.proxy:
            return " (a proxy: nobody has labelled anything)"
        return " (within noise)" if self.over_words.n < NOISE else ""

    def as_dict(self) -> Mapping[str, Any]:
        """For JSON."""
        return {
            "task": self.task.name,
            "proxy": self.task.proxy,
            "measure": self.measure,
            "chosen": self.chosen.candidate.name,
            "value": self.value,
            "lexical": self.best_words,
            "shown": {"measure": SHOWN, **asdict(self.shown)},
            "over_lexical": asdict(self.over_words),
            "over_encoder": self.over_encoder and asdict(self.over_encoder),
            "folds": list(self.folds),
            "serving": {"ranker": self.serving.trial.ranker, "settings": dict(self.serving.trial.settings)},
            "sentence": self.sentence,
            "remarks": list(self.task.remarks),
        }


def points(d: Difference, over: str = "") -> str:
    """A difference as it is told, with its interval and p."""
    return f"{100 * d.mean:+.1f} points [{100 * d.low:.1f}, {100 * d.high:.1f}]{over}, {_p(d.p)}"


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 or p < ALPHA else f"p = {p:.2f}"
