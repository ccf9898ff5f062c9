"""Similar questions over HTTP while 50 people type and, by turns, a site writes 50 questions a second: an open loop.

    python benchmarks/serve.py                         # a million synthetic questions, created and indexed once
    python benchmarks/serve.py --questions 100000
    python benchmarks/serve.py --archive DIR           # an archive of your own; the written questions stay in it

Each client sends the prefix typed so far every 250 ms (200 requests per second in total) on schedule, regardless of
responses; times are measured from the schedule. Saturation is separate: clients send the next request after each
response. Processor time is that of all processes of the service, without writes, for each request answered.
"""

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _clients import EVERY_S, Outcome, load, saturate
from _rows import add_row, make_parser
from _served import DEFAULT, Served, archive, named, titles

AT_ONCE = 16
RANKERS = (DEFAULT, "hybrid", "lm_jelinek_mercer")


TIMES = ("p50_ms", "p95_ms", "p99_ms", "longest_ms")


def summary(outcome: Outcome) -> dict[str, float | None]:
    """Return the numbers of answered and failed requests, and the times of those answered; None if none was."""
    ms = (np.percentile(outcome.seconds, [50, 95, 99, 100]) * 1000).tolist() if outcome.seconds else [None] * 4
    return {"answered": len(outcome.seconds), **dict(zip(TIMES, ms, strict=True)), "failed": len(outcome.errors)}


def line(name: str, workers: int, writes: int, outcome: Outcome) -> str:
    found = summary(outcome)
    times = " ".join(f"{np.nan if found[t] is None else found[t]:8.1f}" for t in TIMES)
    errors = " ".join(sorted(set(outcome.errors)))
    return f"{name:24} {workers:7} {writes:8} {found['answered']:8} {times} {found['failed']:7} {errors}"


def measure_ranker(path: Path, ranker: str, workers: int, options: argparse.Namespace, asked: Sequence[str]) -> None:
    """Measure without writes, saturated, and last with writes, as written questions would affect the rest."""
    more = ("--workers", workers, "--set", "requests_per_s=0")
    name, clients, fields = path.resolve().name, options.clients, {"explain": True} if options.explain else {}
    with Served(path, ranker, *map(str, more)) as served:
        where = "127.0.0.1", served.port, name, asked
        asyncio.run(load(*where, clients, 0, options.warm_up, **fields))
        for writes in sorted({0, options.writes}):
            before_s = served.processor_s()
            found, written = asyncio.run(load(*where, clients, writes, options.seconds, **fields))
            processor_ms = 1000 * (served.processor_s() - before_s) / max(1, len(found.seconds))
            print(line(ranker, workers, writes, found), flush=True)
            rates = {"requests_per_s": round(clients / EVERY_S), "writes_per_s": writes}
            what = {"archive": name, "ranker": ranker, "workers": workers, **rates, **fields}
            measured = {**what, **summary(found)}
            if writes:
                print(line("  the writes", workers, writes, written), flush=True)
                measured["writes"] = summary(written)
            else:
                before_s = served.processor_s()
                rate = asyncio.run(saturate(*where, AT_ONCE, options.warm_up, **fields))
                saturated_ms = 1000 * (served.processor_s() - before_s) / max(1.0, rate * options.warm_up)
                measured |= {"saturated_per_s": rate, "started_s": served.seconds_to_start}
                measured |= {"processor_ms": processor_ms, "saturated_processor_ms": saturated_ms}
                measured |= {"memory_mb": served.memory_mb()}
                times = f"{processor_ms:.2f} ms a request, saturated {saturated_ms:.2f}; {measured['memory_mb']:.0f} MB"
                print(f"{'  processor time':24} {workers:7} {times:>17}", flush=True)
            add_row(options.output, measured, tuple(what))
        print(
            f"{'  saturated':24} {workers:7} {rate:17.0f} answers a second; started in {served.seconds_to_start:.1f} s"
        )


def main() -> None:
    parser = make_parser(__doc__, "serve.json")
    parser.add_argument("--questions", type=int, default=1_000_000, help="how many made questions")
    parser.add_argument("--archive", type=Path, help="an archive of your own instead")
    parser.add_argument("--rankers", nargs="*", default=list(RANKERS))
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--clients", type=int, default=50, help="who type, four requests a second each")
    parser.add_argument("--explain", action="store_true", help="ask for explanations")
    parser.add_argument("--writes", type=int, default=50, help="questions written a second; 0 measures searches alone")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement")
    parser.add_argument("--warm-up", type=float, default=5, help="seconds before the first measurement")
    parser.add_argument("--prepare", action="store_true", help="only create and index the questions, the longest part")
    options = parser.parse_args()
    path = options.archive or archive(options.questions)
    for ranker in options.rankers:
        indexed(path, ranker)
    if not options.prepare:
        measure(path, options)


def indexed(path: Path, ranker: str) -> None:
    command = [sys.executable, "-m", "askalike", "index", path, *named(ranker)]
    started = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    print(f"{path.name}: {ranker} indexed in {time.perf_counter() - started:.0f} s", flush=True)


def measure(path: Path, options: argparse.Namespace) -> None:
    asked = titles(path)
    how = f"{options.clients} clients, every 250 ms, {options.seconds:g} s each"
    print(f"{path.name}: {how}; ms from when a request was due\n")
    head = " ".join(f"{h:>8}" for h in ("answered", "p50", "p95", "p99", "longest"))
    print(f"{'ranker':24} workers writes/s {head}  errors")
    for ranker in options.rankers:
        for workers in options.workers:
            measure_ranker(path, ranker, workers, options, asked)


if __name__ == "__main__":
    main()
