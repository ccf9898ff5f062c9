"""The candidates, from the simplest to the most complex, and the requirements of each family."""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

from askalike import rankers
from askalike.core import registry
from askalike.core.errors import SettingsError
from askalike.rankers import Tunable
from askalike.store import Archive
from askalike.text.subwords import VECTORS_PACKAGE
from askalike.tuning.trials import RankerSettings, Trial

Grid = Mapping[str, Sequence[Any]]
"""Setting → the values to try."""
DEFAULT_RANKER = "lm_jelinek_mercer"
"""The simplest ranker; any other has to beat it."""
EXTRA_MODULES = {"vectors": ("tokenizers", VECTORS_PACKAGE), "encoder": ("tokenizers",)}
"""The modules that families need of each extra."""
DISTIL = "distil"
"""The family that distils the pre-trained encoder to a lookup."""
PRETRAINED_RANKER = "pretrained"
"""The ranker of a pre-trained encoder alone."""
CROSS_ENCODER_RANKER = "cross_encoder"
"""The ranker that re-ranks with a cross-encoder."""
ABSOLUTE_WEIGHTS = ((0.2, 0.8), (0.3, 0.7), (0.4, 0.6), (0.5, 0.5), (0.7, 0.3))
"""The weights of the lexical and the dense part of a hybrid of absolute scores."""
VOTES_RANKER = "votes"
VOTE_WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.6)
"""The weights of votes, relative to the sum of the other parts' weights."""

CROSS_DEPTH = 20
"""The number of hits that a cross-encoder re-ranks."""
ACTIVE_NOW, UNTUNED, TUNED, WITH_VOTES = range(4)
"""The kinds of candidates without a dense ranker, the simplest first."""


class Stage(NamedTuple):
    """The place of a candidate, by its fields in their order: of two that are as good, the simpler is chosen.

    family: 0 for lexical rankers, then the place of the dense ranker's family. kind: of the candidates of a family.
    """

    has_cross_encoder: bool = False
    family: int = 0
    has_distinct_hits: bool = False
    kind: int = ACTIVE_NOW


@dataclass(frozen=True, slots=True)
class Candidate:
    """Trials of one kind; the best one represents the candidate.

    lexical_base: the lexical ranker that is part of all its trials, if there is one.
    """

    name: str
    stage: Stage
    trials: Sequence[Trial]
    lexical_base: Trial | None = None

    @property
    def is_lexical(self) -> bool:
        """Whether it is a lexical ranker, without votes."""
        return self.stage in (Stage(kind=UNTUNED), Stage(kind=TUNED))


@dataclass(frozen=True, slots=True)
class CandidateFamily:
    """A dense ranker, tried alone and in hybrids with the lexical one.

    complexity: its place among all families, from 0 (simple) to 1000; of two that are as good, the simpler is chosen.
    recipe: that trains it, or DISTIL; None for a ranker that needs no training. needs_teacher: whether it needs a pre-
    trained encoder. extra: of askalike, whose packages it needs. signals: sources of training pairs, if the archive has
    them; weak_signals are added if those give too few pairs. pairs_per_second: training pairs of titles per second and
    processor core, as a first guess.
    """

    name: str
    complexity: int
    recipe: str | None = None
    needs_teacher: bool = False
    extra: str = ""
    signals: Sequence[str] = ()
    pairs_per_second: float = 0.0
    recipe_settings: RankerSettings = field(default_factory=dict)
    weak_signals: Sequence[str] = ()


FAMILIES = (
    CandidateFamily("static", 100, extra="vectors"),
    CandidateFamily("distil", 300, DISTIL, True, "vectors"),
    CandidateFamily(PRETRAINED_RANKER, 900, needs_teacher=True, extra="encoder"),
)
"""askalike's own families; other packages register theirs in the group `askalike.tuning_families`."""


def list_families() -> Sequence[CandidateFamily]:
    """Return all families, from the simplest to the most complex."""
    added = (registry.load("tuning_family", name) for name in registry.names("tuning_family"))
    return sorted((*FAMILIES, *added), key=lambda family: family.complexity)


def missing_module(family: CandidateFamily) -> str | None:
    """Return the first module of a family's extra that is not installed; None if none is missing."""
    modules = EXTRA_MODULES.get(family.extra, ())
    return next((name for name in modules if importlib.util.find_spec(name) is None), None)


def incumbent_candidate(trial: Trial) -> Candidate:
    """Return the active ranker before tuning as a candidate; the default ranker is a candidate of its own."""
    if trial == Trial(DEFAULT_RANKER):
        return Candidate(DEFAULT_RANKER, Stage(kind=UNTUNED), (trial,))
    return Candidate(f"{trial.ranker}, active now", Stage(kind=ACTIVE_NOW), (trial,))


def lexical_candidates(archive: Archive, fixed: RankerSettings) -> Iterator[Candidate]:
    """Yield the default ranker untuned, then each similarity with one setting at a time changed from its default.

    The trials do not depend on labels, so that nested folds can share them.
    """
    yield Candidate(DEFAULT_RANKER, Stage(kind=UNTUNED), (Trial(DEFAULT_RANKER),))
    for name in registry.names("similarity"):
        varied = [settings for grid in tuning_grids(archive, name, fixed) for settings in vary_one(grid)]
        unique = {tuple(sorted(settings.items())): settings for settings in varied}
        trials = tuple(Trial(name, settings) for settings in unique.values())
        yield Candidate(f"{name}, tuned", Stage(kind=TUNED), trials)


def vary_one(grid: Grid) -> Iterator[dict[str, Any]]:
    """Yield the combination of a grid's first values, and all that differ from it in one setting."""
    first = {name: values[0] for name, values in grid.items()}
    yield first
    for name, values in grid.items():
        yield from ({**first, name: value} for value in values[1:])


def dense_candidates(
    bases: Sequence[Trial], dense: Trial, name: str, place: int, has_votes: bool
) -> Iterator[Candidate]:
    """Yield a dense ranker alone, in hybrids with each lexical base with several weights, and both with votes.

    place: that of its family among all families, from 1.
    """
    alone, hybrid, alone_with_votes, hybrid_with_votes = (Stage(family=place, kind=kind) for kind in range(4))
    for base in bases:
        both = f"{base.ranker} + {name}"
        if base is bases[0]:
            yield Candidate(name, alone, (dense,))
        yield Candidate(f"hybrid ({both})", hybrid, tuple(absolute_hybrids((base, dense), ABSOLUTE_WEIGHTS)), base)
        if has_votes and base is bases[0]:
            yield votes_candidate(name, alone_with_votes, (dense,), ((1.0,),))
        if has_votes:
            yield votes_candidate(both, hybrid_with_votes, (base, dense), ABSOLUTE_WEIGHTS, base)


def votes_candidate(
    name: str, stage: Stage, parts: Sequence[Trial], choices: Sequence[Sequence[float]], base: Trial | None = None
) -> Candidate:
    """Return hybrids of rankers and the documents' votes, for each choice of weights and each weight of votes."""
    weights = [(*choice, round(votes * sum(choice), 3)) for choice, votes in product(choices, VOTE_WEIGHTS)]
    trials = tuple(absolute_hybrids((*parts, Trial(VOTES_RANKER)), weights))
    return Candidate(f"hybrid ({name} + {VOTES_RANKER})", stage, trials, base)


def absolute_hybrids(parts: Sequence[Trial], weight_choices: Sequence[Sequence[float]]) -> Iterator[Trial]:
    """Yield hybrids of the parts' absolute scores, as in the default ranker, for each choice of weights."""
    for weights in weight_choices:
        yield Trial("hybrid", {**_composite_settings(*parts), "weights": list(weights)})


def distinct_candidate(candidate: Candidate, trial: Trial) -> Candidate:
    """Return a candidate's trial with distinct hits: no two of them ask the same."""
    stage = candidate.stage._replace(has_distinct_hits=True)
    if not stage.family:
        stage = stage._replace(kind=WITH_VOTES)  # all lexical rankers with distinct hits count as equally simple
    trials = (Trial("distinct", _composite_settings(trial)),)
    return Candidate(f"distinct ({candidate.name})", stage, trials, candidate.lexical_base)


def cross_encoder_candidate(candidate: Candidate, trial: Trial, cross_encoder: Trial) -> Candidate:
    """Return a candidate's trial with its first hits re-ranked by a cross-encoder."""
    trials = (Trial("cascade", {**_composite_settings(trial, cross_encoder), "depth": CROSS_DEPTH}),)
    stage = candidate.stage._replace(has_cross_encoder=True)
    return Candidate(f"cross_encoder ({candidate.name})", stage, trials, candidate.lexical_base)


def _composite_settings(*parts: Trial) -> RankerSettings:
    """Return the settings of a ranker that has these parts."""
    settings = {f"{part.ranker}.{key}": value for part in parts for key, value in part.settings.items()}
    return {"parts": [part.ranker for part in parts], **settings}


def tuning_grids(archive: Archive, ranker: str, fixed: RankerSettings) -> Sequence[Grid]:
    """Return the grids that a ranker declares, without the fixed settings.

    A similarity has its own grids, and those of text settings: the weights of the fields if the archive has titles
    and bodies, and the treatment of code if bodies contain any. The first values are the defaults, so that the first
    trial is the untuned ranker. Raises SettingsError for a ranker that declares nothing to tune.
    """
    if ranker in registry.names("similarity"):
        text_grid = registry.load("ranker", "lexical").text_grid(archive.view(), fixed.get("fields"))
        grids = [own] if isinstance(own := registry.load("similarity", ranker).GRIDS, Mapping) else own
        return [_drop_fixed({**text_grid, **grid}, fixed) for grid in grids]
    created = rankers.create(ranker, fixed, archive.path)
    if not isinstance(created, Tunable):
        example = "tune = { KEY = [VALUE, VALUE] }"
        raise SettingsError(f"{ranker} has no settings to tune; name the values to try, as in {example}")
    return [_drop_fixed(grid, fixed) for grid in created.grids]


def _drop_fixed(grid: Grid, fixed: RankerSettings) -> Grid:
    return {name: values for name, values in grid.items() if name not in fixed}
