"""The rules by which runs are measured, all in one place: ties, self-hits, unanswered queries, cut-offs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import SettingsError
from askalike.core.types import Columns, Floats
from askalike.evaluation.measures import HitMatrix, RelevantCounts, Values, average_precision, reciprocal_rank

RuleMeasure = Callable[[HitMatrix, RelevantCounts], Values]


@dataclass(frozen=True, slots=True)
class Rule:
    """Determines the order of hits, and which hits and queries count.

    A query without hits in the run counts 0 under every rule. own_measures: measures that the rule defines itself.
    """

    name: str
    ties_by_id: bool
    drops_self_hits: bool = False
    drops_unanswerable: bool = False
    own_measures: Mapping[str, RuleMeasure] = field(default_factory=dict)
    remark: str = ""

    def describe(self) -> str:
        """Return a one-line description, which is printed with every table."""
        by_id, by_run = "as 32-bit float, ties by document id, descending", "ties in the order of the run"
        parts = (
            f"hits by score {by_id}" if self.ties_by_id else f"hits by score, {by_run}",
            f"the query itself, where a run lists it, {'is dropped' if self.drops_self_hits else 'counts'}",
            f"queries without a relevant document {'are dropped' if self.drops_unanswerable else 'count 0'}",
            "queries without hits count 0",
        )
        return f"rule {self.name}: {'; '.join(filter(None, (*parts, self.remark)))}"

    def includes_query(self, grades: Mapping[str, int]) -> bool:
        """Return whether a query with these judgements is measured."""
        return not self.drops_unanswerable or any(grade > 0 for grade in grades.values())

    def order_hits(self, query_id: str, ids: Sequence[str], scores: NDArray[np.float64]) -> Sequence[str]:
        """Return the document ids, best first, without the dropped ones."""
        with np.errstate(over="ignore"):
            compared = scores.astype(np.float32) if self.ties_by_id else scores
        if not np.all(compared[1:] < compared[:-1]):
            positions = list(range(len(ids)))
            if self.ties_by_id:
                positions.sort(key=ids.__getitem__, reverse=True)
            ids = [ids[positions[i]] for i in np.argsort(-compared[positions], kind="stable").tolist()]
        if self.drops_self_hits and query_id in ids:
            ids = [i for i in ids if i != query_id]
        return ids


_SEMEVAL_MEASURES = {"AP": average_precision, "RR": reciprocal_rank}
_SEMEVAL_MEASURES |= {f"{name}@10": function for name, function in _SEMEVAL_MEASURES.items()}
RULES = {
    rule.name: rule
    for rule in (
        Rule("trec_eval", ties_by_id=True, remark="as trec_eval -c"),
        Rule(
            "semeval",
            ties_by_id=False,
            own_measures=_SEMEVAL_MEASURES,
            remark="AP and RR over the first 10 hits, AP divided by the relevant hits found there, RR times 100",
        ),
        Rule("beir", ties_by_id=True, drops_self_hits=True, remark="BEIR's own tool ignores queries without hits"),
        Rule("lei", ties_by_id=False, drops_unanswerable=True),
    )
}


def get_rule(name: str) -> Rule:
    """Return the rule of that name. Raises SettingsError for an unknown one."""
    if name not in RULES:
        raise SettingsError(f"no rule is called {name!r}; there are: {', '.join(RULES)}")
    return RULES[name]


def count_tied(scores: Floats) -> int:
    """Return the number of hits that are tied with another one."""
    sizes = np.bincount(_number_ties(scores)[1])
    return int(sizes[sizes > 1].sum())


def shuffle_ties(queries: Sequence[tuple[str, Columns]], seed: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Return each query's documents with new scores, which fall by 1: the same order, with ties in a random one."""
    random = np.random.default_rng(seed)
    for query, (ids, scores) in queries:
        order, numbers = _number_ties(scores)
        shuffled = order[np.lexsort((random.random(len(order)), numbers))].tolist()
        yield query, {ids[n]: float(len(ids) - place) for place, n in enumerate(shuffled)}


def _number_ties(scores: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of hits by falling score, and each ordered hit's number: tied hits have the same.

    Scores are tied if they are equal as 32-bit floats, or neighbours: run files separate tied hits by that much.
    """
    with np.errstate(over="ignore"):
        compared = scores.astype(np.float32)
    order = np.argsort(-compared, kind="stable")
    falling = compared[order]
    begins = falling[1:] < np.nextafter(falling[:-1], np.float32(-np.inf))
    return order, np.r_[0, np.cumsum(begins)][: len(order)]
