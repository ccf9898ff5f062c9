"""Rows per second and peak memory of importing a dump, as a folder and as a .7z, and of importing it again unchanged.

python benchmarks/imports.py                    # a synthetic dump of 100,000 questions and as many answers
python benchmarks/imports.py --dump FOLDER      # a site's own dump
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

import py7zr
from _rows import make_parser
from _synthetic import texts

from askalike.readers import import_archive

DATES = 'CreationDate="2020-01-01T00:00:00.000" Score="1"'
QUESTION = f'  <row Id="{{id}}" PostTypeId="1" {DATES} Title={{title}} Body={{body}} Tags="|a|b|" />\n'
ANSWER = f'  <row Id="{{id}}" PostTypeId="2" ParentId="{{parent}}" {DATES} Body={{body}} />\n'
GOAL = "goal: 20,000 rows a second, under 1 GB"


def posts(questions: int) -> Iterator[str]:
    """Yield rows of Posts.xml: each question, and an answer to it."""
    for n, (title, body) in enumerate(texts(questions)):
        text = quoteattr(f"<p>{' '.join(body)}</p>\n")
        yield QUESTION.format(id=2 * n + 1, title=quoteattr(" ".join(title)), body=text)
        yield ANSWER.format(id=2 * n + 2, parent=2 * n + 1, body=text)


def make(folder: Path, questions: int) -> Path:
    """Write a dump with only Posts.xml; links are left out, as they are few in real dumps."""
    folder.mkdir(parents=True)
    with (folder / "Posts.xml").open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<posts>\n')
        file.writelines(posts(questions))
        file.write("</posts>\n")
    return folder


def packed(dump: Path, path: Path) -> Path:
    with py7zr.SevenZipFile(path, "w") as archive:
        for file in sorted(dump.glob("*.xml")):
            archive.write(file, file.name)
    return path


def one_import(path: Path, out: Path) -> None:
    """Import, and print seconds, rows and peak memory as JSON; runs in its own process."""
    start = time.perf_counter()
    done = import_archive("stackexchange", [path], out, language="en")
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    rows, cpu = done.questions + done.answers, used.ru_utime + used.ru_stime
    print(json.dumps({"seconds": seconds, "cpu": cpu, "rows": rows, "peak_mb": used.ru_maxrss / 1024}))


def measured(what: str, path: Path, out: Path) -> None:
    command = [sys.executable, __file__, "--one", str(path), str(out)]
    row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    rate = row["rows"] / row["seconds"]
    print(
        f"{what:28} {row['rows']:10,} {row['seconds']:8.1f} {row['cpu']:8.1f} {rate:10,.0f} {row['peak_mb']:8.0f}",
        flush=True,
    )


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--questions", type=int, default=100_000)
    parser.add_argument("--dump", type=Path, help="a folder with Posts.xml")
    parser.add_argument("--one", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one_import(*options.one)
        return
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        dump = options.dump or make(scratch / "made.stackexchange.com", options.questions)
        archive = packed(dump, scratch / "packed.stackexchange.com.7z")
        print(f"{GOAL}\n\n{'import of':28} {'rows':>10} {'seconds':>8} {'CPU s':>8} {'rows/s':>10} {'peak MB':>8}")
        measured("folder", dump, scratch / "from-folder")
        measured("folder again, nothing new", dump, scratch / "from-folder")
        measured(".7z", archive, scratch / "from-7z")


if __name__ == "__main__":
    main()
