"""Evaluation of a large run file: time compared with ir_measures on the same files, and peak memory, in new processes.

python benchmarks/evaluate.py [--queries 10000] [--hits 1000] [--folder bench-data]
"""

import argparse
import json
import multiprocessing
import random
import resource
import time
from collections.abc import Callable
from pathlib import Path

import ir_measures

from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.trec import read_qrels, read_run

MEASURES = ("AP", "RR", "P@5", "Success@1", "nDCG@10", "R@100")
DOCUMENTS = 1_000_000


def make(folder: Path, queries: int, hits: int) -> tuple[Path, Path]:
    """Write a run with decreasing scores, some tied, and five judgements per query, some of them among its hits."""
    run, qrels = folder / f"run-{queries}x{hits}.trec", folder / f"qrels-{queries}x{hits}.txt"
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    with run.open("w") as run_file, qrels.open("w") as qrels_file:
        for query in range(queries):
            ids = [f"doc{number}" for number in rng.sample(range(DOCUMENTS), hits)]
            scores = sorted((round(rng.random() * 30, 5) for _ in ids), reverse=True)
            lines = zip(ids, range(1, hits + 1), scores, strict=True)
            run_file.writelines(f"q{query} Q0 {document} {rank} {score} made\n" for document, rank, score in lines)
            judged = rng.sample(ids, 3) + [f"missed{query}-{i}" for i in range(2)]
            qrels_file.writelines(f"q{query} 0 {document} 1\n" for document in judged)
    return run, qrels


def ours(run: Path, qrels: Path) -> dict[str, float]:
    """Read both files and evaluate, including intervals."""
    return dict(evaluate(read_run(run), read_qrels(qrels), MEASURES).means)


def theirs(run: Path, qrels: Path) -> dict[str, float]:
    """Evaluate the same files with ir_measures, only means."""
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    read = ir_measures.read_trec_qrels(str(qrels)), ir_measures.read_trec_run(str(run))
    return {str(measure): value for measure, value in ir_measures.calc_aggregate(measures, *read).items()}


def measured(
    work: Callable[[Path, Path], dict[str, float]], run: Path, qrels: Path
) -> tuple[dict[str, float], float, float]:
    """Return means, seconds, and the process's peak memory in MB."""
    start = time.perf_counter()
    means = work(run, qrels)
    return means, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--hits", type=int, default=1_000)
    parser.add_argument("--folder", type=Path, default=Path("bench-data"))
    args = parser.parse_args()
    files = make(args.folder, args.queries, args.hits)
    result: dict[str, object] = {"queries": args.queries, "hits": args.hits}
    seconds = {}
    for work in (ours, theirs):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            means, seconds[work.__name__], peak_mb = pool.apply(measured, (work, *files))
        result[work.__name__] = {"seconds": round(seconds[work.__name__], 1), "peak_mb": round(peak_mb), "means": means}
    print(json.dumps(result | {"ratio": round(seconds["ours"] / seconds["theirs"], 2)}, indent=2))


if __name__ == "__main__":
    main()
