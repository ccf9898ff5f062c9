"""The typing curve: what is found for a question of which only a part has been typed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.trec import separate_ties
from askalike.rankers import Searcher
from askalike.types import Question, Split

SHARES: Mapping[str, float] = {"0.25": 0.25, "0.5": 0.5, "0.75": 0.75, "1": 1.0}


def compute_typing_curve(
    searcher: Searcher, labels: Split, measures: Sequence[str], rule: str, k: int
) -> dict[str, dict[str, float]]:
    """Share of the title's words → measure → mean over the queries, by the ranker that is opened.

    Words are taken as typed to their end: nothing completes them. A body is not there yet while the title is typed.
    """
    return {
        name: _evaluate(searcher, _truncate_titles(labels, share), measures, rule, k) for name, share in SHARES.items()
    }


def truncate_title(question: Question, share: float) -> Question:
    """The question with the first words of its title alone: that share of them, rounded, one at least."""
    words = question.title.split()
    return replace(question, title=" ".join(words[: max(1, round(len(words) * share))]), body="")


def _truncate_titles(labels: Split, share: float) -> Split:
    return replace(labels, queries={id: truncate_title(query, share) for id, query in labels.queries.items()})


def _evaluate(searcher: Searcher, labels: Split, measures: Sequence[str], rule: str, k: int) -> dict[str, float]:
    run = searcher.rank(labels.queries, k, candidates=labels.candidates)
    return dict(evaluate(separate_ties(run), labels.qrels, measures, rule).means)
