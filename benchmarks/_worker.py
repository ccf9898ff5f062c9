"""One engine in its own process; commands are lines on stdin: `build`, `open`, `search KIND SIMILARITY [K [FILE]]`.

With FILE, the hits of each query are written into it, a line each: `NUMBER:SCORE` separated by spaces.
"""

import json
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import psutil
from _engines import ENGINES, Tokens

K = 10


def resident() -> int:
    return psutil.Process().memory_info().rss


def read_texts(path: Path) -> Iterator[Tokens]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n").split("\t")


def main(name: str, data: Path, path: Path) -> None:
    engine = ENGINES[name]()
    queries = {kind: list(read_texts(data / f"{kind}.tsv")) for kind in ("title", "title+body")}
    for line in sys.stdin:
        command, *words = line.split()
        answer: dict[str, object] = {}
        if command == "build":
            warm_up = ENGINES[name]()
            warm_up.build(islice(read_texts(data / "documents.tsv"), 2000), path.with_name(f"{name}-warm"))
            start = time.perf_counter()
            engine.build(read_texts(data / "documents.tsv"), path)
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
            kind, similarity, k, *files = [*words, str(K)] if len(words) == 2 else words
            engine.prepare(similarity)
            start = time.perf_counter()
            found = engine.search(queries[kind], int(k))
            answer["seconds"] = time.perf_counter() - start
            answer["resident"] = resident()
            for file in files:
                Path(file).write_text(
                    "\n".join(" ".join(f"{d}:{s:.9g}" for d, s in engine.pairs(hits)) for hits in found)
                )
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
