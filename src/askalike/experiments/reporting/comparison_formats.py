"""A comparison as text, HTML, LaTeX, CSV or JSON."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from askalike.core.errors import SettingsError
from askalike.evaluation.tables import to_csv, to_latex, to_text
from askalike.experiments.comparing import QueryContrast, RunComparison, TopHit
from askalike.experiments.reporting.page import render


def format_comparison(comparison: RunComparison, format: str) -> str:
    """Return the comparison in a format by name. Raises SettingsError for an unknown one."""
    if format not in FORMATS:
        raise SettingsError(f"no format is called {format!r}; there are: {', '.join(FORMATS)}")
    return FORMATS[format](comparison)


def format_text(comparison: RunComparison) -> str:
    """Return tables for each measure, then the queries that differ most."""
    parts = [to_text(c.systems_table()) for c in comparison.comparisons[:1]]
    parts += [to_text(replace(c.systems_table(), notes=())) for c in comparison.comparisons[1:]]
    parts.append(to_text(comparison.pairs_table()))
    parts += [f"{remark}\n" for remark in comparison.remarks]
    measure = comparison.comparisons[0].measure
    for contrasts in comparison.contrasts:
        if contrasts.queries:
            lines = [line for query in contrasts.queries for line in _contrast_lines(query)]
            heading = f"{contrasts.first} and {contrasts.second}: the queries that differ most in {measure}"
            parts.append("\n".join((heading, *lines, "")))
    return "\n".join(parts)


def _contrast_lines(query: QueryContrast) -> Iterator[str]:
    width = max(len(query.first.system), len(query.second.system))
    yield f"  {query.query_id}  {query.text}" if query.text != query.query_id else f"  {query.query_id}"
    for top in (query.first, query.second):
        yield f"    {top.system.ljust(width)}  {top.value:.4f}  {_describe_hit(top)}"
    if query.relevant_id and 1 not in (query.first.rank, query.second.rank):
        yield f"    {'relevant'.ljust(width)}  {_id_and_text(query.relevant_id, query.relevant_text)}"


def _describe_hit(hit: TopHit) -> str:
    if hit.id is None:
        return "found nothing"
    place = "relevant" if hit.relevant else f"relevant at {hit.rank}" if hit.rank else "none relevant found"
    return f"{_id_and_text(hit.id, hit.text)}  ({place})"


def _id_and_text(id: str, text: str) -> str:
    return id if text == id else f"{id} {text}"


def format_html(comparison: RunComparison) -> str:
    """Return a self-contained page that opens offline."""
    title = " and ".join([system.name for system in comparison.comparisons[0].systems])
    return render("compare.html", compared=comparison, title=title)


def format_latex(comparison: RunComparison) -> str:
    """Return a LaTeX table of systems by measures, for a paper (package booktabs)."""
    return to_latex(comparison.systems_table())


FORMATS: Mapping[str, Callable[[RunComparison], str]] = {
    "text": format_text,
    "html": format_html,
    "latex": format_latex,
    "csv": lambda comparison: to_csv(comparison.pairs_table()),
    "json": lambda comparison: json.dumps(comparison.as_dict(), ensure_ascii=False) + "\n",
}
