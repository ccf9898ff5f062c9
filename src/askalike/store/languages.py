"""Detects the language of an archive from its first texts, or of each question in a multilingual archive."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from askalike.core.errors import InputError
from askalike.core.records import Answer, EvaluationQuery, LocatedRecord, Place, Question
from askalike.store.archive import Archive
from askalike.store.database import fetch_int
from askalike.text.clean import plain_text
from askalike.text.language import detect_language

SAMPLE_TEXTS = 300
MIN_MAJORITY = 0.9
MIN_LANGUAGE_SHARE = 0.05
MAX_TEXT_CHARS = 1_000

TextRecord = Question | Answer | EvaluationQuery
LocatedText = tuple[TextRecord, Place]


class LanguageAssigner:
    """Assigns a language to each question and query that is not in the archive's language.

    The archive's language is the declared one, else the reader's `language`, else the one of at least 90 % of the first
    300 texts. A multilingual archive has none, and each question has its own. An archive with questions keeps its
    language. With the reader's `languages` nothing is detected, and a question may have no language.
    """

    def __init__(
        self, archive: Archive, facts: Mapping[str, Any], declared: str | None, *, is_plan: bool = False
    ) -> None:
        """is_plan: store nothing in the archive."""
        self._archive = archive
        self._is_plan = is_plan
        self._facts = facts
        self._declared = declared
        self._seen_languages: set[str] = set(archive.meta.get("languages", ()))
        self._main_language: str | None = None
        self._archive_language: str | None = None
        self._candidate_languages: Sequence[str] | None = None

    def assign_languages(self, records: Iterable[LocatedRecord]) -> Iterator[LocatedRecord]:
        """Yield the records with their languages; an InputError of the reader is raised after all earlier records."""
        sample: list[LocatedText] = []
        input_error: InputError | None = None
        rest = iter(records)
        try:
            for record, place in rest:
                if not isinstance(record, TextRecord):
                    yield record, place
                    continue
                sample.append((record, place))
                if self._is_declared() or len(sample) >= SAMPLE_TEXTS:
                    break
        except InputError as error:
            input_error = error
        self._decide(sample)
        yield from map(self._assign_language, sample)
        if input_error:
            raise input_error
        for record, place in rest:
            yield self._assign_language((record, place)) if isinstance(record, TextRecord) else (record, place)

    def store_languages(self) -> None:
        """Store, after an import, a multilingual archive's languages, or the declared one if all questions have it."""
        if self._seen_languages:
            self._archive.set_meta(languages=sorted(self._seen_languages))
        other_language = "SELECT EXISTS (SELECT 1 FROM questions WHERE language IS NOT ?)"
        if self._declared and not fetch_int(self._archive, other_language, self._declared):
            self._archive.set_meta(language=self._declared)

    def _is_declared(self) -> bool:
        return bool(self._declared or self._facts.get("language") or "languages" in self._facts)

    def _decide(self, sample: Sequence[LocatedText]) -> None:
        texts = () if self._is_declared() else sample
        votes = Counter(filter(None, (_language_of(text, None) for text, _ in texts)))
        self._main_language = self._declared or self._facts.get("language") or _majority_language(votes)
        frequent = [language for language, n in votes.items() if n >= MIN_LANGUAGE_SHARE * votes.total()]
        self._candidate_languages = frequent or None
        self._archive_language = self._archive.meta.get("language")
        if self._main_language and len(self._archive.view()) == 0:
            self._archive_language = self._main_language
            if not self._is_plan:
                self._archive.set_meta(language=self._main_language)

    def _assign_language(self, located: LocatedText) -> LocatedRecord:
        record, place = located
        if isinstance(record, Answer) or (self._main_language and self._main_language == self._archive_language):
            return located
        question = record.question if isinstance(record, EvaluationQuery) else record
        language = question.language or self._main_language
        if "languages" in self._facts:
            languages = (*self._facts["languages"], self._main_language, self._archive_language)
        else:
            language = language or _language_of(record, self._candidate_languages)
            languages = (language, self._archive_language)
        self._seen_languages.update(filter(None, languages))
        question = replace(question, language=language)
        return (replace(record, question=question) if isinstance(record, EvaluationQuery) else question), place


def _majority_language(votes: Counter[str]) -> str | None:
    top = votes.most_common(1)
    return top[0][0] if top and top[0][1] >= MIN_MAJORITY * votes.total() else None


def detect_text_language(text: Question | Answer, candidates: Sequence[str] | None) -> str | None:
    """Detect the language of a text from its title and the beginning of its body; None if it is uncertain."""
    title = f"{text.title} " if isinstance(text, Question) else ""
    return detect_language(f"{title}{plain_text(text.body[:MAX_TEXT_CHARS], text.markup)}", candidates)


def _language_of(record: TextRecord, candidates: Sequence[str] | None) -> str | None:
    """Return a record's given language, or else its detected one."""
    text = record.question if isinstance(record, EvaluationQuery) else record
    return getattr(text, "language", None) or detect_text_language(text, candidates)
