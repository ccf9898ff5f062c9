"""Reads the Ask Ubuntu set of Lei et al. (NAACL 2016): tokenised questions, and queries with their candidates."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from askalike.config import Settings
from askalike.errors import InputError
from askalike.readers._source import Source
from askalike.types import Judgement, Query, Question, Record

TEXTS = ("text_tokenized.txt", "text_tokenized.txt.gz")
SPLITS = {"train": "train_random.txt", "dev": "dev.txt", "test": "test.txt"}


class Lei(Settings):
    """The folder of the Ask Ubuntu set: text_tokenized.txt(.gz), train_random.txt, dev.txt, test.txt."""

    def read(self, paths: Sequence[Path], source: Source) -> Iterator[Record]:
        """Judgements, then questions and the queries among them. Raises InputError."""
        source.facts |= {"name": "Ask Ubuntu (Lei et al.)", "language": "en", "license": "CC BY-SA"}
        for folder in paths:
            texts = next((folder / name for name in TEXTS if (folder / name).is_file()), None)
            if texts is None:
                raise InputError(f"{folder}: no {TEXTS[0]} in it; expected the folder of Lei et al.'s set")
            files = {split: folder / name for split, name in SPLITS.items() if (folder / name).is_file()}
            source.expect([texts, *files.values()])
            asked: dict[str, list[str]] = {}
            for split, file in files.items():
                yield from _judgements(file, split, asked, source)
            yield from _questions(texts, asked, source)


def _judgements(file: Path, split: str, asked: dict[str, list[str]], source: Source) -> Iterator[Record]:
    """One query a line: its id, the ids that are relevant, then those offered (train: drawn at random)."""
    for line in source.lines(file):
        fields = line.rstrip("\r\n").split("\t")
        if len(fields) < 3 or not fields[0]:
            yield source.reject("expected query, relevant ids and candidate ids, tab separated", line.rstrip())
            continue
        query, relevant, offered = fields[0], fields[1].split(), fields[2].split()
        asked.setdefault(query, []).append(split)
        ranked = split != "train"
        for position, id in enumerate(offered, 1):
            yield Judgement(split, query, id, int(id in relevant), position if ranked else None)
        for id in relevant:
            if id not in offered:
                yield Judgement(split, query, id, 1)


def _questions(file: Path, asked: dict[str, list[str]], source: Source) -> Iterator[Record]:
    for line in source.lines(file):
        id, *texts = line.rstrip("\r\n").split("\t")
        if not id or len(texts) != 2:
            yield source.reject("expected id, title and body, tab separated", line.rstrip())
            continue
        question = Question(id, texts[0].strip(), texts[1].strip())
        yield question
        for split in asked.get(id, ()):
            yield Query(split, question)
