"""Many times `kill -9` at random moments during writes: do acknowledged writes survive, and how long is a restart?

    python benchmarks/faults.py                             # 200 cycles; restarts with a million synthetic questions
    python benchmarks/faults.py --cycles 20 --questions 0   # only the cycles

After each restart every question that the killed service had acknowledged is looked up by id and by search, and the
batch being written at the kill must be stored whole or not at all. A restart ends with the first response to a search.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from _rows import make_parser
from _served import archive

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "service"))

from kill_cycles import UNLIMITED, KillCycles
from serving import Service

from askalike.readers import import_archive

EXAMPLE = Path(__file__).parents[1] / "examples" / "riverside.csv"


def started(path: Path, seconds: list[float]) -> Service:
    """Return a service, after adding to `seconds` the time until it answered a search."""
    begun = time.perf_counter()
    service = Service(path, options=UNLIMITED)
    assert service.get(f"/v1/{path.name}/similar?title=first").status == 200
    seconds.append(time.perf_counter() - begun)
    return service


def cycles(path: Path, count: int, seed: int) -> tuple[int, list[str], list[float]]:
    """Return the number of acknowledged writes, what is wrong with them, and the seconds of each restart."""
    seconds: list[float] = []
    killed, wrong, service = KillCycles(path.name, seed), [], started(path, [])
    for n in range(count):
        acknowledged = killed.run(service)
        service = started(path, seconds)
        wrong += [*killed.find_lost(service, acknowledged), *killed.find_half_batches(service)]
        if (n + 1) % 20 == 0:
            print(f"{n + 1} cycles, {len(killed.acknowledged)} acknowledged, {len(wrong)} wrong", flush=True)
    service.end()
    return len(killed.acknowledged), wrong, seconds


def format_seconds(seconds: Sequence[float]) -> str:
    return f"median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s, n = {len(seconds)}"


def main() -> int:
    parser = make_parser(__doc__)
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments")
    parser.add_argument("--questions", type=int, default=1_000_000, help="size of the archive for timing restarts")
    parser.add_argument("--restarts", type=int, default=7)
    options = parser.parse_args()
    wrong = report_cycles(options) if options.cycles else []
    if options.questions:
        print(f"restart to first answer, {options.questions:,} questions: {restarts(options)}")
    return bool(wrong)


def report_cycles(options: argparse.Namespace) -> list[str]:
    """Print the outcome of the cycles; return what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "riverside"
        import_archive("table", [EXAMPLE], path)
        count, wrong, seconds = cycles(path, options.cycles, options.seed)
    print(f"{options.cycles} cycles: {count} questions acknowledged, wrong: {len(wrong)} {' '.join(wrong[:5])}")
    print(f"restart to first answer, 244 questions and more: {format_seconds(seconds)}")
    return wrong


def restarts(options: argparse.Namespace) -> str:
    """Kill and restart the service; nothing is written, so that the archive can be reused."""
    path, seconds = archive(options.questions), []
    started(path, []).kill()  # this start may have to index
    for _ in range(options.restarts):
        started(path, seconds).kill()
    return format_seconds(seconds)


if __name__ == "__main__":
    sys.exit(main())
