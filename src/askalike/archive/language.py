"""Decides the language of an archive from its first texts, or, where it has several, that of each question."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from askalike.archive.store import Archive
from askalike.errors import InputError
from askalike.text.clean import plain_text
from askalike.text.language import detect
from askalike.types import Answer, Query, Question, Record

SAMPLE = 300
ONE_LANGUAGE = 0.9
RARE = 0.05
LONGEST_TEXT = 1_000

Text = Question | Answer | Query
Placed = tuple[Record, str, int]
"""A record with the file and line it came from."""
PlacedText = tuple[Text, str, int]


class Languages:
    """Gives questions and queries a language of their own where the archive's does not hold for them.

    The archive's language is `given`, or the reader's fact, or what at least 90 % of the first 300 texts are in. An
    archive of several languages has none; its questions have. One that holds questions already keeps its own. Where the
    reader knows the archive's `languages`, nothing is detected: what has no language is in none that is known.
    """

    def __init__(self, archive: Archive, facts: Mapping[str, Any], given: str | None) -> None:
        self._archive = archive
        self._facts = facts
        self._given = given
        self._seen: set[str] = set(archive.meta.get("languages", ()))
        self._main: str | None = None
        self._archives: str | None = None
        self._among: Sequence[str] | None = None

    def spoken(self, records: Iterable[Placed]) -> Iterator[Placed]:
        """The records with their languages. An InputError of the reader is raised after what came before it."""
        sample: list[PlacedText] = []
        decided = False
        trouble: InputError | None = None
        try:
            for record, where, line in records:
                if not isinstance(record, Text):
                    yield record, where, line
                elif decided:
                    yield self._applied((record, where, line))
                else:
                    sample.append((record, where, line))
                    decided = self._decides(sample)
                    yield from map(self._applied, sample if decided else ())
        except InputError as error:
            trouble = error
        if not decided:
            self._decide(sample)
            yield from map(self._applied, sample)
        if trouble:
            raise trouble

    def keep(self) -> None:
        """After an import: stores the languages of a mixed archive, or the one given if it holds for every question."""
        if self._seen:
            self._archive.set_meta(languages=sorted(self._seen))
        others = "SELECT EXISTS (SELECT 1 FROM questions WHERE language IS NOT ?)"
        if self._given and not self._archive.connection.execute(others, (self._given,)).fetchone()[0]:
            self._archive.set_meta(language=self._given)

    def _decides(self, sample: Sequence[PlacedText]) -> bool:
        if not self._is_told() and len(sample) < SAMPLE:
            return False
        self._decide(sample)
        return True

    def _is_told(self) -> bool:
        return bool(self._given or self._facts.get("language") or "languages" in self._facts)

    def _decide(self, sample: Sequence[PlacedText]) -> None:
        heard = () if self._is_told() else sample
        votes = Counter(filter(None, (_language_of(text, None) for text, _, _ in heard)))
        self._main = self._given or self._facts.get("language") or _majority(votes)
        self._among = tuple(x for x, n in votes.items() if n >= RARE * votes.total()) or None
        if self._main and len(self._archive.view()) == 0:
            self._archive.set_meta(language=self._main)
        self._archives = self._archive.meta.get("language")

    def _applied(self, placed: PlacedText) -> Placed:
        record, where, line = placed
        if isinstance(record, Answer) or (self._main and self._main == self._archives):
            return placed
        language = _own(record) or self._main
        if "languages" in self._facts:
            self._seen.update(filter(None, (*self._facts["languages"], self._main, self._archives)))
        else:
            language = language or _language_of(record, self._among)
            self._seen.update(filter(None, (language, self._archives)))
        return _speaking(record, language), where, line


def _majority(votes: Counter[str]) -> str | None:
    top = votes.most_common(1)
    return top[0][0] if top and top[0][1] >= ONE_LANGUAGE * votes.total() else None


def _language_of(record: Text, among: Sequence[str] | None) -> str | None:
    """The language that a text has, else the one it is detected to be in."""
    text = record.question if isinstance(record, Query) else record
    if isinstance(text, Answer):
        return detect(plain_text(text.body[:LONGEST_TEXT], text.markup), among)
    return text.language or detect(f"{text.title} {plain_text(text.body[:LONGEST_TEXT], text.markup)}", among)


def _own(record: Question | Query) -> str | None:
    return record.question.language if isinstance(record, Query) else record.language


def _speaking(record: Question | Query, language: str | None) -> Question | Query:
    if isinstance(record, Query):
        return replace(record, question=replace(record.question, language=language))
    return replace(record, language=language)
