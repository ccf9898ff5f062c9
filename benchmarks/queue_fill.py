"""How long a service needs to fill the queue of likely duplicates, and what one person who types notices of it.

    python benchmarks/queue_fill.py ARCHIVE

The archive's index is built. Its copy is served twice: while nobody searches, until all questions are checked; then
while one person types titles, key by key. The same number of keys is typed after the queue is full.
"""

import itertools
import json
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from http.client import HTTPConnection
from pathlib import Path

from _rows import add_row, make_parser
from _served import DEFAULT, Served, titles

import askalike
from askalike.store.candidate_pairs import count_unscanned

KEYS_PER_S = 5


def wait_until_checked(path: Path, limit_s: float) -> float:
    """Return the seconds until no question is left to check, `limit_s` at most."""
    begun = time.perf_counter()
    with askalike.Archive.open(path) as archive:
        while count_unscanned(archive) != 0 and time.perf_counter() - begun < limit_s:
            time.sleep(0.5)
    return time.perf_counter() - begun


def type_keys(served: Served, name: str, lines: Sequence[str], goes_on: Callable[[int], bool]) -> list[float]:
    """Return the milliseconds of each request of one person who types titles."""
    connection = HTTPConnection("127.0.0.1", served.port)
    starts = (line[:end] for line in itertools.cycle(lines) for end in range(1, len(line) + 1))
    times: list[float] = []
    begun = time.perf_counter()
    while goes_on(len(times)):
        time.sleep(max(0.0, begun + len(times) / KEYS_PER_S - time.perf_counter()))
        body = json.dumps({"title": next(starts), "prefix": True, "k": 5, "explain": True})
        sent = time.perf_counter()
        connection.request("POST", f"/v1/{name}/similar", body, {"content-type": "application/json"})
        response = connection.getresponse()
        response.read()
        times.append((time.perf_counter() - sent) * 1e3)
        if response.status != 200:
            raise SystemExit(f"status {response.status}")
    return times


def main() -> None:
    parser = make_parser(__doc__, "queue_fill.json")
    parser.add_argument("archive", type=Path)
    parser.add_argument("--seconds", type=float, default=60, help="of typing while the queue is filled")
    options = parser.parse_args()
    name = options.archive.resolve().name
    row: dict[str, float | str] = {"archive": name}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        shutil.copytree(options.archive, path)
        lines = titles(path, 200)
        with Served(path, DEFAULT) as served:
            started = served.processor_s()
            row["idle_s"] = wait_until_checked(path, 600)
            row["idle_processor_s"] = served.processor_s() - started
        with sqlite3.connect(path / "archive.sqlite") as database:
            database.execute("DELETE FROM proposal_scans")
        with Served(path, DEFAULT) as served, askalike.Archive.open(path) as archive:
            type_keys(served, name, lines, lambda done: done < 10)  # warm-up
            last = time.perf_counter() + options.seconds
            during = type_keys(served, name, lines, lambda _: time.perf_counter() < last)
            row["questions_left_after_typing"] = count_unscanned(archive) or 0
            wait_until_checked(path, 600)
            after = type_keys(served, name, lines, lambda done: done < len(during))
    for label, times in (("filling", during), ("full", after)):
        cuts = statistics.quantiles(times, n=20)
        row[f"{label}_keys"], row[f"{label}_p50_ms"], row[f"{label}_p95_ms"] = len(times), cuts[9], cuts[18]
    print(json.dumps(row, indent=1))
    add_row(options.output, row, ("archive",))


if __name__ == "__main__":
    main()
