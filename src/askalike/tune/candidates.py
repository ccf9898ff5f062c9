"""The ladder: what is tried, from the simplest to the most complex, and what each rung needs."""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from typing import Any

from askalike import registry
from askalike.archive.store import Archive
from askalike.experiment.spaces import lexical
from askalike.experiment.tuning import Grid

Settings = Mapping[str, Any]

DEFAULT = "lm_jelinek_mercer"
"""The simplest ranker; any other has to beat it."""
ENCODER = "pretrained"
"""The ranker that a pre-trained encoder is by itself."""
SHARES = ((4.0, 1.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (1.0, 4.0))
"""What words and vectors count in a hybrid."""
VOTES = "votes"
POPULARITY = (0.1, 0.2, 0.4, 0.7, 1.0)
"""What votes count beside words and vectors, whose weights add up to 1."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A ranker with settings, as `rankers.build` takes them."""

    ranker: str
    settings: Settings = field(default_factory=dict)

    @property
    def parts(self) -> Sequence[str]:
        """The rankers that it is made of, those of its parts too; none where it is not made of any."""
        return [name for key, value in self.settings.items() if key.split(".")[-1] == "parts" for name in value]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Trials of one kind, of which the best stands for it. The fewer its `level`, the simpler it is."""

    name: str
    level: int
    trials: Sequence[Trial]
    base: Trial | None = None
    """The lexical ranker that is a part of all its trials."""

    @property
    def lexical(self) -> bool:
        """Whether it goes by words alone."""
        return self.level in (UNTUNED, TUNED)


UNTUNED, TUNED, WITH_VOTES = 0, 1, 2
DISTINCT = 4
"""The kinds of a rung, and how much less simple each is with distinct hits."""


@dataclass(frozen=True, slots=True)
class Rung:
    """A ranker by vectors, tried alone and with words. `recipe`: how it is trained, for what is not there yet."""

    name: str
    recipe: str | None = None
    teacher: bool = False
    """Whether it needs a pre-trained encoder."""
    needs: Sequence[str] = ()
    """Modules."""
    signals: Sequence[str] = ()
    """What it may learn from; those of them that the archive has are taken."""
    per_second: float = 0.0
    """Training pairs of titles, as one processor core learns them: a first guess."""
    settings: Settings = field(default_factory=dict)
    """Of its recipe, beside the signals."""
    weak: Sequence[str] = ()
    """Signals that it learns from, too, where the others are too few."""


LABELS = ("duplicates", "judgements", "rephrasings")
NEURAL = ("torch", "lightning_fabric", "safetensors", "gensim")
LADDER = (
    Rung("static", needs=("wordllama",)),
    Rung(
        "trained static",
        "static",
        False,
        NEURAL,
        (*LABELS, "related", "title_body", "question_answer"),
        6_000,
        {"of_cluster": 5},
        ("same_tag", "same_category"),
    ),
    Rung("distil", "distil", True, NEURAL, per_second=15_000),
    Rung("bow_cnn", "bow_cnn", False, NEURAL, LABELS, 60),
    Rung("cnn", "cnn", False, NEURAL, LABELS, 40),
    Rung("scqa", "scqa", False, NEURAL, ("question_answer",), 100),
    Rung("siamese_lstm", "siamese_lstm", False, NEURAL, ("question_answer",), 100),
    Rung(ENCODER, teacher=True, needs=("sentence_transformers",)),
)
"""A new rung is a line here."""


def missing(rung: Rung) -> str | None:
    """The module that a rung needs and that is not installed."""
    return next((name for name in rung.needs if importlib.util.find_spec(name) is None), None)


def lexical_ladder(archive: Archive, fixed: Settings) -> Iterator[Candidate]:
    """The default as it comes, then each similarity tuned, one setting at a time away from its defaults.

    What is tried does not depend on labels, so that nested folds can share it.
    """
    yield Candidate(DEFAULT, UNTUNED, (Trial(DEFAULT),))
    for name in registry.names("similarity"):
        stars = [settings for grid in lexical(archive, name, fixed) for settings in star(grid)]
        unique = {tuple(sorted(s.items())): s for s in stars}
        yield Candidate(f"{name}, tuned", TUNED, tuple(Trial(name, s) for s in unique.values()))


def star(grid: Grid) -> Iterator[dict[str, Any]]:
    """The first values of a grid, and all combinations that differ from them in one setting."""
    first = {name: values[0] for name, values in grid.items()}
    yield first
    for name, values in grid.items():
        yield from ({**first, name: value} for value in values[1:])


def dense_ladder(base: Trial, dense: Trial, shown: str, level: int, votes: bool) -> Iterator[Candidate]:
    """A ranker by vectors alone, then beside the lexical one under several weights; then both of these with votes."""
    both = f"{base.ranker} + {shown}"
    yield Candidate(shown, level, (dense,))
    yield Candidate(f"hybrid ({both})", level + 1, tuple(hybrid((base, dense), SHARES)), base)
    if votes:
        yield with_votes(shown, level + 2, (dense,), ((1.0,),))
        yield with_votes(both, level + 3, (base, dense), SHARES, base)


def with_votes(
    shown: str, level: int, trials: Sequence[Trial], shares: Sequence[Sequence[float]], base: Trial | None = None
) -> Candidate:
    """Rankers together with the documents' votes, which count more and more."""
    weights = [(*share, round(votes * sum(share), 3)) for share, votes in product(shares, POPULARITY)]
    return Candidate(f"hybrid ({shown} + {VOTES})", level, tuple(hybrid((*trials, Trial(VOTES)), weights)), base)


def hybrid(trials: Sequence[Trial], shares: Sequence[Sequence[float]]) -> Iterator[Trial]:
    """Several rankers together, under each choice of weights."""
    for weights in shares:
        yield Trial("hybrid", {**_made_of(*trials), "weights": list(weights)})


def distinct(candidate: Candidate, trial: Trial) -> Candidate:
    """A trial of a candidate whose hits are all different questions."""
    level = max(candidate.level, WITH_VOTES) + DISTINCT
    return Candidate(f"distinct ({candidate.name})", level, (Trial("distinct", _made_of(trial)),), candidate.base)


def _made_of(*trials: Trial) -> Settings:
    """The settings of a ranker that has these as its parts."""
    own = {f"{part.ranker}.{key}": value for part in trials for key, value in part.settings.items()}
    return {"parts": [part.ranker for part in trials], **own}


def levels() -> Iterator[int]:
    """So many for each rung, above the lexical ones: what is a kind of it, and those with distinct hits."""
    return count(WITH_VOTES + DISTINCT + 1, 2 * DISTINCT)
