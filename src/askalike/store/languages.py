"""Decides the language of an archive from its first texts, or, where it has several, that of each question."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from askalike.errors import InputError
from askalike.store.archive import Archive
from askalike.text.clean import plain_text
from askalike.text.language import detect_language
from askalike.types import Answer, EvaluationQuery, LocatedRecord, Place, Question

SAMPLE_TEXTS = 300
MIN_MAJORITY = 0.9
MIN_LANGUAGE_SHARE = 0.05
MAX_TEXT_CHARS = 1_000

TextRecord = Question | Answer | EvaluationQuery
LocatedText = tuple[TextRecord, Place]


class LanguageAssigner:
    """Gives questions and queries a language of their own where the archive's does not hold for them.

    The archive's language is `given`, or the reader's fact, or what at least 90 % of the first 300 texts are in. An
    archive of several languages has none; its questions have. One that holds questions already keeps its own. Where the
    reader knows the archive's `languages`, nothing is detected: what has no language is in none that is known.
    """

    def __init__(self, archive: Archive, facts: Mapping[str, Any], declared: str | None) -> None:
        self._archive = archive
        self._facts = facts
        self._declared = declared
        self._seen_languages: set[str] = set(archive.meta.get("languages", ()))
        self._main_language: str | None = None
        self._archive_language: str | None = None
        self._candidate_languages: Sequence[str] | None = None

    def assign_languages(self, records: Iterable[LocatedRecord]) -> Iterator[LocatedRecord]:
        """The records with their languages. An InputError of the reader is raised after what came before it."""
        sample: list[LocatedText] = []
        decided = False
        trouble: InputError | None = None
        try:
            for record, place in records:
                if not isinstance(record, TextRecord):
                    yield record, place
                elif decided:
                    yield self._assign_language((record, place))
                else:
                    sample.append((record, place))
                    decided = self._decide_if_ready(sample)
                    yield from map(self._assign_language, sample if decided else ())
        except InputError as error:
            trouble = error
        if not decided:
            self._decide(sample)
            yield from map(self._assign_language, sample)
        if trouble:
            raise trouble

    def store_languages(self) -> None:
        """After an import: stores the languages of a mixed archive, or the one given if it holds for every question."""
        if self._seen_languages:
            self._archive.set_meta(languages=sorted(self._seen_languages))
        others = "SELECT EXISTS (SELECT 1 FROM questions WHERE language IS NOT ?)"
        if self._declared and not self._archive._connection.execute(others, (self._declared,)).fetchone()[0]:
            self._archive.set_meta(language=self._declared)

    def _decide_if_ready(self, sample: Sequence[LocatedText]) -> bool:
        if not self._is_declared() and len(sample) < SAMPLE_TEXTS:
            return False
        self._decide(sample)
        return True

    def _is_declared(self) -> bool:
        return bool(self._declared or self._facts.get("language") or "languages" in self._facts)

    def _decide(self, sample: Sequence[LocatedText]) -> None:
        heard = () if self._is_declared() else sample
        votes = Counter(filter(None, (_detect_language(text, None) for text, _ in heard)))
        self._main_language = self._declared or self._facts.get("language") or _majority_language(votes)
        self._candidate_languages = (
            tuple(x for x, n in votes.items() if n >= MIN_LANGUAGE_SHARE * votes.total()) or None
        )
        if self._main_language and len(self._archive.view()) == 0:
            self._archive.set_meta(language=self._main_language)
        self._archive_language = self._archive.meta.get("language")

    def _assign_language(self, located: LocatedText) -> LocatedRecord:
        record, place = located
        if isinstance(record, Answer) or (self._main_language and self._main_language == self._archive_language):
            return located
        language = _declared_language(record) or self._main_language
        if "languages" in self._facts:
            self._seen_languages.update(
                filter(None, (*self._facts["languages"], self._main_language, self._archive_language))
            )
        else:
            language = language or _detect_language(record, self._candidate_languages)
            self._seen_languages.update(filter(None, (language, self._archive_language)))
        return _replace_language(record, language), place


def _majority_language(votes: Counter[str]) -> str | None:
    top = votes.most_common(1)
    return top[0][0] if top and top[0][1] >= MIN_MAJORITY * votes.total() else None


def _detect_language(record: TextRecord, candidates: Sequence[str] | None) -> str | None:
    """The language that a text has, else the one it is detected to be in."""
    text = record.question if isinstance(record, EvaluationQuery) else record
    if isinstance(text, Answer):
        return detect_language(plain_text(text.body[:MAX_TEXT_CHARS], text.markup), candidates)
    return text.language or detect_language(
        f"{text.title} {plain_text(text.body[:MAX_TEXT_CHARS], text.markup)}", candidates
    )


def _declared_language(record: Question | EvaluationQuery) -> str | None:
    return record.question.language if isinstance(record, EvaluationQuery) else record.language


def _replace_language(record: Question | EvaluationQuery, language: str | None) -> Question | EvaluationQuery:
    if isinstance(record, EvaluationQuery):
        return replace(record, question=replace(record.question, language=language))
    return replace(record, language=language)
