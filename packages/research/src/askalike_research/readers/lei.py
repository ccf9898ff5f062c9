"""Reads the Ask Ubuntu set of Lei et al. (NAACL 2016): tokenised questions, and queries with their candidates."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from askalike import EvaluationQuery, InputError, Judgement, LocatedRecord, Question, Settings, SourceFiles
from askalike.plugin.readers import Record, parse_rows

TEXT_FILES = ("text_tokenized.txt", "text_tokenized.txt.gz")
SPLIT_FILES = {"train": "train_random.txt", "dev": "dev.txt", "test": "test.txt"}


class LeiReader(Settings):
    """The folder of the Ask Ubuntu set: text_tokenized.txt(.gz), train_random.txt, dev.txt, test.txt.

    Examples:

    ```
    askalike import lei askubuntu -o askubuntu
    askalike import lei askubuntu -o askubuntu --dry-run
    ```
    """

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedRecord]:
        """Yield judgements, then questions and the queries among them. Raises InputError."""
        source.facts |= {"name": "Ask Ubuntu (Lei et al.)", "language": "en", "license": "CC BY-SA"}
        for folder in paths:
            texts = next((folder / name for name in TEXT_FILES if (folder / name).is_file()), None)
            if texts is None:
                raise InputError(f"{folder}: no {TEXT_FILES[0]} in it; expected the folder of Lei et al.'s set")
            files = {split: folder / name for split, name in SPLIT_FILES.items() if (folder / name).is_file()}
            source.expect([texts, *files.values()])
            splits_by_query: dict[str, list[str]] = {}
            for split, file in files.items():
                yield from _read_judgements(file, split, splits_by_query, source)
            yield from _read_questions(texts, splits_by_query, source)


def _read_judgements(
    file: Path, split: str, splits_by_query: dict[str, list[str]], source: SourceFiles
) -> Iterator[LocatedRecord]:
    """Yield the judgements of each line: a query, its relevant ids and its candidates (random ones in train)."""
    has_positions = split != "train"

    def parse(line: str) -> Iterator[Record]:
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) < 3 or not fields[0]:
            raise ValueError("expected query, relevant ids and candidate ids, tab separated")
        query = fields[0]
        relevant = fields[1].split()
        candidates = fields[2].split()
        splits_by_query.setdefault(query, []).append(split)
        for position, id in enumerate(candidates, 1):
            yield Judgement(split, query, id, int(id in relevant), position if has_positions else None)
        for id in relevant:
            if id not in candidates:
                yield Judgement(split, query, id, 1)

    return parse_rows(source.read_lines(file), parse, str.rstrip)


def _read_questions(file: Path, splits_by_query: dict[str, list[str]], source: SourceFiles) -> Iterator[LocatedRecord]:
    def parse(line: str) -> Iterator[Record]:
        id, *texts = line.rstrip("\r\n").split("\t")
        if not id or len(texts) != 2:
            raise ValueError("expected id, title and body, tab separated")
        question = Question(id, texts[0].strip(), texts[1].strip())
        yield question
        for split in splits_by_query.get(id, ()):
            yield EvaluationQuery(split, question)

    return parse_rows(source.read_lines(file), parse, str.rstrip)
