"""Processor time of a request for similar questions, over HTTP, one after the other: of the service's own processes.

    python benchmarks/request_time.py --archive DIR                # seven hits, with the archive's own ranker
    python benchmarks/request_time.py --archive DIR --rankers default hybrid

No two titles are the same, and none is that of a question, so that no vector is in a cache: each query is encoded. The
same is measured in this process, with and without explanations, to tell what they and HTTP cost.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from _clients import Pool
from _rows import add_row, make_parser
from _served import DEFAULT, Served, titles

from askalike.search.archive_retriever import ArchiveRetriever

HITS = 7


def main() -> None:
    parser = make_parser(__doc__, "request_time.json")
    parser.add_argument("--archive", type=Path, required=True, help="an archive that has been indexed")
    parser.add_argument("--rankers", nargs="*", default=[DEFAULT])
    parser.add_argument("--requests", type=int, default=400, help="how many are measured")
    parser.add_argument("--warm-up", type=int, default=400, help="how many precede them, with other titles")
    options = parser.parse_args()
    asked = list(dict.fromkeys(f"{title} again" for title in titles(options.archive, 1 << 20)))
    n_asked = options.warm_up + options.requests
    if len(asked) < n_asked:
        parser.error(f"{options.archive}: {len(asked)} distinct titles; --warm-up and --requests need {n_asked}")
    step = len(asked) // n_asked
    for ranker in options.rankers:
        measured = measure(options, ranker, asked[: step * n_asked : step])
        print(ranker, "  ".join(f"{name} {value:.2f}" for name, value in measured.items()), flush=True)
        what = {"archive": options.archive.resolve().name, "ranker": ranker, "requests": options.requests}
        add_row(options.output, what | measured, tuple(what))


def measure(options: argparse.Namespace, ranker: str, asked: Sequence[str]) -> dict[str, float]:
    """Return milliseconds of processor time for each request: over HTTP, in this process, and without explanations."""
    warm_up, measured = asked[: options.warm_up], asked[options.warm_up :]
    with Served(options.archive, ranker, "--workers", "1", "--set", "requests_per_s=0") as served:
        where = "127.0.0.1", served.port, f"/v1/{options.archive.resolve().name}/similar"
        asyncio.run(ask(*where, warm_up))
        idle_s = _idle_s(served)
        before_s, started = served.processor_s(), time.perf_counter()
        asyncio.run(ask(*where, measured))
        took_s = time.perf_counter() - started
        http_ms = 1000 * (served.processor_s() - before_s - idle_s * took_s) / len(measured)
    named = None if ranker == DEFAULT else ranker
    explained, unexplained = search(options.archive, named, asked, len(warm_up))
    return {"http_ms": http_ms, "explained_ms": explained, "unexplained_ms": unexplained}


def _idle_s(served: Served, seconds: float = 3) -> float:
    """Return the processor time of the idle service in each second."""
    before_s = served.processor_s()
    time.sleep(seconds)
    return (served.processor_s() - before_s) / seconds


async def ask(host: str, port: int, path: str, asked: Sequence[str]) -> None:
    """Send the requests, each after the answer to the one before."""
    pool = Pool(host, port)
    for title in asked:
        body = {"title": title, "k": HITS, "min_similarity": 0, "explain": True}
        if (status := await pool.ask("POST", path, json.dumps(body).encode())) != 200:
            raise SystemExit(f"{path}: status {status}; expected 200")
    pool.close()


def search(path: Path, ranker: str | None, asked: Sequence[str], n_warm: int) -> tuple[float, float]:
    """Return milliseconds of processor time for a search with explanations and one without, in turns, after the first.

    Half of the titles are asked in each way.
    """
    times: tuple[list[float], list[float]] = ([], [])
    with ArchiveRetriever.open(path, ranker) as retriever:
        for n, title in enumerate(asked):
            way = 0 if n < n_warm else n % 2
            started = time.process_time()
            retriever.search(title, HITS, min_similarity=0, explain=not way)
            if n >= n_warm:
                times[way].append(time.process_time() - started)
    explained, unexplained = (1000 * mean(own) for own in times)
    return explained, unexplained


if __name__ == "__main__":
    main()
