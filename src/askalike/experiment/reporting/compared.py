"""A comparison as text, HTML, LaTeX, CSV or JSON."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from askalike.errors import SettingsError
from askalike.evaluation.tables import to_csv, to_latex, to_text
from askalike.experiment.comparing import Compared, Contrast, Top
from askalike.experiment.reporting.page import rendered


def formatted(compared: Compared, name: str) -> str:
    """The comparison in the format of that name. Raises SettingsError, with those there are."""
    if name not in FORMATS:
        raise SettingsError(f"no format is called {name!r}; there are: {', '.join(FORMATS)}")
    return FORMATS[name](compared)


def text(compared: Compared) -> str:
    """Tables for each measure, then the queries that differ most."""
    parts = [to_text(c.systems_table()) for c in compared.comparisons[:1]]
    parts += [to_text(replace(c.systems_table(), notes=())) for c in compared.comparisons[1:]]
    parts.append(to_text(compared.pairs_table()))
    parts += [f"{remark}\n" for remark in compared.remarks]
    measure = compared.comparisons[0].measure
    for contrasts in compared.contrasts:
        if contrasts.queries:
            lines = [line for query in contrasts.queries for line in _contrast(query)]
            heading = f"{contrasts.first} and {contrasts.second}: the queries that differ most in {measure}"
            parts.append("\n".join((heading, *lines, "")))
    return "\n".join(parts)


def _contrast(query: Contrast) -> Iterator[str]:
    width = max(len(query.first.system), len(query.second.system))
    yield f"  {query.query_id}  {query.text}" if query.text != query.query_id else f"  {query.query_id}"
    for top in (query.first, query.second):
        yield f"    {top.system.ljust(width)}  {top.value:.4f}  {_placed(top)}"
    if query.relevant_id and 1 not in (query.first.rank, query.second.rank):
        yield f"    {'relevant'.ljust(width)}  {_shown(query.relevant_id, query.relevant_text)}"


def _placed(top: Top) -> str:
    if top.id is None:
        return "found nothing"
    where = "relevant" if top.relevant else f"relevant at {top.rank}" if top.rank else "none relevant found"
    return f"{_shown(top.id, top.text)}  ({where})"


def _shown(id: str, text: str) -> str:
    return id if text == id else f"{id} {text}"


def html(compared: Compared) -> str:
    """A page of its own that opens offline."""
    return rendered("compare.html", compared=compared, title=_title(compared))


def _title(compared: Compared) -> str:
    return " and ".join([system.name for system in compared.comparisons[0].systems])


def latex(compared: Compared) -> str:
    """A table of systems for each measure and one of all pairs (package booktabs)."""
    return "\n".join([*(to_latex(c.systems_table()) for c in compared.comparisons), to_latex(compared.pairs_table())])


def csv(compared: Compared) -> str:
    """All pairs by all measures."""
    return to_csv(compared.pairs_table())


def as_json(compared: Compared) -> str:
    """Everything as one object."""
    return json.dumps(compared.as_dict(), ensure_ascii=False) + "\n"


FORMATS: Mapping[str, Callable[[Compared], str]] = {
    "text": text,
    "html": html,
    "latex": latex,
    "csv": csv,
    "json": as_json,
}
