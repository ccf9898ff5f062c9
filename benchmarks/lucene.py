"""Queries per second of processor time of this index and of Lucene: in turns, one thread, the same tokens.

    python benchmarks/lucene.py                        # 100,000 and 1,000,000 made questions
    python benchmarks/lucene.py --sizes 10000000       # takes an hour, 40 GB of disk and 8 GB of memory
    python benchmarks/lucene.py --archive questions.jsonl

Documents and queries are those of `search.py`. Lucene has one segment in mapped memory, postings without positions, a
searcher that stops counting at k, vector instructions, and searches until it is compiled; `reordered` has its documents
in the order of a recursive graph bisection. Needs a JDK from 21 on, and Maven for the jars (5 MB) the first time.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np
from _race import Worker, write_data
from _rows import DATA, add_row, make_parser
from _synthetic import texts

from askalike.core.files import measure_folder
from askalike.index.files import read_manifest
from search import archive_texts, count_lines

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "packages" / "opensearch" / "tools"))
from cluster.jars import DEPENDENCY_PLUGIN, find_jdk  # noqa: E402 (beside the benchmarks, not installed)

VERSION = "10.4.0"
JAVA = (
    "-Xmx4g", "-XX:+UseSerialGC", "--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED",
    f"-Djava.util.logging.config.file={os.devnull}",
)  # fmt: skip
ENGINES = ("askalike", "lucene", "lucene-reordered")
SETTINGS = {
    "askalike": "segments of a million documents, mapped from the disk ({segments} here), all queries in one call",
    "lucene": "one segment, mapped from the disk, frequencies without positions, no query cache. Vector instructions "
    "(jdk.incubator.vector). It stops counting at k. Each measurement follows {warm_up:g} s of searches",
}
SETTINGS["lucene-reordered"] = "as lucene, with its documents in the order of a recursive graph bisection"
SIMILARITIES = ("bm25", "lm_jelinek_mercer")
KINDS = ("title", "title+body")
TOLERANCE = 1e-5
"""Relative: Lucene sums scores as 32-bit floats."""


def class_path(jdk: Path) -> str:
    """Return the class path of `Lucene.java`, compiled, and of Lucene's jars."""
    folder = DATA / f"lucene-{VERSION}"
    for artifact in ("lucene-core", "lucene-misc"):
        if not (folder / f"{artifact}-{VERSION}.jar").exists():
            coordinates = f"-Dartifact=org.apache.lucene:{artifact}:{VERSION}"
            command = ["mvn", "-q", "-B", f"{DEPENDENCY_PLUGIN}:copy", coordinates, f"-DoutputDirectory={folder}"]
            subprocess.run(command, check=True)
    subprocess.run([jdk / "bin/javac", "-cp", f"{folder}/*", "-d", folder, HERE / "Lucene.java"], check=True)
    return f"{folder}:{folder}/*"


def jdk_version(jdk: Path) -> str:
    """Return `Temurin-25.0.3+9`."""
    release = dict(line.split("=", 1) for line in (jdk / "release").read_text("utf-8").splitlines())
    return release["IMPLEMENTOR_VERSION"].strip(chr(34))


def start(engine: str, data: Path, java: list[str]) -> Worker:
    if engine == "askalike":
        return Worker([sys.executable, HERE / "_worker.py", engine, data, data / engine])
    return Worker([*java, "Lucene", data, data / engine, engine.removeprefix("lucene-")])


def build(engine: str, data: Path, java: list[str]) -> None:
    worker = start(engine, data, java)
    seconds = worker("build")["seconds"]
    worker.close()
    print(f"{engine:18} built in {seconds:8.1f} s, {measure_folder(data / engine) / 1e6:8.0f} MB")


def read_scores(path: Path) -> list[list[float]]:
    return [[float(hit.split(":")[1]) for hit in line.split()] for line in path.read_text().splitlines()]


def share_of_equal_hits(data: Path, workers: dict[str, Worker], command: str) -> dict[str, float]:
    """Return per engine the share of queries whose scores equal askalike's, hit by hit."""
    found = {}
    for engine, worker in workers.items():
        worker(f"{command} {data / 'hits.txt'}")
        found[engine] = read_scores(data / "hits.txt")
    return {
        engine: statistics.mean(
            len(ours) == len(theirs) and np.allclose(ours, theirs, rtol=TOLERANCE, atol=0)
            for ours, theirs in zip(found["askalike"], scores, strict=True)
        )
        for engine, scores in found.items()
    }


def race(data: Path, command: str, workers: dict[str, Worker], options: argparse.Namespace) -> dict[str, list[float]]:
    """Return the seconds of each engine and round; before it, each searches until it is compiled."""
    for worker in workers.values():
        until = time.monotonic() + options.warm_up
        while time.monotonic() < until:
            worker(command)
    seconds: dict[str, list[float]] = {engine: [] for engine in workers}
    for turn in range(options.rounds):
        for engine in sorted(workers, reverse=bool(turn % 2)):
            seconds[engine].append(workers[engine](command)["seconds"])
    return seconds


def compare(data: Path, java: list[str], options: argparse.Namespace) -> None:
    workers = {engine: start(engine, data, java) for engine in options.engines}
    conditions = {"segments": len(read_manifest(data / "askalike")["segments"]), "warm_up": options.warm_up}
    for worker in workers.values():
        worker("open")
    columns = f"{'k':>4} {'engine':18} {'queries/s':>10} {'× Lucene':>9} {'lowest':>7} equal"
    print(f"\n{'queries':12} {'similarity':18} {columns}")
    for kind, similarity, k in product(KINDS, SIMILARITIES, options.k):
        command = f"search {kind} {similarity} {k}"
        equal = share_of_equal_hits(data, workers, command)
        seconds = race(data, command, workers, options)
        for engine, own in seconds.items():
            ratios = [theirs / ours for ours, theirs in zip(own, seconds["lucene"], strict=True)]
            ratio, lowest, per_s = statistics.median(ratios), min(ratios), options.queries / statistics.median(own)
            print(
                f"{kind:12} {similarity:18} {k:4} {engine:18} {per_s:10.0f} {ratio:9.2f} {lowest:7.2f}"
                f" {equal[engine]:.3f}",
                flush=True,
            )
            what = {"data": data.name, "queries": kind, "similarity": similarity, "k": k, "engine": engine}
            figures = {"per_s": per_s, "ratio_to_lucene": ratio, "lowest_ratio": lowest, "equal": equal[engine]}
            told = {"n": options.queries, "settings": SETTINGS[engine].format(**conditions)}
            versions = {"Lucene": VERSION, "JDK": jdk_version(Path(java[0]).parents[1])}
            add_row(options.output, {**what, **figures, **told, "versions": versions}, tuple(what))
    for worker in workers.values():
        worker.close()


def main() -> None:
    parser = make_parser(__doc__, "lucene.json")
    parser.add_argument("--archive", type=Path, nargs="*", default=[], help="JSON lines with title and body")
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000, 1_000_000], help="how many made questions")
    parser.add_argument("--engines", nargs="+", default=ENGINES, choices=ENGINES)
    parser.add_argument("--k", type=int, nargs="+", default=[10, 100], help="how many hits")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--warm-up", type=float, default=8, help="seconds of searching before each measurement")
    parser.add_argument("--keep", action="store_true", help="use the data and indexes of the last run")
    options = parser.parse_args()
    jdk = find_jdk()
    java = [str(jdk / "bin/java"), *JAVA, "-cp", class_path(jdk)]
    sources = [(re.sub(r"\W", "-", p.stem), count_lines(p), archive_texts(p)) for p in options.archive]
    for name, size, pairs in sources or [(f"made-{n}", n, texts(n)) for n in options.sizes]:
        data = DATA / f"lucene-{name}"
        print(f"\n{name}: {size:,} questions, {options.queries} queries, {options.rounds} rounds, one thread each\n")
        if not (options.keep and data.exists()):
            shutil.rmtree(data, ignore_errors=True)
            write_data(pairs, size, data, options.queries)
            for engine in options.engines:
                build(engine, data, java)
        compare(data, java, options)


if __name__ == "__main__":
    main()
