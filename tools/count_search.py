"""Counts the files and functions of askalike that a search enters, warm, on the example archive.

    python tools/count_search.py          # prints a table
    python tools/count_search.py --files  # and the files of each search, in the order in which they are first entered

Calls between files show how often a reader has to turn to another one. Compiled kernels count as one function each.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import askalike
from askalike.search.archive_retriever import ArchiveRetriever

ROOT = Path(askalike.__file__).parent
EXAMPLE = Path(__file__).parents[1] / "examples" / "riverside.csv"
QUERY = "my card is lost"


@dataclass(slots=True)
class Calls:
    """Calls of functions of askalike: files in order of their first call, functions as (file, name), and counts."""

    files: dict[str, None] = field(default_factory=dict)
    functions: set[tuple[str, str]] = field(default_factory=set)
    calls: int = 0
    crossings: int = 0
    max_depth: int = 0


def count_calls(work: Callable[[], Any]) -> Calls:
    """Return the calls of functions of askalike while `work` runs in this thread."""
    counted, stack = Calls(), [""]

    def record(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(str(ROOT)):
            return
        if event == "call":
            file = str(Path(code.co_filename).relative_to(ROOT))
            counted.files[file] = None
            if not code.co_name.startswith("<"):
                counted.functions.add((file, code.co_qualname))
            counted.calls += 1
            counted.crossings += file != stack[-1]
            stack.append(file)
            counted.max_depth = max(counted.max_depth, len(stack) - 1)
        elif event == "return":
            stack.pop()

    sys.setprofile(record)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


def count_search(archive: Path, ranker: str | None, *, explain: bool) -> Calls:
    """Return the calls of a warm search in an archive; the ranker None is the default one."""
    with ArchiveRetriever.open(archive, ranker) as engine:
        for _ in range(3):
            engine.search(QUERY, explain=explain)
        return count_calls(lambda: engine.search(QUERY, explain=explain))


def main() -> None:
    """Print the counts of four searches."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="print the files, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "riverside"
        askalike.import_archive("table", EXAMPLE, archive)
        for ranker in (None, "bm25"):
            for explain in (True, False):
                counted = count_search(archive, ranker, explain=explain)
                print(
                    f"{ranker or 'default'}{', explained' if explain else ''}: {len(counted.files)} files, "
                    f"{len(counted.functions)} functions, {counted.calls} calls, {counted.crossings} between files, "
                    f"depth {counted.max_depth}"
                )
                for file in counted.files if arguments.files else ():
                    print(f"    {file}")


if __name__ == "__main__":
    main()
