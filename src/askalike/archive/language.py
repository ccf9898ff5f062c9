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


def with_languages(
    records: Iterable[Placed], archive: Archive, facts: Mapping[str, Any], given: str | None
) -> Iterator[Placed]:
    """The records; questions and queries get a language of their own where the archive's does not hold for them.

    The archive's language is `given`, or the reader's fact, or what at least 90 % of the first 300 texts are in. An
    archive of several languages has none; its questions have. One that holds questions already keeps its own. An
    InputError of the reader is raised after what came before it.
    """
    sample: list[PlacedText] = []
    languages: _Languages | None = None
    trouble: InputError | None = None
    try:
        for record, where, line in records:
            if not isinstance(record, Text):
                yield record, where, line
            elif languages:
                yield languages.applied((record, where, line))
            else:
                sample.append((record, where, line))
                known = given or facts.get("language")
                if known or len(sample) == SAMPLE:
                    languages = _Languages(archive, known, sample)
                    yield from map(languages.applied, sample)
    except InputError as error:
        trouble = error
    if not languages:
        languages = _Languages(archive, None, sample)
        yield from map(languages.applied, sample)
    languages.keep(given)
    if trouble:
        raise trouble


class _Languages:
    """What was decided: the archive's language, the one all its new questions share, or that each has its own."""

    def __init__(self, archive: Archive, known: str | None, sample: Sequence[PlacedText]) -> None:
        self._archive = archive
        voters = () if known else sample
        votes = Counter(filter(None, (_language_of(record, None) for record, _, _ in voters)))
        self._main = known or _majority(votes)
        self._among = tuple(x for x, n in votes.items() if n >= RARE * votes.total()) or None
        self._seen: set[str] = set(archive.meta.get("languages", ()))
        if self._main and len(archive.view()) == 0:
            archive.set_meta(language=self._main)
        self._archives = archive.meta.get("language")

    def applied(self, placed: PlacedText) -> Placed:
        """The record, with a language of its own where it needs one."""
        record, where, line = placed
        if isinstance(record, Answer) or (self._main and self._main == self._archives):
            return placed
        language = _language_of(record, self._among, self._main)
        self._seen.update(filter(None, (language, self._archives)))
        return _speaking(record, language), where, line

    def keep(self, given: str | None) -> None:
        """Stores the languages of a mixed archive, or the one given where it now holds for every question."""
        if self._seen:
            self._archive.set_meta(languages=sorted(self._seen))
        others = "SELECT EXISTS (SELECT 1 FROM questions WHERE language IS NOT ?)"
        if given and given != self._archives and not self._archive.connection.execute(others, (given,)).fetchone()[0]:
            self._archive.set_meta(language=given)


def _majority(votes: Counter[str]) -> str | None:
    top = votes.most_common(1)
    return top[0][0] if top and top[0][1] >= ONE_LANGUAGE * votes.total() else None


def _language_of(record: Text, among: Sequence[str] | None, main: str | None = None) -> str | None:
    text = record.question if isinstance(record, Query) else record
    if isinstance(text, Answer):
        return detect(plain_text(text.body[:LONGEST_TEXT], text.markup), among)
    return text.language or main or detect(f"{text.title} {plain_text(text.body[:LONGEST_TEXT], text.markup)}", among)


def _speaking(record: Question | Query, language: str | None) -> Question | Query:
    if isinstance(record, Query):
        return replace(record, question=replace(record.question, language=language))
    return replace(record, language=language)
