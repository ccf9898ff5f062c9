"""Lists the source files of more than 400 lines: each is probably two ideas. python tools/lint/long_files.py"""

from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "askalike"
MAX_LINES = 400


def main() -> None:
    """Print the path and the length of each long file, the longest first. It is a report, not a check."""
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    for path, lines in sorted(lengths.items(), key=lambda item: -item[1]):
        if lines > MAX_LINES:
            print(f"note: {path.relative_to(SOURCE)} has {lines} lines")


if __name__ == "__main__":
    main()
