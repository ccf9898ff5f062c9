"""Simulates the time of a search over many shards from the times of searches of one shard (measured by cluster.py).

    python benchmarks/cluster.py --questions 100000 --nodes 1
    python benchmarks/fan_out.py --shard 100000

A search goes to one copy of every shard, and ends when the slowest has answered. A core works on one search of one
shard at a time, in order of arrival; searches arrive at random (Poisson). The network and the merging of the shards'
answers are not included.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _rows import DATA, add_row, make_parser

SIZES = (10**7, 10**8, 10**9)
RATES = (1, 10, 100)
SEARCHES = 4_000


def simulate_fan_out(
    shard_ms: Sequence[float], shards: int, rate: float, shards_per_core: int = 1, searches: int = SEARCHES
) -> tuple[float, float]:
    """Return the median and 95th percentile of a search's milliseconds over a number of shards.

    shard_ms: times of searches of one shard alone. rate: searches per second on one copy of the archive.
    Waiting is Lindley's recursion (1952): a core begins a search once it has arrived and the previous one is done.
    """
    rng, measured = np.random.default_rng(0), np.asarray(shard_ms)
    arrival = np.cumsum(rng.exponential(1_000 / rate, searches))
    slowest = np.zeros(searches)
    for _ in range(-(-shards // shards_per_core)):
        busy = rng.choice(measured, (searches, shards_per_core)).sum(axis=1)
        done = np.cumsum(busy)
        end = done + np.maximum.accumulate(arrival - (done - busy))
        slowest = np.maximum(slowest, end - arrival)
    return float(np.median(slowest)), float(np.percentile(slowest, 95))


def main() -> int:
    parser = make_parser(__doc__, "fan_out.json")
    parser.add_argument("--shard", type=int, default=1_000_000, help="questions per shard, as measured by cluster.py")
    parser.add_argument("--shards-per-core", type=int, default=1)
    parser.add_argument("--input", type=Path, default=DATA / "cluster.json")
    options = parser.parse_args()
    rows = json.loads(options.input.read_text(encoding="utf-8")) if options.input.exists() else []
    wanted = options.shard, "1 nodes", "lm_jelinek_mercer"
    measured = [row["ms"] for row in rows if (row["questions"], row["engine"], row["ranker"]) == wanted]
    if not measured:
        print(f"{options.input} has no searches of {options.shard:,} questions; run cluster.py first", file=sys.stderr)
        return 2
    print(f"{'questions':>15} {'shards':>7} {'searches/s':>11} {'load':>6} {'p50 ms':>8} {'p95 ms':>8}")
    shard_s = float(np.mean(measured[0])) / 1_000
    for questions in SIZES:
        shards = max(1, questions // options.shard)
        for rate in RATES:
            load = rate * options.shards_per_core * shard_s
            what = {"questions": questions, "shards": shards, "rate": rate, "shards_per_core": options.shards_per_core}
            line = f"{questions:15,} {shards:7,} {rate:11} {load:6.2f}"
            if load >= 1:
                print(f"{line}  more than the cores can do: at least {int(load) + 1} copies are needed")
                continue
            p50, p95 = simulate_fan_out(measured[0], shards, rate, options.shards_per_core)
            print(f"{line} {p50:8.1f} {p95:8.1f}", flush=True)
            add_row(options.output, {**what, "shard_s": shard_s, "p50_ms": p50, "p95_ms": p95}, tuple(what))
    return 0


if __name__ == "__main__":
    sys.exit(main())
