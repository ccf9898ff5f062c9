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


def measured_table(head: Sequence[str], lines: Sequence[tuple[Row, Sequence[str]]], benchmark: str) -> Section:
    """Yield a table with a letter for the origin of each line, and what the letters stand for.

    lines: a row of the report that says where a line comes from, and its cells.
    """
    letters = {origin: chr(ord("a") + n) for n, origin in enumerate(dict.fromkeys(_origin(row) for row, _ in lines))}
    yield table_row((*head, "measured"))
    yield table_row(("---",) * (1 + len(head)))
    for row, cells in lines:
        yield table_row((*cells, letters[_origin(row)]))
    yield ""
    yield f"Measured by `python benchmarks/{benchmark}.py`:"
    yield ""
    yield from (f"- {letter}: {origin}." for origin, letter in letters.items())
    yield from dict.fromkeys(f"- {row['engine']}: {row['settings']}." for row, _ in lines if "settings" in row)


def _origin(row: Row) -> str:
    versions = "".join(f", {name} {number}" for name, number in row.get("versions", {}).items())
    return f"commit `{row['commit']}`, {row['hardware']}{versions}"


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


def search_section(rows: Sequence[Row]) -> Section:
    """Yield the table of lexical search compared with bm25s and tantivy."""
    yield from ("## Lexical search beside bm25s and tantivy: the kernel", "")
    yield "The same, with the ten best hits. *times* is the rate divided by that of bm25s (numba) in the same round:"
    yield "the median over the rounds and, in brackets, the lowest."
    yield ""
    lines = []
    for row in sorted(rows, key=lambda row: _by_size((row["data"], row["queries"]))):
        system = f"{row['engine']}, {_SIMILARITIES[row['similarity']]}"
        figures = (f"{row['per_s']:,.0f}", _times_bm25s(row), f"{row['resident_mb']:,.0f} MB")
        lines.append((row, (_questions(row["data"]), row["queries"], system, *figures)))
    yield from measured_table(("questions", "queries", "engine", "per second", "times", "memory"), lines, "search")


def _times_bm25s(row: Row) -> str:
    """Return the rate divided by that of bm25s, with the lowest of the rounds; nothing for bm25s itself."""
    return "" if row["engine"] == "bm25s" else f"{row['ratio_to_bm25s']:.2f} ({row['lowest_ratio']:.2f})"


def rank_section(rows: Sequence[Row]) -> Section:
    """Yield the table of many queries ranked at once, beside bm25s."""
    yield from ("## Ranking many queries: end to end", "")
    yield f"{rows[0]['n']:,} queries, BM25 over title and body as one text, the ten best, one thread, processor time,"
    yield "in turns. Only `askalike rank` and `rankers.rank` read texts. *times* is as above."
    yield ""
    lines = []
    for row in sorted(rows, key=lambda row: _by_size((row["data"], row["queries"]))):
        cells = (_questions(row["data"]), row["queries"], row["engine"], f"{row['per_s']:,.0f}", _times_bm25s(row))
        lines.append((row, cells))
    yield from measured_table(("questions", "queries", "what", "per second", "times"), lines, "rank")


def runtimes_section(rows: Sequence[Row]) -> Section:
    """Yield the table of pre-trained encoders in several runtimes."""
    yield from ("## Encoding titles: two cores", "")
    yield f"The same weights and {rows[0]['n']:,} titles, with tokenisation, in turns, two threads each, medians."
    yield "*a core* counts the processor time of all threads, which says more where other work shares the machine. The"
    yield "cosine is that to torch in 32 bits, on average. 16 bits are bf16."
    yield ""
    lines = []
    for row in sorted(rows, key=lambda row: (row["model"], -row["per_s"])):
        figures = (f"{row['per_s']:,.0f}", f"{row['per_core_s']:,.0f}", f"{row['cosine']:.4f}")
        lines.append((row, (row["model"], f"{row['engine']}, {row['bits']} bits", *figures)))
    yield from measured_table(("model", "runtime", "titles per second", "a core", "cosine"), lines, "runtimes")


def scale_section(rows: Sequence[Row]) -> Section:
    """Yield the table of costs by the size of an archive."""
    yield from ("## Costs by size: end to end", "")
    yield "Synthetic titles. Each search is for a half-typed title and explains seven hits. Memory is the peak, with"
    yield "the index files that are mapped; *own* leaves these out."
    yield ""
    lines = []
    for row in sorted(rows, key=lambda row: (row["questions"], row["ranker"])):
        own = f"{row['build_own_mb']:,.0f} MB" if "build_own_mb" in row else "–"
        build = (f"{row['build_processor_s']:,.1f} s", f"{row['build_peak_mb']:,.0f} MB", own)
        times = (f"{row[name]:.1f}" for name in ("processor_ms", "p50_ms", "p95_ms"))
        search = (*times, f"{row['search_peak_mb']:,.0f} MB")
        lines.append((row, (f"{row['questions']:,}", row["ranker"], *build, *search)))
    head = (
        "questions", "ranker", "build: processor time", "memory", "own", "search: processor ms", "p50 ms", "p95 ms",
        "memory",
    )  # fmt: skip
    yield from measured_table(head, lines, "scale")


def _questions(data: str) -> str:
    """Return the size of made data, else the name of a real archive."""
    name = data.removeprefix("lucene-")
    return f"{int(name.removeprefix('made-')):,}" if name.startswith("made-") else name


def serve_section(rows: Sequence[Row]) -> Section:
    """Yield the table of the service under load."""
    yield from ("## The service under load", "")
    yield f"{rows[0]['requests_per_s']} requests per second for half-typed titles, sent on schedule whatever was"
    yield "answered. The client shares the cores with the service. *at most* is the rate for clients that ask again at"
    yield "once."
    yield ""
    lines = []
    for row in sorted(rows, key=lambda row: (len(row["archive"]), row["ranker"], row["workers"], row["writes_per_s"])):
        counts = (f"{row[name]:,}" for name in ("workers", "writes_per_s"))
        times = (f"{row[name]:,.1f}" if row[name] is not None else "" for name in ("p50_ms", "p95_ms"))
        answers = (f"{row[name]:,}" for name in ("answered", "failed"))
        most = f"{row['saturated_per_s']:,.0f} per second" if "saturated_per_s" in row else ""
        lines.append((row, (row["archive"], row["ranker"], *counts, *times, *answers, most)))
    head = ("archive", "ranker", "workers", "writes per second", "p50 ms", "p95 ms", "answered", "failed", "at most")
    yield from measured_table(head, lines, "serve")


def start_section(rows: Sequence[Row]) -> Section:
    """Yield the table of start-up times of the command line."""
    yield from ("## Start of the command line", "")
    yield f"The bundled example, medians of {rows[0]['runs']} runs, at most three of the first search."
    yield ""
    lines = [(row, (STARTS[row["command"]], f"{row['processor_s']:.2f} s")) for row in rows]
    yield from measured_table(("command", "processor time"), lines, "start")


def cluster_section(rows: Sequence[Row]) -> Section:
    """Yield the table of OpenSearch compared with the local engine."""
    yield from ("## OpenSearch beside the local engine", "")
    yield f"Synthetic titles, `{rows[0]['ranker']}`. All nodes and the client share one machine. Several nodes there"
    yield "show the cost of their communication, not the gain from more machines."
    yield ""
    lines = []
    for row in sorted(rows, key=lambda row: (row["questions"], row["engine"] != "local", row["engine"])):
        engine = {"local": "local", "1 nodes": "1 node"}.get(row["engine"], row["engine"])
        figures = (f"{row[name]:,g}" for name in ("indexed_per_s", "searches_per_s", "p50_ms", "p95_ms"))
        lines.append((row, (f"{row['questions']:,}", engine, *figures)))
    head = ("questions", "engine", "indexed per second", "searches per second, 8 threads", "p50 ms", "p95 ms")
    yield from measured_table(head, lines, "cluster")


def faults_section(rows: Sequence[Row]) -> Section:
    """Yield the table of nodes that are killed or cut off."""
    yield from ("## When a node of the cluster fails", "")
    warm_up, seconds = rows[0]["warm_up_s"], rows[0]["seconds"]
    yield "Three nodes with all copies, 50 searches and 20 writes per second (fewer where the machine is too slow),"
    yield f"one run each, after {warm_up:.0f} seconds of load. The node is away for {seconds:.0f} seconds; the times"
    yield "count until the cluster is green again. All nodes and the client share one machine. *load* is its load"
    yield "average at the end, since a busy machine adds to the times."
    yield ""
    lines = []
    for row in rows:
        gaps = (f"{row[f'longest_s_without_{kind}']:.2f} s" for kind in ("search", "write"))
        before = (row[f"{kind}_per_s_before"] for kind in ("searches", "writes"))
        away = (row[f"{kind}_meanwhile"] / row["seconds"] for kind in ("searches", "writes"))
        pairs = (" and ".join(f"{rate:.1f}" for rate in rates) for rates in (before, away))
        counts = (f"{row[name]:,}" for name in ("errors", "lost", "load_average"))
        lines.append((row, (row["event"], *gaps, *pairs, *counts)))
    head = (
        "event", "longest time without a search", "without a write", "searches and writes per second before",
        "while it is away", "errors", "lost", "load",
    )  # fmt: skip
    yield from measured_table(head, lines, "cluster_faults")


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
SECTIONS = {
    "lucene": lucene_section,
    "search": search_section,
    "rank": rank_section,
    "runtimes": runtimes_section,
    "scale": scale_section,
    "serve": serve_section,
    "start": start_section,
    "cluster": cluster_section,
    "cluster_faults": faults_section,
}
"""Name of a report → the function that makes its section, in the order of the page."""
