"""The ladder: what is tried, from the simplest to the most complex, and what each rung needs."""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from typing import Any

from askalike import registry
from askalike.experiments.grid_search import Grid
from askalike.experiments.search_spaces import lexical_grids
from askalike.store.archive import Archive

RankerSettings = Mapping[str, Any]

DEFAULT_RANKER = "lm_jelinek_mercer"
"""The simplest ranker; any other has to beat it."""
PRETRAINED_RANKER = "pretrained"
"""The ranker that a pre-trained encoder is by itself."""
HYBRID_WEIGHTS = ((4.0, 1.0), (2.0, 1.0), (1.0, 1.0), (1.0, 2.0), (1.0, 4.0))
"""What words and vectors count in a hybrid."""
VOTES_RANKER = "votes"
VOTE_WEIGHTS = (0.1, 0.2, 0.4, 0.7, 1.0)
"""What votes count beside words and vectors, whose weights add up to 1."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A ranker with settings, as `rankers.build` takes them."""

    ranker: str
    settings: RankerSettings = field(default_factory=dict)

    @property
    def part_names(self) -> Sequence[str]:
        """The rankers that it is made of, those of its parts too; none where it is not made of any."""
        return [name for key, value in self.settings.items() if key.split(".")[-1] == "parts" for name in value]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Trials of one kind, of which the best stands for it. The fewer its `level`, the simpler it is."""

    name: str
    level: int
    trials: Sequence[Trial]
    lexical_base: Trial | None = None
    """The lexical ranker that is a part of all its trials."""

    @property
    def is_lexical(self) -> bool:
        """Whether it goes by words alone."""
        return self.level in (UNTUNED, TUNED)


UNTUNED, TUNED, WITH_VOTES = 0, 1, 2
DISTINCT_LEVELS = 4
"""The kinds of a rung, and how much less simple each is with distinct hits."""


@dataclass(frozen=True, slots=True)
class CandidateFamily:
    """A ranker by vectors, tried alone and with words. `recipe`: how it is trained, for what is not there yet."""

    name: str
    recipe: str | None = None
    needs_teacher: bool = False
    """Whether it needs a pre-trained encoder."""
    required_modules: Sequence[str] = ()
    """Modules."""
    signals: Sequence[str] = ()
    """What it may learn from; those of them that the archive has are taken."""
    pairs_per_second: float = 0.0
    """Training pairs of titles, as one processor core learns them: a first guess."""
    recipe_settings: RankerSettings = field(default_factory=dict)
    """Of its recipe, beside the signals."""
    weak_signals: Sequence[str] = ()
    """Signals that it learns from, too, where the others are too few."""


LABEL_SIGNALS = ("duplicates", "judgements", "rephrasings")
NEURAL_MODULES = ("torch", "lightning_fabric", "safetensors", "gensim")
LADDER = (
    CandidateFamily("static", required_modules=("wordllama",)),
    CandidateFamily(
        "trained static",
        "static",
        False,
        NEURAL_MODULES,
        (*LABEL_SIGNALS, "related", "title_body", "question_answer"),
        6_000,
        {"of_cluster": 5},
        ("same_tag", "same_category"),
    ),
    CandidateFamily("distil", "distil", True, NEURAL_MODULES, pairs_per_second=15_000),
    CandidateFamily("bow_cnn", "bow_cnn", False, NEURAL_MODULES, LABEL_SIGNALS, 60),
    CandidateFamily("cnn", "cnn", False, NEURAL_MODULES, LABEL_SIGNALS, 40),
    CandidateFamily("scqa", "scqa", False, NEURAL_MODULES, ("question_answer",), 100),
    CandidateFamily("siamese_lstm", "siamese_lstm", False, NEURAL_MODULES, ("question_answer",), 100),
    CandidateFamily(PRETRAINED_RANKER, needs_teacher=True, required_modules=("sentence_transformers",)),
)
"""A new rung is a line here."""


def missing_module(family: CandidateFamily) -> str | None:
    """The module that a rung needs and that is not installed."""
    return next((name for name in family.required_modules if importlib.util.find_spec(name) is None), None)


def lexical_candidates(archive: Archive, fixed: RankerSettings) -> Iterator[Candidate]:
    """The default as it comes, then each similarity tuned, one setting at a time away from its defaults.

    What is tried does not depend on labels, so that nested folds can share it.
    """
    yield Candidate(DEFAULT_RANKER, UNTUNED, (Trial(DEFAULT_RANKER),))
    for name in registry.names("similarity"):
        stars = [settings for grid in lexical_grids(archive, name, fixed) for settings in vary_one_setting(grid)]
        unique = {tuple(sorted(s.items())): s for s in stars}
        yield Candidate(f"{name}, tuned", TUNED, tuple(Trial(name, s) for s in unique.values()))


def vary_one_setting(grid: Grid) -> Iterator[dict[str, Any]]:
    """The first values of a grid, and all combinations that differ from them in one setting."""
    first = {name: values[0] for name, values in grid.items()}
    yield first
    for name, values in grid.items():
        yield from ({**first, name: value} for value in values[1:])


def dense_candidates(base: Trial, dense: Trial, name: str, level: int, has_votes: bool) -> Iterator[Candidate]:
    """A ranker by vectors alone, then beside the lexical one under several weights; then both of these with votes."""
    both = f"{base.ranker} + {name}"
    yield Candidate(name, level, (dense,))
    yield Candidate(f"hybrid ({both})", level + 1, tuple(hybrid_trials((base, dense), HYBRID_WEIGHTS)), base)
    if has_votes:
        yield votes_candidate(name, level + 2, (dense,), ((1.0,),))
        yield votes_candidate(both, level + 3, (base, dense), HYBRID_WEIGHTS, base)


def votes_candidate(
    name: str, level: int, trials: Sequence[Trial], weight_choices: Sequence[Sequence[float]], base: Trial | None = None
) -> Candidate:
    """Rankers together with the documents' votes, which count more and more."""
    weights = [(*share, round(votes * sum(share), 3)) for share, votes in product(weight_choices, VOTE_WEIGHTS)]
    return Candidate(
        f"hybrid ({name} + {VOTES_RANKER})", level, tuple(hybrid_trials((*trials, Trial(VOTES_RANKER)), weights)), base
    )


def hybrid_trials(trials: Sequence[Trial], weight_choices: Sequence[Sequence[float]]) -> Iterator[Trial]:
    """Several rankers together, under each choice of weights."""
    for weights in weight_choices:
        yield Trial("hybrid", {**_composite_settings(*trials), "weights": list(weights)})


def distinct_candidate(candidate: Candidate, trial: Trial) -> Candidate:
    """A trial of a candidate whose hits are all different questions."""
    level = max(candidate.level, WITH_VOTES) + DISTINCT_LEVELS
    return Candidate(
        f"distinct ({candidate.name})", level, (Trial("distinct", _composite_settings(trial)),), candidate.lexical_base
    )


def _composite_settings(*trials: Trial) -> RankerSettings:
    """The settings of a ranker that has these as its parts."""
    own = {f"{part.ranker}.{key}": value for part in trials for key, value in part.settings.items()}
    return {"parts": [part.ranker for part in trials], **own}


def family_levels() -> Iterator[int]:
    """So many for each rung, above the lexical ones: what is a kind of it, and those with distinct hits."""
    return count(WITH_VOTES + DISTINCT_LEVELS + 1, 2 * DISTINCT_LEVELS)
