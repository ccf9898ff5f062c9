"""One engine in its own process, with commands as lines on stdin: `build`, `open`, `search KIND SIMILARITY`."""

import json
import sys
import time
from pathlib import Path

import psutil
from _engines import ENGINES

K = 10


def resident() -> int:
    return psutil.Process().memory_info().rss


def main(name: str, data: Path, path: Path) -> None:
    engine = ENGINES[name]()
    queries = json.loads((data / "queries.json").read_text())
    for line in sys.stdin:
        command, *words = line.split()
        answer: dict[str, object] = {}
        if command == "build":
            documents = [row.split("\t") for row in (data / "documents.tsv").read_text().splitlines()]
            warm_up = ENGINES[name]()
            warm_up.build(documents[:2000], path.with_name(f"{name}-warm"))
            start = time.perf_counter()
            engine.build(documents, path)
            answer["seconds"] = time.perf_counter() - start
        elif command == "open":
            before, start = resident(), time.perf_counter()
            engine.open(path)
            answer["seconds"] = time.perf_counter() - start
            engine.prepare("bm25")
            engine.search(queries["title"][:1], K)
            answer["first"] = time.perf_counter() - start
            answer["before"] = before
        elif command == "search":
            kind, similarity = words
            engine.prepare(similarity)
            start = time.perf_counter()
            engine.search(queries[kind], K)
            answer["seconds"] = time.perf_counter() - start
            answer["resident"] = resident()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
