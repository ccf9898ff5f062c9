"""A cluster beside the local engine: searches a second, p95, and indexing, with 1 and 3 nodes; needs a JDK and Maven.

    python benchmarks/cluster.py                                   # 100,000 and 1,000,000 made questions
    python benchmarks/cluster.py --questions 10000 --nodes 1       # small

Every engine answers the same queries, one at a time and from 8 threads, after a warm-up. A simulation of the fan-out
follows: what a query over many shards waits for is the slowest of them.
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from _synthetic import spelled, texts

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from opensearch.jars import NoClusterError
from opensearch.nodes import Cluster

from askalike import rankers
from askalike.engines.opensearch import init_cluster
from askalike.index.cluster.connection import connect
from askalike.store import Archive
from askalike.types import Question

DATA = Path(__file__).parents[1] / "bench-data"
THREADS = 8
FAN_OUT = (10, 100, 1_000)
"""Shards of as many questions as one node was measured with."""


def made_archive(n: int) -> Path:
    """An archive of n made questions: titles of about ten words."""
    path = DATA / f"cluster-{n}"
    if not path.exists():
        with Archive.create(path) as archive:
            pairs = enumerate(texts(n))
            archive.upsert(Question(f"q{i}", " ".join(map(spelled, title)), language="en") for i, (title, _) in pairs)
    return path


def measure(path: Path, engine: str | None, queries: Sequence[Question]) -> tuple[dict[str, float], list[float]]:
    """Seconds of indexing, searches a second, p50 and p95 of single searches; and the milliseconds of each of these."""
    with Archive.open(path, engine) as archive:
        started = time.perf_counter()
        searcher = rankers.open_current(rankers.create("lm_jelinek_mercer"), archive.view())
        index_s = time.perf_counter() - started

        def search(query: Question) -> float:
            begun = time.perf_counter()
            for _ in searcher.search({query.id: query}, 10).topdocs:
                pass
            return 1000 * (time.perf_counter() - begun)

        for query in queries[: len(queries) // 4]:
            search(query)
        alone = [search(query) for query in queries]
        started = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as pool:
            together = list(pool.map(search, queries))
        rate = len(together) / (time.perf_counter() - started)
    p95 = float(np.percentile(alone, 95))
    return {"index_s": index_s, "p50_ms": statistics.median(alone), "p95_ms": p95, "searches_per_s": rate}, alone


def show(questions: int, engine: str, row: dict[str, float]) -> None:
    figures = {name: float(f"{value:.3g}") for name, value in row.items()}
    print(json.dumps({"questions": questions, "engine": engine, **figures}), flush=True)


def index_bytes(url: str) -> int:
    """Bytes of all indexes without their replicas."""
    return int(connect(url).request("GET", "/askalike-*/_stats/store")["_all"]["primaries"]["store"]["size_in_bytes"])


def simulate_fan_out(
    shard_ms: Sequence[float], shards: Sequence[int], draws: int = 10_000
) -> dict[int, tuple[float, float]]:
    """Shards → p50 and p95 of the slowest of so many searches, drawn from those that were measured on one."""
    rng = np.random.default_rng(0)
    slowest = {n: rng.choice(np.asarray(shard_ms), (draws, n)).max(axis=1) for n in shards}
    return {n: (float(np.median(ms)), float(np.percentile(ms, 95))) for n, ms in slowest.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--nodes", type=int, nargs="*", default=[1, 3], choices=(1, 2, 3))
    parser.add_argument("--queries", type=int, default=400)
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores; all nodes and the client share them")
    for n in options.questions:
        path = made_archive(n)
        queries = [
            Question(f"typed{i}", " ".join(map(spelled, title)))
            for i, (title, _) in enumerate(texts(options.queries, 1))
        ]
        show(n, "local", measure(path, None, queries)[0])
        for nodes in options.nodes:
            try:
                with Cluster(nodes, heap="1g") as cluster:
                    init_cluster(cluster.url, shards=nodes, replicas=0)
                    row, alone = measure(path, cluster.url, queries)
                    show(n, f"{nodes} nodes", row | {"bytes_per_question": index_bytes(cluster.url) / n})
            except NoClusterError as error:
                print(error, file=sys.stderr)
                return 2
            if nodes == 1:
                for shards, (p50, p95) in simulate_fan_out(alone, FAN_OUT).items():
                    show(n * shards, f"{shards} shards, simulated", {"p50_ms": p50, "p95_ms": p95})
    return 0


if __name__ == "__main__":
    sys.exit(main())
