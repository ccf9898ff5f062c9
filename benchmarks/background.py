"""How long an encoder needs for questions in the background, and how fast searches by words are meanwhile.

    python benchmarks/background.py                    # 100,000 synthetic questions with bodies, all-MiniLM-L6-v2
    python benchmarks/background.py --titles FILE --encoder minilm_l6

FILE has a title per line. Searches come at a steady rate, as many before as after the encoder runs.
"""

import itertools
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from _rows import add_row, make_parser
from _synthetic import phrase, texts

import askalike
from askalike.search import interim
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.search.encoder_installation import adopt_encoder
from askalike.store.encoding_progress import read_encoding

WORDS = "lm_jelinek_mercer"


def questions(options: Namespace) -> list[askalike.Question]:
    """Return the questions: of the file of titles, or synthetic ones."""
    lines = options.titles.read_text(encoding="utf-8").splitlines() if options.titles else None
    rows = ((line, "") for line in lines) if lines else (map(phrase, text) for text in texts(options.questions))
    some = enumerate(islice(rows, options.questions))
    return [askalike.Question(str(n), title, body, language="en") for n, (title, body) in some]


def search_while(
    engine: ArchiveRetriever, queries: Iterator[str], rate: float, goes_on: Callable[[int], bool]
) -> list[float]:
    """Return the milliseconds of each search. rate: searches a second. goes_on: whether there is another one."""
    times: list[float] = []
    start = time.perf_counter()
    while goes_on(len(times)):
        time.sleep(max(0.0, start + len(times) / rate - time.perf_counter()))
        begun = time.perf_counter()
        engine.search(next(queries), k=10)
        times.append((time.perf_counter() - begun) * 1e3)
    return times


def describe(times: Sequence[float]) -> tuple[float, float]:
    """Return the 50th and 95th percentile."""
    cuts = statistics.quantiles(times, n=20)
    return cuts[9], cuts[18]


def main() -> None:
    parser = make_parser(__doc__, "background.json")
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--titles", type=Path, help="a file with a title per line instead of synthetic ones")
    parser.add_argument("--encoder", default="minilm_l6")
    parser.add_argument("--rate", type=float, default=10, help="searches a second")
    parser.add_argument("--searches", type=int, default=400, help="their number before, and after")
    options = parser.parse_args()
    asked = questions(options)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive"
        with askalike.Archive.create(path) as archive:
            archive.upsert(asked)
        subprocess.run([sys.executable, "-m", "askalike", "index", path, "--ranker", WORDS], check=True)
        queries = itertools.cycle(question.title for question in asked[:: max(1, len(asked) // 5_000)])
        with askalike.load(path, WORDS) as engine, askalike.Archive.open(path) as archive:
            search_while(engine, queries, 1_000, lambda done: done < 200)  # warm-up
            before = search_while(engine, queries, options.rate, lambda done: done < options.searches)
            name = adopt_encoder(archive, options.encoder).name
            begun = time.perf_counter()
            if missing := interim.missing_vectors(archive):
                interim.start_encoding(archive, missing)
            during = search_while(engine, queries, options.rate, lambda _: bool(read_encoding(path, name)))
            seconds = time.perf_counter() - begun
            after = search_while(engine, queries, options.rate, lambda done: done < options.searches)
    row = {"questions": len(asked), "bodies": not options.titles, "encoder": name, "seconds": seconds}
    for label, times in (("before", before), ("during", during), ("after", after)):
        row[f"{label}_p50_ms"], row[f"{label}_p95_ms"] = describe(times)
        print(
            f"{label:7} {len(times):5} searches, p50 {row[f'{label}_p50_ms']:.1f}, p95 {row[f'{label}_p95_ms']:.1f} ms"
        )
    print(f"{len(asked):,} questions encoded in {seconds:.0f} s, {len(asked) / seconds:.0f} a second")
    add_row(options.output, row, ("questions", "bodies", "encoder"))


if __name__ == "__main__":
    main()
