"""Tables of benchmark results, for the results pages."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
Row = Mapping[str, Any]
Section = Iterator[str]
"""The lines of a section."""
Cell = str | Callable[[Row], str]
"""A format with names of a row's values, or a function of a row."""

CORE_HOUR = 0.05
"""The price of a core with 8 GB of memory for an hour, in euros or dollars."""


def benchmark_sections(load: Callable[[str], Sequence[Row] | None]) -> Iterator[Section]:
    """Yield the section of each benchmark that has a report. load: reads a report by its name."""
    if rows := load("lucene"):
        yield lucene_section(rows)
    for name, table in TABLES.items():
        if rows := load(name):
            yield table.section(rows, name)


def markdown_table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield from (f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def measured_table(head: Sequence[str], lines: Sequence[tuple[Row, Sequence[str]]], benchmark: str) -> Section:
    """Yield a table with a letter for the origin of each line, and what the letters stand for.

    lines: a row of the report that says where a line comes from, and its cells.
    """
    letters = {origin: chr(ord("a") + n) for n, origin in enumerate(dict.fromkeys(_origin(row) for row, _ in lines))}
    yield from markdown_table((*head, "measured"), ((*cells, letters[_origin(row)]) for row, cells in lines))
    packages = [path.relative_to(ROOT) for path in ROOT.glob(f"packages/*/benchmarks/{benchmark}.py")]
    yield from ("", f"Measured by `python {(*packages, f'benchmarks/{benchmark}.py')[0]}`:", "")
    yield from (f"- {letter}: {origin}." for origin, letter in letters.items())
    yield from dict.fromkeys(f"- {row['engine']}: {row['settings']}." for row, _ in lines if "settings" in row)


def _origin(row: Row) -> str:
    versions = "".join(f", {name} {number}" for name, number in row.get("versions", {}).items())
    note = f"; {row['note']}" if "note" in row else ""
    return f"commit `{row['commit']}`, {row['hardware']}{versions}{note}"


def lucene_section(rows: Sequence[Row]) -> Section:
    """Yield the table of lexical search compared with Lucene."""
    yield from ("## Lexical search beside Lucene: the kernel", "")
    yield "Queries that are words already, one thread, processor time, in turns. *times* is the rate of askalike"
    yield "divided by that of Lucene in the same round: the median over the rounds and, in brackets, the lowest."
    yield "*equal* is the share of queries for which both have the same scores of all hits, to 1e-5."
    yield ""
    cells = ("data", "queries", "similarity", "k")
    lines = []
    for key in sorted({tuple(row[name] for name in cells) for row in rows}, key=_by_size):
        own = {row["engine"]: row for row in rows if tuple(row[name] for name in cells) == key}
        best, lucene, reordered = own["askalike"], own["lucene"], own.get("lucene-reordered")
        rates = [f"{row['per_s']:,.0f}" if row else "–" for row in (best, lucene, reordered)]
        times = f"{best['ratio_to_lucene']:.1f} ({best['lowest_ratio']:.1f})"
        what = (_questions(key[0]), key[1], _SIMILARITIES[key[2]], str(key[3]), f"{best['n']:,}")
        lines += [(lucene, (*what, *rates, times, f"{100 * lucene['equal']:.0f} %"))]
    head = (
        "questions", "queries", "similarity", "hits", "n", "askalike, per second", "Lucene", "Lucene, reordered",
        "times", "equal",
    )  # fmt: skip
    yield from measured_table(head, lines, "lucene")
    yield from dict.fromkeys(f"- {row['engine']}: {row['settings']}." for row in rows if row["engine"] != "lucene")


def _by_size(key: Sequence[Any]) -> Any:
    size = key[0].rpartition("-")[2]
    return int(size) if size.isdigit() else 0, *key


def _times_bm25s(row: Row) -> str:
    """Return the rate divided by that of bm25s, with the lowest of the rounds; nothing for bm25s itself."""
    return "" if row["engine"] == "bm25s" else f"{row['ratio_to_bm25s']:.2f} ({row['lowest_ratio']:.2f})"


def _questions(data: str) -> str:
    """Return the size of made data, else the name of a real archive."""
    name = data.removeprefix("lucene-")
    return f"{int(name.removeprefix('made-')):,}" if name.startswith("made-") else name


def _served(row: Row) -> str:
    """Return the number of questions of an archive of `serve.py`, or of titles."""
    kind, _, size = row["archive"].rpartition("-")
    return f"{int(size):,}{' titles' * (kind == 'titles')}"


def _optional(name: str, format: str) -> Cell:
    """Return a cell that is empty in rows without a value."""
    return lambda row: "" if row.get(name) is None else format.format(row[name])


def _pair(*cells: Cell) -> Cell:
    return lambda row: " and ".join(_fill(cell, row) for cell in cells)


def _fill(cell: Cell, row: Row) -> str:
    return cell.format(**row) if isinstance(cell, str) else cell(row)


@dataclass(frozen=True)
class Table:
    """A section with one table. text: with names of values of the first row. columns: heads and cells.

    order: the key of a row; by default rows are in the report's order.
    """

    heading: str
    text: str
    columns: Sequence[tuple[str, Cell]]
    order: Callable[[Row], Any] = lambda row: 0

    def section(self, rows: Sequence[Row], benchmark: str) -> Section:
        """Yield the lines of the section."""
        yield from (f"## {self.heading}", "", *self.text.format(**rows[0]).splitlines(), "")
        heads, cells = zip(*self.columns, strict=True)
        lines = [(row, [_fill(cell, row) for cell in cells]) for row in sorted(rows, key=self.order)]
        yield from measured_table(heads, lines, benchmark)


def fan_out_table(rows: Sequence[Row]) -> str:
    """Return the table of searches over many shards, from the lowest simulated rate."""
    head = (
        "questions", "cores for one copy", "p50", "p95", "work of a search", "searches per second at most",
        "cost per hour, two copies",
    )  # fmt: skip
    lines = []
    lowest = min(row["rate"] for row in rows)
    for row in sorted((row for row in rows if row["rate"] == lowest), key=lambda row: row["questions"]):
        cores = -(-row["shards"] // row["shards_per_core"])
        times = (f"{row[name] / 1000:.2f} s" for name in ("p50_ms", "p95_ms"))
        work = f"{row['shards'] * row['shard_s']:,.0f} core-seconds"
        most = f"{1 / (row['shards_per_core'] * row['shard_s']):.1f} per copy"
        lines.append((f"{row['questions']:,}", f"{cores:,}", *times, work, most, f"{2 * cores * CORE_HOUR:g}"))
    what = rows[0]
    shard = what["questions"] // what["shards"]
    command = f"`python benchmarks/fan_out.py --shard {shard} --shards-per-core {what['shards_per_core']}`"
    notes = [
        f"{command}, {lowest} search per second at random moments (Poisson), without network and merging. A core and",
        f"8 GB of memory cost {CORE_HOUR} (euros, dollars) per hour. The search of one shard took",
        f"{1000 * what['shard_s']:.0f} ms on average: {what['hardware']}, which node and client shared; commit",
        f"`{what['commit']}`.",
    ]
    return "\n".join([*markdown_table(head, lines), "", *notes]) + "\n"


STARTS = {
    "--version": "`askalike --version`",
    "--help": "`askalike --help`",
    "search": "`askalike search`",
    "first search": "the first `askalike search` after an installation, which compiles and indexes",
    "first search, compiled": "the same after `askalike compile`, which indexes",
    "compile": "`askalike compile`, all processes",
}
_SIMILARITIES = {
    "bm25": "BM25", "dfr": "DFR", "ib": "IB", "lm_dirichlet": "LM-Dirichlet", "lm_jelinek_mercer": "LM-JM",
    "tfidf": "TF-IDF",
}  # fmt: skip
RANKERS = {
    "default": "words and MiniLM", "hybrid": "words and packaged vectors", "lm_jelinek_mercer": "words",
}  # fmt: skip
"""How tables call the rankers: the default one is that of an archive in English."""
_RANKER = ("ranker", lambda row: RANKERS.get(row["ranker"], row["ranker"]))
_DATA = ("questions", lambda row: _questions(row["data"]))
_QUERIES = ("queries", "{queries}")
TABLES = {
    "search": Table(
        "Lexical search beside bm25s and tantivy: the kernel",
        """\
The same, with the ten best hits. *times* is the rate divided by that of bm25s (numba) in the same round:
the median over the rounds and, in brackets, the lowest.""",
        (
            _DATA, _QUERIES, ("engine", lambda row: f"{row['engine']}, {_SIMILARITIES[row['similarity']]}"),
            ("per second", "{per_s:,.0f}"), ("times", _times_bm25s), ("memory", "{resident_mb:,.0f} MB"),
        ),
        lambda row: _by_size((row["data"], row["queries"])),
    ),
    "rank": Table(
        "Ranking many queries: end to end",
        """\
{n:,} queries, BM25 over title and body as one text, the ten best, one thread, processor time,
in turns. Only `askalike rank` and `rankers.rank` read texts. *times* is as above.""",
        (_DATA, _QUERIES, ("what", "{engine}"), ("per second", "{per_s:,.0f}"), ("times", _times_bm25s)),
        lambda row: _by_size((row["data"], row["queries"])),
    ),
    "runtimes": Table(
        "Encoding titles: two cores",
        """\
The same weights and {n:,} titles, with tokenisation, in turns, two threads each, medians.
*a core* counts the processor time of all threads, which says more where other work shares the machine. The
cosine is that to torch in 32 bits, on average. 16 bits are bf16.""",
        (
            ("model", "{model}"), ("runtime", "{engine}, {bits} bits"), ("titles per second", "{per_s:,.0f}"),
            ("a core", "{per_core_s:,.0f}"), ("cosine", "{cosine:.4f}"),
        ),
        lambda row: (row["model"], -row["per_s"]),
    ),
    "scale": Table(
        "Costs by size: end to end",
        """\
Synthetic titles, or questions of 47 words with their bodies. An index with MiniLM reads every text. Each search is
for a half-typed title and explains seven hits. Memory is the peak, with the index files that are mapped; *own* leaves
these out.""",
        (
            ("questions", lambda row: f"{row['questions']:,}{' with bodies' * row.get('bodies', False)}"), _RANKER,
            ("build: processor time", "{build_processor_s:,.1f} s"), ("memory", "{build_peak_mb:,.0f} MB"),
            ("own", lambda row: f"{row['build_own_mb']:,.0f} MB" if "build_own_mb" in row else "–"),
            ("search: processor ms", "{processor_ms:.1f}"), ("p50 ms", "{p50_ms:.1f}"), ("p95 ms", "{p95_ms:.1f}"),
            ("memory", "{search_peak_mb:,.0f} MB"),
        ),
        lambda row: (row["questions"], row.get("bodies", False), row["ranker"]),
    ),
    "serve": Table(
        "The service under load",
        """\
Requests for half-typed titles, sent on schedule whatever was answered; explained ones say so. The client shares the
cores with the service. *at most* is the rate for clients that ask again at once. Memory is that of all processes,
with the parts of the index that were read.""",
        (
            ("questions", _served),
            ("ranker", lambda row: f"{_RANKER[1](row)}{', explained' * row.get('explain', False)}"),
            ("workers", "{workers:,}"), ("requests per second", "{requests_per_s:,}"),
            ("writes per second", "{writes_per_s:,}"), ("p50 ms", _optional("p50_ms", "{:,.1f}")),
            ("p95 ms", _optional("p95_ms", "{:,.1f}")), ("answered", "{answered:,}"), ("failed", "{failed:,}"),
            ("at most", _optional("saturated_per_s", "{:,.0f} per second")),
            ("processor ms", _optional("processor_ms", "{:.1f}")), ("memory", _optional("memory_mb", "{:,.0f} MB")),
        ),
        lambda row: (
            len(row["archive"]), row["ranker"], row.get("explain", False), row["workers"], row["requests_per_s"],
            row["writes_per_s"],
        ),
    ),
    "request_time": Table(
        "A request alone",
        """Processor time of a request for a title and seven explained hits, one after the other, no two the same: over
HTTP, of the service's processes, and of the same search in a process, explained and not.""",
        (
            ("archive", "{archive}"), _RANKER, ("n", "{requests:,}"), ("over HTTP", "{http_ms:.1f} ms"),
            ("in a process, explained", "{explained_ms:.1f} ms"), ("not explained", "{unexplained_ms:.1f} ms"),
        ),
    ),
    "background": Table(
        "An encoder in the background",
        """How long a new archive answers by words until its vectors are complete, on two cores, with ten searches a
second beside it, and how long these take before, meanwhile and after.""",
        (
            ("questions", lambda row: f"{row['questions']:,}{' with bodies' * row['bodies']}"),
            ("seconds", "{seconds:,.0f}"),
            *((f"{when}: p50, p95", f"{{{when}_p50_ms:.1f}}, {{{when}_p95_ms:.1f}} ms")
              for when in ("before", "during", "after")),
        ),
    ),
    "start": Table(
        "Start of the command line",
        "The bundled example, medians of {runs} runs, at most three of the first search.",
        (("command", lambda row: STARTS[row["command"]]), ("processor time", "{processor_s:.2f} s")),
    ),
    "cluster": Table(
        "OpenSearch beside the local engine",
        """\
Synthetic titles, ten hits without explanations. All nodes and the client share one machine. Several nodes there
show the cost of their communication, not the gain from more machines.""",
        (
            ("questions", "{questions:,}"), _RANKER, ("engine", lambda row: row["engine"].replace("1 nodes", "1 node")),
            ("indexed per second", "{indexed_per_s:,g}"), ("searches per second, 8 threads", "{searches_per_s:,g}"),
            ("p50 ms", "{p50_ms:,g}"), ("p95 ms", "{p95_ms:,g}"),
        ),
        lambda row: (row["questions"], row["ranker"] != "default", row["engine"] != "local", row["engine"]),
    ),
    "cluster_faults": Table(
        "When a node of the cluster fails",
        """\
Three nodes with all copies, 50 searches and 20 writes per second (fewer where the machine is too slow),
one run each, after {warm_up_s:.0f} seconds of load. The node is away for {seconds:.0f} seconds; the times
count until the cluster is green again. All nodes and the client share one machine. *load* is its load
average at the end, since a busy machine adds to the times.""",
        (
            ("event", "{event}"), ("longest time without a search", "{longest_s_without_search:.2f} s"),
            ("without a write", "{longest_s_without_write:.2f} s"),
            ("searches and writes per second before",
             _pair("{searches_per_s_before:.1f}", "{writes_per_s_before:.1f}")),
            ("while it is away", _pair(lambda row: f"{row['searches_meanwhile'] / row['seconds']:.1f}",
                                       lambda row: f"{row['writes_meanwhile'] / row['seconds']:.1f}")),
            ("errors", "{errors:,}"), ("lost", "{lost:,}"), ("load", "{load_average:,}"),
        ),
    ),
}  # fmt: skip
"""Name of a report → its section, in the order of the page, after that of Lucene."""
