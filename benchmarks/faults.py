"""`kill -9` at random moments under writes, many times: is what was acknowledged there afterwards, and how soon?

    python benchmarks/faults.py                             # 200 cycles; restarts with a million made questions
    python benchmarks/faults.py --cycles 20 --questions 0   # the cycles alone

After each restart every question that the killed service had acknowledged is asked for by id and by search, and the
batch that was under way must be there whole or not at all. A restart ends with the first answer to a search.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from _served import archive

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "service"))

from kill_cycles import UNLIMITED, KillCycles
from serving import Service

from askalike.readers import import_archive

EXAMPLE = Path(__file__).parents[1] / "examples" / "riverside.csv"


def started(path: Path, seconds: list[float]) -> Service:
    """A service, and how long it took until it answered a search."""
    begun = time.perf_counter()
    service = Service(path, options=UNLIMITED)
    assert service.get(f"/v1/{path.name}/similar?title=first").status == 200
    seconds.append(time.perf_counter() - begun)
    return service


def cycles(path: Path, count: int, seed: int) -> tuple[int, list[str], list[float]]:
    """How many writes were acknowledged in so many cycles, what is wrong with them, and each restart's seconds."""
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


def told(seconds: Sequence[float]) -> str:
    return f"median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s, n = {len(seconds)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--questions", type=int, default=1_000_000, help="of the archive that restarts are timed with")
    parser.add_argument("--restarts", type=int, default=7)
    options = parser.parse_args()
    wrong = told_cycles(options) if options.cycles else []
    if options.questions:
        print(f"restart to first answer, {options.questions:,} questions: {restarts(options)}")
    return bool(wrong)


def told_cycles(options: argparse.Namespace) -> list[str]:
    """Prints what came of the cycles; returns what is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "riverside"
        import_archive("table", [EXAMPLE], path)
        count, wrong, seconds = cycles(path, options.cycles, options.seed)
    print(f"{options.cycles} cycles: {count} questions acknowledged, wrong: {len(wrong)} {' '.join(wrong[:5])}")
    print(f"restart to first answer, 244 questions and more: {told(seconds)}")
    return wrong


def restarts(options: argparse.Namespace) -> str:
    """Killed and started again; nothing is written, so that the archive can be used again."""
    path, seconds = archive(options.questions), []
    started(path, []).kill()  # this one may have to index
    for _ in range(options.restarts):
        started(path, seconds).kill()
    return told(seconds)


if __name__ == "__main__":
    sys.exit(main())
