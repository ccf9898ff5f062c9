"""`report.html`: an experiment as one page that opens offline, for people to read and to put beside a paper."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from askalike.evaluation.measures import canonical_name
from askalike.experiments.measuring import LEADING_MEASURE
from askalike.experiments.outcome import ExperimentResult
from askalike.experiments.reporting import cards, figures, headline
from askalike.experiments.reporting.cards import (
    SystemRanks,
    collect_ranks,
    compute_accuracy_curves,
    scores_by_relevance,
)
from askalike.experiments.reporting.page import render, write_file
from askalike.experiments.reporting.texts import load_texts

REPORT_FILE = "report.html"
MAX_PAIRS = 5
"""The most pairs of systems that are plotted against each other."""


def write_report(outcome: ExperimentResult) -> Path:
    """Write `report.html` into the outcome's folder; the same outcome gives the same bytes.

    The page requests nothing: plots are inline SVG, style and script are inside. Document texts are read from the
    archive; where it is gone, ids stand for them. Raises InputError where the file cannot be written.
    """
    return write_file(outcome.folder / REPORT_FILE, render_report(outcome))


def render_report(outcome: ExperimentResult) -> str:
    """Return the report as HTML."""
    systems = collect_ranks(outcome)
    order = headline.order_systems(outcome)
    browsed, sampled = cards.select_contrasting_queries(systems), cards.sample_queries(systems)
    documents = cards.shown_documents([*browsed, *sampled], systems, outcome)
    texts = load_texts(outcome.archive, outcome.labels.queries, documents, outcome.task)
    return render(
        "report.html",
        outcome=outcome,
        n=outcome.systems[0].seed_results[next(iter(outcome.systems[0].seed_results))].evaluation,
        rows=headline.headline_rows(outcome),
        order=order,
        beside=headline.compare_with_paper(outcome),
        settings=[headline.format_settings(system) for system in outcome.systems],
        figures=draw_figures(outcome, systems, order),
        browsed=[cards.make_card(query, systems, outcome, texts) for query in browsed],
        sampled=[cards.make_card(query, systems, outcome, texts) for query in sampled],
        found=[finding for finding in outcome.findings if finding.count],
    )


def draw_figures(
    outcome: ExperimentResult, systems: Sequence[SystemRanks], order: Sequence[int]
) -> list[figures.ReportFigure]:
    """Return every figure that the outcome has the numbers for."""
    drawn = [figures.plot_accuracy_curves({s.label: compute_accuracy_curves(s) for s in systems})]
    measure, curves = typing_points(outcome)
    if curves:
        drawn.append(figures.plot_typing_curve(curves, measure, {s.label: i for i, s in enumerate(systems)}))
    for number, (i, j) in enumerate(select_pairs(order)):
        first, second = systems[i], systems[j]
        ranks = (first.first_ranks, second.first_ranks)
        drawn.append(figures.plot_rank_scatter(f"scatter{number}", first.label, second.label, ranks, (i, j)))
    return [*drawn, figures.plot_score_histograms({s.label: scores_by_relevance(s, outcome) for s in systems})]


def select_pairs(order: Sequence[int]) -> list[tuple[int, int]]:
    """Return the pairs that are drawn: the best two, and each against the first of the experiment, in that order."""
    pairs = [(min(order[:2]), max(order[:2]))] if len(order) > 1 else []
    pairs += [pair for pair in combinations(range(len(order)), 2) if pair[0] == 0]
    return list(dict.fromkeys(pairs))[:MAX_PAIRS]


def typing_points(outcome: ExperimentResult) -> tuple[str, dict[str, dict[float, float]]]:
    """Return Success@5 (else the first measure) by the share of words typed, for each system that has a curve."""
    measures: dict[str, Any] = {
        canonical_name(m): m for shares in outcome.typing.values() for values in shares.values() for m in values
    }
    if not measures:
        return "", {}
    chosen = measures.get(LEADING_MEASURE, next(iter(measures.values())))
    return str(chosen), {
        label: {float(share): values[chosen] for share, values in shares.items() if chosen in values}
        for label, shares in outcome.typing.items()
    }
