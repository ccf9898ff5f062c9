"""Queries per second of processor time: this index, bm25s (numba), tantivy; one thread each, in turns, same tokens.

    python benchmarks/search.py                           # 100,000 and 1,000,000 synthetic questions
    python benchmarks/search.py --archive questions.jsonl # titles and bodies of a file (objects with title and body)

Every question is one text, its title and body; queries are the titles, or titles and bodies, of random questions of
the archive. Reported: medians over the rounds, and per round the ratio to bm25s.
"""

import json
import re
import shutil
import statistics
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from _engines import ENGINES, SETTINGS
from _race import Worker, write_data
from _rows import DATA, add_row, make_parser
from _synthetic import texts

from askalike.core.files import measure_folder

HERE = Path(__file__).parent
PACKAGES = ("bm25s", "tantivy")
SIMILARITIES = ("tfidf", "bm25", "ib", "dfr", "lm_dirichlet", "lm_jelinek_mercer")


def start(engine: str, data: Path) -> Worker:
    return Worker([sys.executable, HERE / "_worker.py", engine, data, data / engine])


def archive_texts(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """Yield titles and bodies as stems of lower-cased words."""
    from askalike.text.analyzer import Analyzer

    tokens = Analyzer().analyze
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            yield tokens(row["title"], "en"), tokens(row["body"], "en")


def count_lines(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def build_and_open(data: Path) -> None:
    print(f"{'engine':10} {'build s':>8} {'disk MB':>8} {'open ms':>8} {'first answer ms':>16}")
    for engine in ENGINES:
        builder = start(engine, data)
        built = builder("build")["seconds"]
        builder.close()
        opener = start(engine, data)
        opened = opener("open")
        opener.close()
        disk = measure_folder(data / engine) / 1e6
        print(f"{engine:10} {built:8.1f} {disk:8.0f} {opened['seconds'] * 1e3:8.1f} {opened['first'] * 1e3:16.1f}")


def race(data: Path, kind: str, queries: int, rounds: int, output: Path) -> None:
    """Measure all engines in turns; a first round does not count."""
    workers = {engine: start(engine, data) for engine in ENGINES}
    lines = [("bm25s", "bm25"), ("tantivy", "bm25"), *(("askalike", s) for s in SIMILARITIES)]
    seconds: dict[tuple[str, str], list[float]] = {line: [] for line in lines}
    for worker in workers.values():
        worker("open")
    resident = {}
    for turn in range(rounds + 1):
        for engine, similarity in lines:
            answer = workers[engine](f"search {kind.replace(' ', '')} {similarity}")
            resident[engine] = answer["resident"] / 1e6
            if turn:
                seconds[engine, similarity].append(answer["seconds"])
    for worker in workers.values():
        worker.close()
    print(f"\n{kind} queries, top 10 {'queries/s':>18} {'× bm25s':>8} {'lowest':>7} {'resident MB':>12}")
    for line in lines:
        ratios = [b / a for a, b in zip(seconds[line], seconds["bm25s", "bm25"], strict=True)]
        per_second = queries / statistics.median(seconds[line])
        print(
            f"{line[0] + ' ' + line[1]:30} {per_second:10.0f} {statistics.median(ratios):8.2f} {min(ratios):7.2f}"
            f" {resident[line[0]]:12.0f}"
        )
        what = {"data": data.name, "queries": kind, "engine": line[0], "similarity": line[1]}
        ratio = {"ratio_to_bm25s": statistics.median(ratios), "lowest_ratio": min(ratios)}
        figures = {"per_s": per_second, **ratio, "resident_mb": resident[line[0]], "settings": SETTINGS[line[0]]}
        add_row(output, {**what, **figures, "versions": {one: version(one) for one in PACKAGES}}, tuple(what))


def main() -> None:
    parser = make_parser(__doc__, "search.json")
    parser.add_argument("--archive", type=Path, nargs="*", default=[], help="JSON lines with title and body")
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000, 1_000_000], help="how many made questions")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    sources = [(re.sub(r"\W", "-", p.stem), count_lines(p), archive_texts(p)) for p in options.archive]
    for name, size, pairs in sources or [(f"made-{n}", n, texts(n)) for n in options.sizes]:
        data = DATA / name
        shutil.rmtree(data, ignore_errors=True)
        count = write_data(pairs, size, data, options.queries)
        print(f"\n{name}: {count:,} questions, {options.queries} queries, {options.rounds} rounds, one thread each\n")
        build_and_open(data)
        for kind in ("title", "title + body"):
            race(data, kind, options.queries, options.rounds, options.output)


if __name__ == "__main__":
    main()
