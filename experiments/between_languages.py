"""What is found and shown if the question is in another language than the archive, and silence where there is nothing.

python experiments/between_languages.py PEOPLE even|odd|all ARCHIVE … > experiments/reports/between_languages.json

Archives of the same documents in several languages have the same ids: the titles of each are asked in the others, and
in their own archive for comparison: those with even numbers, with odd ones, or all. Of an archive with lines in
PEOPLE/translations.tsv, these are asked. The everyday questions in PEOPLE are asked of all; none of them set a limit.
The archives need an encoder that compares languages. The margin between languages was chosen on the odd titles of
Debian's FAQ and on people/, so that the even ones and people/test/ are reported.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shown import Asked, measure, read

from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store import Archive
from askalike_research.experiments.provenance import collect_provenance

HALVES = {"even": slice(0, None, 2), "odd": slice(1, None, 2), "all": slice(None)}


def main(people: str, half: str, *paths: str) -> None:
    """Write the rows as a JSON list, one in each line."""
    command = shlex.join(["python", "experiments/between_languages.py", *map(os.path.basename, (people, half, *paths))])
    titles = {path: read_titles(path) for path in paths}
    rows = []
    for path in paths:
        with ArchiveRetriever.open(path) as retriever:
            retriever.search(path)  # finds the limits of grades
            own = retriever.archive.view().language or ""
            for language, asked in collect(Path(people), path, titles, HALVES[half]):
                row: dict[str, Any] = {"archive": Path(path).name, "language": own, "asked in": language}
                rows.append(row | {"n": len(asked)} | measure(retriever, asked))
                print(rows[-1], file=sys.stderr, flush=True)
                rows[-1]["provenance"] = collect_provenance(retriever.archive, command)
    print("[", ",\n".join(map(json.dumps, rows)), "]", sep="\n")


def collect(
    people: Path, path: str, titles: dict[str, tuple[str, dict[str, str]]], half: slice
) -> Iterator[tuple[str, list[Asked]]]:
    """Yield a language and what is asked in it: what an archive has, then everyday questions."""
    _, own = titles[path]
    for language, others in titles.values():
        if shared := [id for id in own if id in others][half]:
            yield language, [Asked(others[id], frozenset([id])) for id in shared]
    table = people / "translations.tsv"
    translated = [row for row in read(table) if row[0] == Path(path).name] if table.exists() else []
    for language in dict.fromkeys(row[2] for row in translated):
        yield language, [Asked(text, frozenset([id])) for _, id, code, text in translated if code == language]
    everyday = read(people / "everyday.tsv")
    for language in dict.fromkeys(row[0] for row in everyday):
        yield language, [Asked(text) for code, _, text in everyday if code == language]


def read_titles(path: str) -> tuple[str, dict[str, str]]:
    """Return the language of an archive, and its titles by id."""
    with Archive.open(Path(path)) as archive:
        view = archive.view()
        return view.language or "", {id: title for _, id, title in view.titles() if title}


if __name__ == "__main__":
    main(*sys.argv[1:])
