"""Start-up time of the command line: median processor time, compiled and right after an installation."""

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from _rows import add_row, make_parser

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "riverside.csv"
QUESTION = "my card is lost"


def processor_time(arguments: Sequence[str], environment: dict[str, str]) -> float:
    """Return the seconds of processor time of one `askalike` command."""
    command = [sys.executable, "-m", "askalike", *arguments]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(runs: int, folder: Path) -> dict[str, float]:
    """Return command → seconds. First searches have no index, and no machine code or that of `askalike compile`."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**kept, "NUMBA_CACHE_DIR": str(folder / "code")}  # bytecode is written, as in an installation
    archive = str(folder / "archive")
    taken: dict[str, list[float]] = {"first search": [], "compile": [], "first search, compiled": []}
    processor_time(["import", "table", str(EXAMPLE), "-o", archive], environment)
    for n in range(min(runs, 3)):
        fresh = {**environment, "NUMBA_CACHE_DIR": str(folder / f"fresh-{n}")}
        taken["first search"].append(processor_time(["search", archive, QUESTION], fresh))
        shutil.rmtree(f"{archive}/index")
        ahead = {**environment, "NUMBA_CACHE_DIR": str(folder / f"ahead-{n}")}
        taken["compile"].append(processor_time(["compile"], ahead))
        taken["first search, compiled"].append(processor_time(["search", archive, QUESTION], ahead))
        shutil.rmtree(f"{archive}/index")
    commands = {"--version": ["--version"], "--help": ["--help"], "search": ["search", archive, QUESTION]}
    processor_time(commands["search"], environment)
    seconds = {
        name: statistics.median(processor_time(arguments, environment) for _ in range(runs))
        for name, arguments in commands.items()
    }
    return seconds | {name: statistics.median(own) for name, own in taken.items()}


def main() -> None:
    parser = make_parser(__doc__, "start.json")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        seconds = measure(options.runs, Path(folder))
    for name, value in seconds.items():
        print(f"{name:24}{value:8.2f} s")
        add_row(options.output, {"command": name, "processor_s": value, "runs": options.runs}, ("command",))


if __name__ == "__main__":
    main()
