"""Tables of the papers' page made from reports: between `<!-- table: NAME -->` and `<!-- end of table -->`.

`<!-- table: NAME with cost -->` also has a column of the processor time per query. `<!-- table: A by RR, B by AP -->`
has the systems of A in several reports, one measure of each.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from benchmark_tables import markdown_table

Report = Mapping[str, Any]

COST = "ms per query"
TABLE = re.compile(r"(<!-- table: ([\w-]+)( with cost)? -->\n).*?(<!-- end of table -->)", re.DOTALL)
JOINED = re.compile(r"(<!-- table: ((?:[\w-]+ by [\w@]+,? ?){2,}) -->\n).*?(<!-- end of table -->)", re.DOTALL)


def fill_tables(page: str, load: Callable[[str], Report | None]) -> str:
    """Return the page with its tables regenerated. load: reads a report by name. Raises ValueError if there is none."""

    def read(name: str) -> Report:
        if (report := load(name)) is None:
            raise ValueError(f"papers.md: no report is called {name!r} in experiments/reports/")
        return report

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}{paper_table(read(match[2]), bool(match[3]))}{match[4]}"

    def joined(match: re.Match[str]) -> str:
        columns = [column.split(" by ") for column in match[2].split(", ")]
        return f"{match[1]}{joined_table([(read(name), measure) for name, measure in columns])}{match[3]}"

    return JOINED.sub(joined, TABLE.sub(table, page))


def paper_table(report: Report, with_cost: bool = False) -> str:
    """Return a report's table: each system's measures in percent, the paper's values, and their provenance."""
    columns = ["", *report["measures"], *(["the paper"] if report["paper"] else []), *([COST] if with_cost else [])]
    rows = []
    for system in report["systems"]:
        cost = [f"{system['cost']['ms_per_query']:.1f}"] if with_cost else []
        rows.append([*_cells(report, system), *cost])
    return "\n".join(["", *markdown_table(columns, rows), "", _describe_origin(report), ""])


def joined_table(columns: Sequence[tuple[Report, str]]) -> str:
    """Return a table of the first report's systems in several reports, one measure of each, and their provenance."""
    head = ["", *(f"{report['archive']}, {measure}" for report, measure in columns)]
    values = [{s["label"]: _value(s["measures"][measure]) for s in report["systems"]} for report, measure in columns]
    rows = [[label, *(own.get(label, "") for own in values)] for label in values[0]]
    origins = [f"- {report['archive']}: {_describe_data(report)} {_describe_command(report)}" for report, _ in columns]
    return "\n".join(["", *markdown_table(head, rows), "", *dict.fromkeys(origins), ""])


def _cells(report: Report, system: Report) -> Iterator[str]:
    measures, label = report["measures"], system["label"]
    compared = {m: {s["name"]: s for s in report["comparisons"][m]["systems"]}[label] for m in measures}
    yield f"{compared[measures[0]]['letter']} {label}"
    for measure in measures:
        yield f"{_value(system['measures'][measure])} {''.join(compared[measure]['beats'])}".strip()
    if report["paper"]:
        values = report["paper"].get(label, {})
        yield "/".join(f"{100 * values[m]:.1f}" for m in measures if m in values)


def _value(value: Report) -> str:
    factor = 1 if value["high"] > 1 else 100  # the rule semeval has measures in percent
    sd = "" if value["sd"] is None else f" ± {factor * value['sd']:.1f}"
    low, high = (round(factor * value[bound], 1) + 0.0 for bound in ("low", "high"))  # -0.0 becomes 0.0
    return f"{factor * value['mean']:.1f}{sd} [{low:.1f}, {high:.1f}]"


def _describe_needed(report: Report) -> str:
    """Return how large a difference has to be by the first measure to be significant by itself: the median of pairs."""
    measure = report["measures"][0]
    factor = 1 if report["systems"][0]["measures"][measure]["high"] > 1 else 100
    needed = [factor * (pair["high"] - pair["low"]) / 2 for pair in report["comparisons"][measure]["pairs"]]
    points = f"{median(needed):.1f} points of {measure}"
    return f"From about {points} on (median of all pairs), a difference is significant by itself. "


def _describe_origin(report: Report) -> str:
    return (
        f"{_describe_data(report)} Letters behind a value name the systems that are significantly worse (paired "
        f"randomisation test, Holm, p < .05). {_describe_needed(report)}{_describe_command(report)}"
    )


def _describe_data(report: Report) -> str:
    seeds = ", ".join(map(str, report["provenance"]["seeds"]))
    return (
        f"n = {report['queries']:,} queries of split `{report['split']}`, seeds {seeds}, in percent. Brackets hold "
        "95 % intervals; ± is over seeds."
    )


def _describe_command(report: Report) -> str:
    origin = report["provenance"]
    return f"`{origin['command']}`, commit `{origin['commit'][:7]}`, data `{origin['data'][:8]}`."
