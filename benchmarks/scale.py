"""Costs by size of the archive and ranker: memory and time to build an index, disk space, and time to search.

    python benchmarks/scale.py --sizes 10000 100000 1000000 --rankers default hybrid lm_jelinek_mercer
    python benchmarks/scale.py --bodies                # questions with bodies, not titles alone

The default ranker is the hybrid of words with the English encoder, which reads every text for its index. Run sizes
that take longer than ten minutes one by one: archives are created once and kept in bench-data/.
"""

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from _rows import DATA, add_row, make_parser
from _served import DEFAULT, archive, named
from _synthetic import made_archive, phrase, texts

import askalike
from askalike.core.files import measure_folder

QUERIES = 300


def index(path: Path, ranker: str) -> dict[str, float]:
    """Rebuild the ranker's index; return its costs."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "askalike", "index", path, "--rebuild", *named(ranker)]
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL)
    own, pid = 0.0, 0
    while not pid:
        own = max(own, own_memory_mb(process.pid))
        time.sleep(0.02)
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    if status:
        raise SystemExit(f"failed: {' '.join(map(str, command))}")
    took = time.perf_counter() - started
    busy, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    return {"build_s": took, "build_processor_s": busy, "build_peak_mb": peak, "build_own_mb": own}


def own_memory_mb(pid: int) -> float:
    """Return the memory of a process without mapped files; 0 once it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon:")), 0.0)


def search(path: Path, ranker: str) -> dict[str, float]:
    """Search for half-typed titles one after the other, 7 explained hits, after all imports; return the times."""
    titles = (phrase(title) for title, _ in texts(QUERIES + 20, seed=1))
    queries = [title[: max(3, len(title) // 2)] for title in titles]
    name = None if ranker == DEFAULT else ranker
    askalike.load(path, name).close()
    started = time.perf_counter()
    with askalike.load(path, name) as engine:
        opened = time.perf_counter() - started
        engine.search(queries[0], 7, prefix=True)
        first = time.perf_counter() - started - opened
        for query in queries[1:20]:
            engine.search(query, 7, prefix=True)
        waits, busy = [], time.process_time()
        for query in queries[20:]:
            begun = time.perf_counter()
            engine.search(query, 7, prefix=True)
            waits.append((time.perf_counter() - begun) * 1000)
        busy = (time.process_time() - busy) / QUERIES * 1000
    p50, p95 = np.percentile(waits, [50, 95]).tolist()
    size = measure_folder(path) / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "open_s": opened, "first_search_s": first, "p50_ms": p50, "p95_ms": p95, "processor_ms": busy,
        "search_peak_mb": peak, "disk_mb": size,
    }  # fmt: skip


def main() -> None:
    parser = make_parser(__doc__, "scale.json")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--rankers", nargs="+", default=[DEFAULT, "hybrid", "lm_jelinek_mercer"])
    parser.add_argument("--bodies", action="store_true", help="questions with bodies")
    parser.add_argument("--search", metavar="DIR", type=Path, help="only search this archive, and print JSON")
    options = parser.parse_args()
    if options.search:
        print(json.dumps(search(options.search, options.rankers[0])))
        return
    for size in options.sizes:
        titled = (askalike.Question(str(n), phrase(title), language="en") for n, (title, _) in enumerate(texts(size)))
        path = archive(size) if options.bodies else made_archive(f"titles-{size}", titled)
        for ranker in options.rankers:
            row = {"questions": size, "bodies": options.bodies, "ranker": ranker, **index(path, ranker)}
            command = [sys.executable, __file__, "--search", str(path), "--rankers", ranker]
            row |= json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            print(*(f"{key} {value:.1f}" if isinstance(value, float) else value for key, value in row.items()))
            add_row(options.output, row, ("questions", "bodies", "ranker"))


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    main()
