"""Reads the BEIR layout (Thakur et al. 2021): `corpus.jsonl`, `queries.jsonl`, `qrels/SPLIT.tsv`, gzipped or not."""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from askalike.core.config import Settings
from askalike.core.errors import InputError
from askalike.core.records import EvaluationQuery, Judgement, LocatedRecord, Question
from askalike.readers._exported import read_beir_export_extras, read_export_facts
from askalike.readers._json import Row, read_json_lines
from askalike.readers._rows import read_rows
from askalike.readers._source import SourceFiles, parse_rows
from askalike.readers._values import to_text

COMPRESSED_SUFFIXES = ("", ".gz", ".bz2")
EXPECTED_JUDGEMENT = "expected query id, document id and a whole number, tab separated"


class _DataSet(NamedTuple):
    """The files of one data set."""

    prefix: str
    """Prefix of the ids of its documents and queries."""
    corpus: Path
    queries: Sequence[Path]
    qrels: Sequence[Path]


class BeirReader(Settings):
    """A data set in BEIR's layout, or a folder of such folders as CQADupStack has: ids then begin with `FOLDER/`.

    A folder that `askalike export --format beir` wrote gives back the whole archive.

    Examples:

    ```
    askalike import beir scifact -o scifact
    askalike import beir cqadupstack -o forums
    ```
    """

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield documents as questions, then judgements and queries. Raises InputError."""
        if len(paths) == 1 and read_export_facts(paths[0], "beir", source):
            yield from self._read_export(paths[0], source)
            return
        sets = [files for path in paths for files in _find_data_sets(path)]
        source.facts["name"] = ", ".join(path.resolve().name for path in paths)
        if groups := [files.prefix.rstrip("/") for files in sets if files.prefix]:
            source.facts["groups"] = groups
        source.expect([file for s in sets for file in (s.corpus, *s.queries, *s.qrels)])
        for files in sets:
            yield from _read_documents(files, source)
            splits: dict[str, set[str]] = defaultdict(set)
            for record, place in _read_judgements(files, source):
                if isinstance(record, Judgement):
                    splits[record.query_id].add(record.split)
                yield record, place
            yield from _read_queries(files, splits, source)

    def _read_export(self, folder: Path, source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield an export of askalike. Data that BEIR has no place for comes last, as it is richer than the qrels."""
        for files in _find_data_sets(folder):
            source.expect(files.qrels)
            yield from _read_exported_judgements(files.qrels, source)
        yield from read_beir_export_extras(folder, source)


def _find_data_sets(path: Path) -> list[_DataSet]:
    """Return the data sets at a path. Raises InputError if there is none."""
    if not path.is_dir():
        raise InputError(f"{path}: {'a file' if path.exists() else 'not there'}; expected a folder with corpus.jsonl")
    if data_set := _find_data_set(path, ""):
        return [data_set]
    inside = [_find_data_set(folder, f"{folder.name}/") for folder in sorted(path.iterdir()) if folder.is_dir()]
    if not any(inside):
        raise InputError(f"{path}: neither it nor its folders have a corpus.jsonl; expected BEIR's layout")
    return [files for files in inside if files]


def _find_data_set(folder: Path, prefix: str) -> _DataSet | None:
    corpus = next((f for end in COMPRESSED_SUFFIXES if (f := folder / f"corpus.jsonl{end}").is_file()), None)
    if corpus is None:
        return None
    queries = [f for end in COMPRESSED_SUFFIXES for f in sorted(folder.glob(f"queries*.jsonl{end}"))]
    qrels = [f for end in COMPRESSED_SUFFIXES for f in sorted(folder.glob(f"qrels/*.tsv{end}"))]
    return _DataSet(prefix, corpus, queries, qrels)


def _read_documents(data_set: _DataSet, source: SourceFiles) -> Iterator[LocatedRecord]:
    def parse(row: Row) -> list[Question]:
        id, title, text = (to_text(row.get(key)) for key in ("_id", "title", "text"))
        if not id:
            raise KeyError("_id")
        return [Question(data_set.prefix + id, title or text, text if title else "")]

    return parse_rows(read_json_lines(source, data_set.corpus), parse)


def _read_judgements(data_set: _DataSet, source: SourceFiles) -> Iterator[LocatedRecord]:
    for file in data_set.qrels:
        split = _stem(file)

        def parse(line: str, split: str = split) -> list[Judgement]:
            try:
                query, document, score = _split_line(line)
                return [Judgement(split, data_set.prefix + query, data_set.prefix + document, int(score))]
            except ValueError:
                raise ValueError(EXPECTED_JUDGEMENT) from None

        lines = source.read_lines(file)
        rows = ((at, line) for at, line in lines if at.line > 1 or not line.lower().startswith("query"))
        yield from parse_rows(rows, parse, str.rstrip)


def _read_exported_judgements(files: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
    """Yield the judgements of an export, whose ids may contain any character, such as a line break."""
    for file in files:

        def parse(row: Row, split: str = _stem(file)) -> list[Judgement]:
            try:
                return [Judgement(split, row["query-id"], row["corpus-id"], int(row["score"]))]
            except ValueError:
                raise ValueError(EXPECTED_JUDGEMENT) from None

        yield from parse_rows(read_rows(source, file), parse)


def _stem(file: Path) -> str:
    """Return a file's name without its extension: `dev.2` for `dev.2.tsv.gz`."""
    return re.sub(rf"\.(?:tsv|jsonl)(?:{'|'.join(map(re.escape, COMPRESSED_SUFFIXES))})$", "", file.name)


def _split_line(line: str) -> list[str]:
    return line.split("\t") if '"' not in line else next(csv.reader([line.rstrip("\r\n")], delimiter="\t"))


def _read_queries(data_set: _DataSet, splits_of: dict[str, set[str]], source: SourceFiles) -> Iterator[LocatedRecord]:
    """Yield each query for every split that judges it; those in `queries-SPLIT.jsonl` only for that split."""
    for file in data_set.queries:
        declared_split = _stem(file).partition("-")[2]

        def parse(row: Row, declared_split: str = declared_split) -> list[EvaluationQuery]:
            question = Question(data_set.prefix + to_text(row["_id"]), to_text(row["text"]))
            splits = {declared_split} if declared_split else splits_of.get(question.id, ())
            source.note("queries without a judgement left out", not splits)
            return [EvaluationQuery(split, question) for split in sorted(splits)]

        yield from parse_rows(read_json_lines(source, file), parse)
