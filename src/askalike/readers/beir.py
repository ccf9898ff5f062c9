"""Reads the BEIR layout (Thakur et al. 2021): `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`, gzipped or not."""

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from askalike.config import Settings
from askalike.errors import InputError
from askalike.readers._exported import exported_beside_beir, exported_facts
from askalike.readers._json import json_lines
from askalike.readers._source import Source
from askalike.readers._values import problem, string
from askalike.types import Judgement, Query, Question, Record, Rejected

PACKED = ("", ".gz", ".bz2")


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of one data set; `prefix` goes before its ids."""

    prefix: str
    corpus: Path
    queries: Sequence[Path]
    qrels: Sequence[Path]


class Beir(Settings):
    """A data set in BEIR's layout, or a folder of such folders as CQADupStack has: ids then begin with `FOLDER/`.

    A folder that `askalike export --format beir` wrote gives back the whole archive.
    """

    def read(self, paths: Sequence[Path], source: Source) -> Iterator[Record]:
        """Documents as questions, then queries and judgements. Raises InputError."""
        if len(paths) == 1 and (facts := exported_facts(paths[0], "beir")) is not None:
            yield from self._exported(paths[0], facts, source)
            return
        sets = [files for path in paths for files in _sets(path)]
        source.facts["name"] = ", ".join(path.resolve().name for path in paths)
        if groups := [files.prefix.rstrip("/") for files in sets if files.prefix]:
            source.facts["groups"] = groups
        source.expect([file for s in sets for file in (s.corpus, *s.queries, *s.qrels)])
        for files in sets:
            yield from _documents(files, source)
            splits: dict[str, set[str]] = defaultdict(set)
            for judgement in _judgements(files, source):
                if isinstance(judgement, Judgement):
                    splits[judgement.query_id].add(judgement.split)
                yield judgement
            yield from _queries(files, splits, source)

    def _exported(self, folder: Path, facts: Mapping[str, Any], source: Source) -> Iterator[Record]:
        """An export of ours. What BEIR has no place for comes last: it says more than the qrels do."""
        source.facts |= facts
        for files in _sets(folder):
            source.expect(files.qrels)
            yield from _judgements(files, source)
        yield from exported_beside_beir(folder, source)


def _sets(path: Path) -> list[_Files]:
    """The data sets at a path. Raises InputError where there is none."""
    if not path.is_dir():
        raise InputError(f"{path}: {'a file' if path.exists() else 'not there'}; expected a folder with corpus.jsonl")
    if found := _set(path, ""):
        return [found]
    inside = [_set(folder, f"{folder.name}/") for folder in sorted(path.iterdir()) if folder.is_dir()]
    if not any(inside):
        raise InputError(f"{path}: no corpus.jsonl in it nor in its folders; expected BEIR's layout")
    return [files for files in inside if files]


def _set(folder: Path, prefix: str) -> _Files | None:
    corpus = next((f for end in PACKED if (f := folder / f"corpus.jsonl{end}").is_file()), None)
    if corpus is None:
        return None
    queries = [f for end in PACKED for f in sorted(folder.glob(f"queries*.jsonl{end}"))]
    qrels = [f for end in PACKED for f in sorted(folder.glob(f"qrels/*.tsv{end}"))]
    return _Files(prefix, corpus, queries, qrels)


def _documents(files: _Files, source: Source) -> Iterator[Question | Rejected]:
    for row in json_lines(source, files.corpus):
        if isinstance(row, Rejected):
            yield row
            continue
        id, title, text = (string(row.get(key)) for key in ("_id", "title", "text"))
        if id:
            yield Question(files.prefix + id, title or text, text if title else "")
        else:
            yield source.reject("no _id", row)


def _judgements(files: _Files, source: Source) -> Iterator[Judgement | Rejected]:
    for file in files.qrels:
        split = file.name.partition(".")[0]
        for line in source.lines(file):
            if source.line == 1 and line.lower().startswith("query"):
                continue
            try:
                query, document, score = _cells(line)
                yield Judgement(split, files.prefix + query, files.prefix + document, int(score))
            except ValueError:
                yield source.reject("expected query id, document id and a whole number, tab separated", line.rstrip())


def _cells(line: str) -> list[str]:
    return line.split("\t") if '"' not in line else next(csv.reader([line.rstrip("\r\n")], delimiter="\t"))


def _queries(files: _Files, splits: dict[str, set[str]], source: Source) -> Iterator[Query | Rejected]:
    """Queries of each split that judges them; those of `queries-SPLIT.jsonl` belong to that split."""
    for file in files.queries:
        own = file.name.partition(".")[0].partition("-")[2]
        for row in json_lines(source, file):
            if isinstance(row, Rejected):
                yield row
                continue
            try:
                question = Question(files.prefix + string(row["_id"]), string(row["text"]))
            except KeyError as error:
                yield source.reject(problem(error), row)
                continue
            among = {own} if own else splits.get(question.id, ())
            source.note("queries without a judgement left out", not among)
            for split in sorted(among):
                yield Query(split, question)
