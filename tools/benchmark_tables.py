"""Tables of benchmark results, for the results pages and the README."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Section = Iterator[str]
"""The lines of a section."""

SEARCH_ENGINES = ("askalike", "tantivy")
README_RACES = (("made-100000", "title"), ("made-1000000", "title + body"))
"""The data and the kind of queries of each column of the README's table."""
CORE_HOUR = 0.05
"""The price of a core with 8 GB of memory for an hour, in euros or dollars."""
QUERIES = {"title": "titles as queries", "title + body": "titles and bodies as queries"}


def benchmark_sections(load: Callable[[str], Sequence[Row] | None]) -> Iterator[Section]:
    """Yield the section of each benchmark that has a report. load: reads a report by its name."""
    for name, section in SECTIONS.items():
        if rows := load(name):
            yield section(rows)


def table_row(cells: Sequence[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def speed_table(rows: Sequence[Row]) -> str:
    """Return the README's table: BM25 of each engine relative to bm25s, and the speed of bm25s itself."""
    found = {(row["data"], row["queries"], row["engine"]): row for row in rows if row["similarity"] == "bm25"}
    heads = [f"{_questions(data)} questions, {QUERIES[queries]}" for data, queries in README_RACES]
    lines = [("queries per second, relative to bm25s (numba), one thread", *heads), ("---",) * (1 + len(heads))]
    for engine in SEARCH_ENGINES:
        ratios = [f"{found[*race, engine]['ratio_to_bm25s']:.2f} ×" for race in README_RACES]
        lines.append((f"{engine}, BM25", *ratios))
    rates = " and ".join(f"{found[*race, 'bm25s']['per_s']:,.0f}" for race in README_RACES)
    table = "".join(f"{table_row(line)}\n" for line in lines)
    return f"{table}\nSynthetic questions. bm25s answers {rates} queries per second there.\n"


def search_section(rows: Sequence[Row]) -> Section:
    """Yield the table of lexical search compared with bm25s and tantivy."""
    yield from ("## Lexical search beside bm25s and tantivy", "")
    races = sorted({(row["data"], row["queries"]) for row in rows}, key=lambda race: (len(race[0]), *race))
    systems = dict.fromkeys((row["engine"], row["similarity"]) for row in rows)
    found = {(row["data"], row["queries"], row["engine"], row["similarity"]): row for row in rows}
    yield table_row(("", *(f"{_questions(data)} questions, {QUERIES[queries]}" for data, queries in races)))
    yield table_row(("---",) * (1 + len(races)))
    for system in systems:
        own = [found.get((*race, *system)) for race in races]
        yield table_row((" ".join(system), *(_rate(row) if row else "" for row in own)))
    yield ""
    yield "Queries per second with one thread, and how many times as many as bm25s (numba) in the same round:"
    yield "the median over the rounds and, in brackets, the lowest. Synthetic questions. tantivy reads its index from"
    yield f"disk. {_origin(rows, 'search')}"


def _rate(row: Row) -> str:
    if row["engine"] == "bm25s":
        return f"{row['per_s']:,.0f}"
    return f"{row['per_s']:,.0f}, {row['ratio_to_bm25s']:.2f} × ({row['lowest_ratio']:.2f})"


def _questions(data: str) -> str:
    return f"{int(data.removeprefix('made-')):,}"


def serve_section(rows: Sequence[Row]) -> Section:
    """Yield the table of the service under load."""
    yield from ("## The service under load", "")
    head = ("archive", "ranker", "workers", "writes per second", "p50 ms", "p95 ms", "answered", "failed", "at most")
    yield from map(table_row, [head, ("---",) * len(head)])
    for row in sorted(rows, key=lambda row: (len(row["archive"]), row["ranker"], row["workers"], row["writes_per_s"])):
        counts = (f"{row[name]:,}" for name in ("workers", "writes_per_s"))
        times = (f"{row[name]:,.1f}" if row[name] is not None else "" for name in ("p50_ms", "p95_ms"))
        answers = (f"{row[name]:,}" for name in ("answered", "failed"))
        most = f"{row['saturated_per_s']:,.0f} per second" if "saturated_per_s" in row else ""
        yield table_row((row["archive"], row["ranker"], *counts, *times, *answers, most))
    yield ""
    yield f"{rows[0]['requests_per_s']} requests per second for half-typed titles, sent on schedule whatever was"
    yield "answered. The client shares the cores with the service. *at most* is the rate for clients that ask again at"
    yield "once."
    yield _origin(rows, "serve")


def start_section(rows: Sequence[Row]) -> Section:
    """Yield the table of start-up times of the command line."""
    yield from ("## Start of the command line", "")
    yield from map(table_row, [("command", "processor time"), ("---",) * 2])
    for row in rows:
        yield table_row((STARTS[row["command"]], f"{row['processor_s']:.2f} s"))
    yield ""
    yield f"The bundled example, medians of {rows[0]['runs']} runs, at most three of the first search."
    yield _origin(rows, "start")


def cluster_section(rows: Sequence[Row]) -> Section:
    """Yield the table of OpenSearch compared with the local engine."""
    yield from ("## OpenSearch beside the local engine", "")
    head = ("questions", "engine", "indexed per second", "searches per second, 8 threads", "p50 ms", "p95 ms")
    yield from map(table_row, [head, ("---",) * len(head)])
    for row in sorted(rows, key=lambda row: (row["questions"], row["engine"] != "local", row["engine"])):
        engine = {"local": "local", "1 nodes": "1 node"}.get(row["engine"], row["engine"])
        figures = (f"{row[name]:,g}" for name in ("indexed_per_s", "searches_per_s", "p50_ms", "p95_ms"))
        yield table_row((f"{row['questions']:,}", engine, *figures))
    yield ""
    yield f"Synthetic titles, `{rows[0]['ranker']}`. All nodes and the client share one machine. Several nodes there"
    yield "show the cost of their communication, not the gain from more machines."
    yield _origin(rows, "cluster")


def faults_section(rows: Sequence[Row]) -> Section:
    """Yield the table of nodes that are killed or cut off."""
    yield from ("## When a node of the cluster fails", "")
    head = (
        "event", "longest time without a search", "without a write", "searches and writes per second before",
        "while it is away", "errors", "lost", "load",
    )  # fmt: skip
    yield from map(table_row, [head, ("---",) * len(head)])
    for row in rows:
        gaps = (f"{row[f'longest_s_without_{kind}']:.2f} s" for kind in ("search", "write"))
        before = (row[f"{kind}_per_s_before"] for kind in ("searches", "writes"))
        away = (row[f"{kind}_meanwhile"] / row["seconds"] for kind in ("searches", "writes"))
        pairs = (" and ".join(f"{rate:.1f}" for rate in rates) for rates in (before, away))
        yield table_row(
            (row["event"], *gaps, *pairs, *(f"{row[name]:,}" for name in ("errors", "lost", "load_average")))
        )
    yield ""
    warm_up, seconds = rows[0]["warm_up_s"], rows[0]["seconds"]
    yield "Three nodes with all copies, 50 searches and 20 writes per second (fewer where the machine is too slow),"
    yield f"one run each, after {warm_up:.0f} seconds of load. The node is away for {seconds:.0f} seconds; the times"
    yield "count until the cluster is green again. All nodes and the client share one machine. The last column is"
    yield "its load average at the end, since a busy machine adds to the times."
    yield _origin(rows, "cluster_faults")


def fan_out_table(rows: Sequence[Row]) -> str:
    """Return the table of searches over many shards, from the lowest simulated rate."""
    head = (
        "questions", "cores for one copy", "p50", "p95", "work of a search", "searches per second at most",
        "cost per hour, two copies",
    )  # fmt: skip
    lines = [table_row(head), table_row(("---",) * len(head))]
    lowest = min(row["rate"] for row in rows)
    for row in sorted((row for row in rows if row["rate"] == lowest), key=lambda row: row["questions"]):
        cores = -(-row["shards"] // row["shards_per_core"])
        times = (f"{row[name] / 1000:.2f} s" for name in ("p50_ms", "p95_ms"))
        work, most = row["shards"] * row["shard_s"], 1 / (row["shards_per_core"] * row["shard_s"])
        cost = f"{2 * cores * CORE_HOUR:g}"
        cells = (
            f"{row['questions']:,}",
            f"{cores:,}",
            *times,
            f"{work:,.0f} core-seconds",
            f"{most:.1f} per copy",
            cost,
        )
        lines.append(table_row(cells))
    what = rows[0]
    shard = what["questions"] // what["shards"]
    command = f"`python benchmarks/fan_out.py --shard {shard} --shards-per-core {what['shards_per_core']}`"
    notes = [
        f"{command}, {lowest} search per second at random moments (Poisson), without network and merging. A core and",
        f"8 GB of memory cost {CORE_HOUR} (euros, dollars) per hour. The search of one shard took",
        f"{1000 * what['shard_s']:.0f} ms on average: {what['hardware']}, which node and client shared; commit",
        f"`{what['commit']}`.",
    ]
    return "\n".join([*lines, "", *notes]) + "\n"


def _origin(rows: Sequence[Row], benchmark: str) -> str:
    places = dict.fromkeys(f"{row['hardware']}, commit `{row['commit']}`" for row in rows)
    return f"`python benchmarks/{benchmark}.py`; {'; '.join(places)}."


STARTS = {
    "--version": "`askalike --version`",
    "--help": "`askalike --help`",
    "search": "`askalike search`",
    "first search": "the first `askalike search` after an installation, which compiles and indexes",
}
SECTIONS = {
    "search": search_section,
    "serve": serve_section,
    "start": start_section,
    "cluster": cluster_section,
    "cluster_faults": faults_section,
}
"""Name of a report → the function that makes its section, in the order of the page."""
