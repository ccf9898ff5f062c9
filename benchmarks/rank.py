"""Ranking many queries end to end: `askalike rank`, a searcher in Python, the search kernel alone, and bm25s.

    python benchmarks/rank.py                     # 100,000 synthetic questions
    python benchmarks/rank.py --sizes 1000000

BM25 over title and body as one text, the ten best, one thread each, processor time, in turns. `askalike rank` is the
whole process less one over 20 queries: it reads queries, analyses them, looks for misspelt words, searches, and writes
ids and scores. `rankers.rank` is the same without the files, in a process that has seen the queries' words. The kernel
and bm25s get the queries as lists of terms.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

from _race import ONE_THREAD, Worker, write_data
from _rows import DATA, add_row, make_parser
from _synthetic import texts

HERE = Path(__file__).parent
QUERIES, FEW = 2_000, 20
RANKER = ("--ranker", "bm25", "--set", "fields=text")
KINDS = ("title", "title+body")
ENGINES = ("askalike rank", "rankers.rank", "kernel", "bm25s")
SETTINGS = {
    "askalike rank": "`--ranker bm25 --set fields=text -k 10`, the whole process less one over 20 queries",
    "rankers.rank": "queries as texts in, a run out",
    "kernel": "terms in, docids and scores out",
    "bm25s": "method lucene, numba, terms in, docids and scores out",
}


def make_archive(data: Path, size: int) -> None:
    """Write and index the archive, and the files of queries that `askalike rank` reads."""
    import askalike

    with askalike.Archive.create(data / "archive") as archive:
        for n, (title, body) in enumerate(texts(size)):
            if not n % 50_000:
                questions: list[askalike.Question] = []
            questions.append(askalike.Question(f"s{n}", " ".join(title), " ".join(body)))
            if len(questions) == 50_000 or n == size - 1:
                archive.upsert(questions)
    titles = (data / "title.tsv").read_text().splitlines()
    wholes = (data / "title+body.tsv").read_text().splitlines()
    for count in (FEW, QUERIES):
        for kind in KINDS:
            rows = [
                {"id": f"q{n}", "title": title.replace("\t", " ")}
                | ({"body": whole.removeprefix(title).replace("\t", " ").strip()} if kind != "title" else {})
                for n, (title, whole) in enumerate(zip(titles, wholes, strict=True))
            ]
            (data / f"{kind}-{count}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:count]))


def rank_seconds(data: Path, kind: str, count: int) -> float:
    """Return the processor time of a process that ranks the first queries."""
    queries, run = data / f"{kind}-{count}.jsonl", data / "run.trec"
    command = [sys.executable, "-m", "askalike", "rank", data / "archive", "--queries", queries, "-o", run, "-k", "10"]
    process = subprocess.Popen([*command, *RANKER], stdout=subprocess.DEVNULL, env={**os.environ, **ONE_THREAD})
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    return usage.ru_utime + usage.ru_stime


def race(data: Path, size: int, kind: str, rounds: int, output: Path) -> None:
    """Measure all in turns; a first round does not count."""
    from askalike import rankers
    from askalike.readers import read_queries
    from askalike.store import Archive

    workers = {"kernel": Worker([sys.executable, HERE / "_worker.py", "askalike", data, data / "askalike"])}
    workers["bm25s"] = Worker([sys.executable, HERE / "_worker.py", "bm25s", data, data / "bm25s"])
    for worker in workers.values():
        worker("build")
        worker("open")
    seconds: dict[str, list[float]] = {engine: [] for engine in ENGINES}
    with Archive.open(data / "archive") as archive:
        ranker = rankers.create("bm25", {"fields": "text"}, archive)
        searcher = rankers.open_current(ranker, archive.view())
        queries = read_queries(data / f"{kind}-{QUERIES}.jsonl")
        for turn in range(rounds + 1):
            took = {engine: worker(f"search {kind} bm25")["seconds"] for engine, worker in workers.items()}
            started = time.thread_time()
            rankers.rank(searcher, queries, 10)
            took["rankers.rank"] = time.thread_time() - started
            whole, few = (rank_seconds(data, kind, count) for count in (QUERIES, FEW))
            took["askalike rank"] = (whole - few) * QUERIES / (QUERIES - FEW)
            for engine, own in took.items():
                seconds[engine] += [own] if turn else []
    for worker in workers.values():
        worker.close()
    for engine, own in seconds.items():
        ratios = [b / a for a, b in zip(own, seconds["bm25s"], strict=True)]
        figures = {"per_s": QUERIES / statistics.median(own), "ratio_to_bm25s": statistics.median(ratios)}
        print(
            f"{kind:12} {engine:14} {figures['per_s']:10.0f} {figures['ratio_to_bm25s']:8.2f} {min(ratios):8.2f}",
            flush=True,
        )
        what = {"data": f"made-{size}", "queries": kind, "engine": engine, "n": QUERIES}
        row = {**what, **figures, "lowest_ratio": min(ratios), "settings": SETTINGS[engine]}
        add_row(output, row | {"versions": {"bm25s": version("bm25s")}}, tuple(what))


def main() -> None:
    parser = make_parser(__doc__, "rank.json")
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000], help="how many made questions")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    os.environ.update(ONE_THREAD)
    for size in options.sizes:
        data = DATA / f"rank-{size}"
        shutil.rmtree(data, ignore_errors=True)
        write_data(texts(size), size, data, QUERIES)
        make_archive(data, size)
        print(f"\n{'queries':12} {'engine':14} {'per second':>10} {'× bm25s':>8} {'lowest':>8}")
        for kind in KINDS:
            race(data, size, kind, options.rounds, options.output)


if __name__ == "__main__":
    main()
