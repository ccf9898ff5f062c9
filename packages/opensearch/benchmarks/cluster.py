"""Compares a cluster of 1 and 3 nodes with the local engine: searches per second, p95, indexing; needs a JDK and Maven.

    python packages/opensearch/benchmarks/cluster.py  # 100,000 and 1,000,000 synthetic questions
    python packages/opensearch/benchmarks/cluster.py --questions 10000 --nodes 1  # small
    python packages/opensearch/benchmarks/cluster.py --questions 1000000 --keep  # the next run only searches

Every engine answers the same queries, one at a time and from 8 threads, after a warm-up, with the archive's own ranker
and by words. An encoder's vectors are computed with the first index, and copied into others. The results are also in
bench-data/cluster.json, from which fan_out.py reads the times of searches by words in one shard.
"""

import os
import shutil
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

from _rows import DATA, add_row, make_parser
from _served import DEFAULT
from _synthetic import made_archive, phrase, texts
from cluster.jars import NoClusterError
from cluster.nodes import Cluster

from askalike import rankers
from askalike.core.records import Question
from askalike.rankers import Ranker
from askalike.store import Archive
from askalike_opensearch.connection import connect
from askalike_opensearch.maintenance import init_cluster

THREADS = 8


def create(ranker: str, archive: Archive) -> Ranker:
    """Return a ranker of an archive, its own by default."""
    return rankers.create(None if ranker == DEFAULT else ranker, None, archive)


def build(path: Path, engine: str | None, ranker: str) -> float:
    """Index an archive; return the number of questions indexed per second."""
    with Archive.open(path, engine) as archive:
        started = time.perf_counter()
        create(ranker, archive).build(archive.view())
        return len(archive.view()) / (time.perf_counter() - started)


def build_in(cluster: Cluster, path: Path, ranker: str, note: Path | None) -> float:
    """Index an archive in a new cluster; return the number of questions indexed per second.

    note: the file with that number if the cluster's indexes are kept; if it exists, they are already built.
    """
    if note and note.exists():
        connect(cluster.url).request("GET", "/_cluster/health", wait_for_status="green", timeout="60s")
        return float(note.read_text())
    init_cluster(cluster.url, shards=len(cluster.nodes), replicas=0)
    rate = build(path, f"opensearch+{cluster.url}", ranker)
    if note:
        note.write_text(str(rate))
    return rate


def measure(path: Path, engine: str | None, ranker: str, queries: Sequence[Question]) -> dict[str, Any]:
    """Return searches per second from 8 threads, and the milliseconds of single searches."""
    with Archive.open(path, engine) as archive:
        searcher = rankers.open_current(create(ranker, archive), archive.view())

        def search(query: Question) -> float:
            begun = time.perf_counter()
            for _ in rankers.search(searcher, {query.id: query}, 10).topdocs:
                pass
            return 1000 * (time.perf_counter() - begun)

        for query in queries[: len(queries) // 4]:
            search(query)
        alone = [search(query) for query in queries]
        started = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as pool:
            together = list(pool.map(search, queries))
        rate = len(together) / (time.perf_counter() - started)
    return {
        "searches_per_s": rate,
        "p50_ms": statistics.median(alone),
        "p95_ms": float(np.percentile(alone, 95)),
        "ms": alone,
    }


def store(output: Path, questions: int, ranker: str, engine: str, row: Mapping[str, Any]) -> None:
    """Print the results, and write them into the JSON."""
    figures = {name: float(f"{value:.3g}") for name, value in row.items() if name != "ms"}
    print(
        f"{questions:>10,} {ranker:18} {engine:8}",
        *(f"{name} {value:g}" for name, value in figures.items()),
        flush=True,
    )
    keys = {"questions": questions, "ranker": ranker, "engine": engine}
    add_row(output, {**keys, **figures, "ms": [round(ms, 3) for ms in row["ms"]]}, tuple(keys))


def index_bytes(url: str) -> int:
    """Return the size of all indexes without their replicas, in bytes."""
    return int(connect(url).request("GET", "/askalike-*/_stats/store")["_all"]["primaries"]["store"]["size_in_bytes"])


def main() -> int:
    parser = make_parser(__doc__, "cluster.json")
    parser.add_argument("--questions", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--nodes", type=int, nargs="*", default=[1, 3], choices=(1, 2, 3))
    parser.add_argument("--queries", type=int, default=400)
    parser.add_argument("--rankers", nargs="*", default=[DEFAULT, "lm_jelinek_mercer"])
    parser.add_argument("--keep", action="store_true", help="keep the indexes, and search existing ones")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores; all nodes and the client share them")
    for n, ranker in product(options.questions, options.rankers):
        titled = (Question(f"q{i}", phrase(title), language="en") for i, (title, _) in enumerate(texts(n)))
        path = made_archive(f"cluster-{n}", titled)
        queries = [Question(f"typed{i}", phrase(title)) for i, (title, _) in enumerate(texts(options.queries, 1))]
        shutil.rmtree(path / "index", ignore_errors=True)  # so that building is timed
        row = {"indexed_per_s": build(path, None, ranker), **measure(path, None, ranker, queries)}
        store(options.output, n, ranker, "local", row)
        for nodes in options.nodes:
            folder = DATA / f"cluster-{n}-{ranker}-{nodes}-nodes" if options.keep else None
            try:
                with Cluster(nodes, heap="1g", folder=folder) as cluster:
                    rate = build_in(cluster, path, ranker, folder and folder / "indexed_per_s")
                    row = {"indexed_per_s": rate, **measure(path, f"opensearch+{cluster.url}", ranker, queries)}
                    row["bytes_per_question"] = index_bytes(cluster.url) / n
                    store(options.output, n, ranker, f"{nodes} nodes", row)
            except NoClusterError as error:
                print(error, file=sys.stderr)
                return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
