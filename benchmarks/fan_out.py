"""What a search over many shards waits for, simulated from what searches of one shard took (cluster.py measures them).

    python benchmarks/cluster.py --questions 100000 --nodes 1
    python benchmarks/fan_out.py --shard 100000

A search goes to one copy of every shard, and is over when the slowest has answered. A core works on one search of one
shard at a time, in the order in which they came; searches come at random moments (Poisson). The network and the merging
of the shards' answers are not in it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _rows import DATA, add_row

SIZES = (10**7, 10**8, 10**9)
RATES = (1, 10, 100)
SEARCHES = 4_000


def simulate_fan_out(
    shard_ms: Sequence[float], shards: int, rate: float, shards_per_core: int = 1, searches: int = SEARCHES
) -> tuple[float, float]:
    """Median and 95th percentile of a search's milliseconds over so many shards.

    shard_ms: what searches of one shard took alone. rate: searches a second that one copy of the archive gets.
    Waiting is Lindley's recursion (1952): a core begins with a search when it has come and the one before it is done.
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--shard", type=int, default=1_000_000, help="questions in a shard, as cluster.py measured them"
    )
    parser.add_argument("--shards-per-core", type=int, default=1)
    parser.add_argument("--input", type=Path, default=DATA / "cluster.json")
    parser.add_argument("--output", type=Path, default=DATA / "fan_out.json")
    options = parser.parse_args()
    rows = json.loads(options.input.read_text(encoding="utf-8")) if options.input.exists() else []
    measured = [row["ms"] for row in rows if (row["questions"], row["engine"]) == (options.shard, "1 nodes")]
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
                print(f"{line}  more than the cores can do: {int(load) + 1} copies are needed at least")
                continue
            p50, p95 = simulate_fan_out(measured[0], shards, rate, options.shards_per_core)
            print(f"{line} {p50:8.1f} {p95:8.1f}", flush=True)
            add_row(options.output, {**what, "shard_s": shard_s, "p50_ms": p50, "p95_ms": p95}, tuple(what))
    return 0


if __name__ == "__main__":
    sys.exit(main())
