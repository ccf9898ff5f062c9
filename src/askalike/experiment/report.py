"""`report.html`: an experiment as one page that opens offline, to be read by people and put beside a paper."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from askalike.evaluation.names import canonical
from askalike.experiment.outcome import Outcome
from askalike.experiment.reporting import cards, figures, results
from askalike.experiment.reporting.measured import Measured, curves, measured, scores
from askalike.experiment.reporting.page import rendered, written
from askalike.experiment.reporting.texts import texts_of

NAME = "report.html"


def write_report(outcome: Outcome) -> Path:
    """Writes `report.html` into the outcome's folder; the same outcome gives the same bytes.

    The page has no request to anywhere: plots are inline SVG, style and script are inside. Document texts are read
    from the archive, ids stand for them where it is gone. Raises InputError where the file cannot be written.
    """
    return written(outcome.folder / NAME, page(outcome))


def page(outcome: Outcome) -> str:
    """The report as HTML."""
    systems = measured(outcome)
    order = results.ordered(outcome)
    browsed, sampled = cards.browsed(systems), cards.sampled(systems)
    documents = cards.documents([*browsed, *sampled], systems, outcome)
    texts = texts_of(outcome.archive, outcome.labels.queries, documents, outcome.task)
    return rendered(
        "report.html",
        outcome=outcome,
        n=outcome.systems[0].trials[next(iter(outcome.systems[0].trials))].evaluation,
        rows=results.headline(outcome),
        order=order,
        beside=results.against_paper(outcome),
        settings=[results.settings(system) for system in outcome.systems],
        figures=drawn(outcome, systems, order),
        browsed=[cards.card(query, systems, outcome, texts) for query in browsed],
        sampled=[cards.card(query, systems, outcome, texts) for query in sampled],
        found=[finding for finding in outcome.findings if finding.count],
    )


def drawn(outcome: Outcome, systems: Sequence[Measured], order: Sequence[int]) -> list[figures.Figure]:
    """Every figure that the outcome has the numbers for."""
    made = [figures.accuracy_curves({s.label: curves(s) for s in systems})]
    measure, typed = typing_points(outcome)
    if typed:
        made.append(figures.typing_curve(typed, measure, {s.label: i for i, s in enumerate(systems)}))
    for number, (i, j) in enumerate(paired(order)):
        first, second = systems[i], systems[j]
        ranks = (first.first, second.first)
        made.append(figures.scatter(f"scatter{number}", first.label, second.label, ranks, (i, j)))
    return [*made, figures.score_histograms({s.label: scores(s, outcome) for s in systems})]


MOST_PAIRS = 5


def paired(order: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs that are drawn: the best two, and each against the first of the experiment; by rising number."""
    wanted = [(min(order[:2]), max(order[:2]))] if len(order) > 1 else []
    wanted += [pair for pair in combinations(range(len(order)), 2) if pair[0] == 0]
    return list(dict.fromkeys(wanted))[:MOST_PAIRS]


def typing_points(outcome: Outcome) -> tuple[str, dict[str, dict[float, float]]]:
    """Accuracy@5 (else the first measure there is) by the share of words typed, for each system that has it."""
    measures: dict[str, Any] = {
        canonical(m): m for shares in outcome.typing.values() for values in shares.values() for m in values
    }
    if not measures:
        return "", {}
    chosen = measures.get("Success@5", next(iter(measures.values())))
    return str(chosen), {
        label: {float(share): values[chosen] for share, values in shares.items() if chosen in values}
        for label, shares in outcome.typing.items()
    }
