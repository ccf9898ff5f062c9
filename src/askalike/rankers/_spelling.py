"""Words that an archive does not know, read as those that it knows: what `isntall` is meant to be.

Candidates are terms of the index, so that they follow the archive; the word that takes the typed one's place is read
from a question that holds such a term, since terms are stems and encoders want words.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from askalike.index.lexical.edits import edit_distance
from askalike.index.lexical.searcher import PostingsSearcher
from askalike.rankers._ranker import ResolvedQuery
from askalike.store import View
from askalike.text.analyzer import Analyzer
from askalike.text.stop_words import stop_words

if TYPE_CHECKING:
    from askalike.index.cluster.lexical import ClusterPostingsSearcher

WORD = re.compile(r"\w+")
MIN_LETTERS = 4
"""Shorter words are left as they are: too many others are near."""
TWO_EDITS_FROM = 8
"""Words of so many letters may differ by two edits, shorter ones by one."""
INFLECTION = 6
"""The longest ending that a stem lacks, of those with a misspelt one."""
STEM_BEGINNING, UNFINISHED_BEGINNING = 3, 1
"""How many first letters are taken to be right where the ending is misspelt, and where a word is unfinished."""
INFLECTED_EDITS = 1
"""How many more edits a word may differ by than its stem does."""
STEM_ENDING = 2
"""How many of a stem's last letters a word may have otherwise: `batteri` is the stem of *battery*."""
MAX_TERMS, MAX_QUESTIONS = 3, 8
"""How many terms are considered for a word, and in how many questions each is looked for."""
MAX_UNKNOWN = 2
"""More unknown words, if they are most of the query, are another language, unless each of them is near a known one."""
MAX_REMEMBERED_WORDS = 10_000


class _Word(NamedTuple):
    """A word of a query that may be misspelt: its term, its place, and whether it may be unfinished."""

    term: str
    start: int
    end: int
    is_unfinished: bool


class SpellingCorrector:
    """Corrects the titles of queries by the words of a view, of which `postings` is the index."""

    def __init__(self, view: View, postings: "PostingsSearcher | ClusterPostingsSearcher", analyzer: Analyzer) -> None:
        self._view, self._postings, self._analyzer = view, postings, analyzer
        self._words: dict[tuple[str, str, str | None], str | None] = {}

    def correct(
        self, queries: Sequence[ResolvedQuery], languages: Sequence[str | None], prefix: bool
    ) -> list[ResolvedQuery]:
        """Return the queries with the misspelt words of their titles corrected. prefix: the last may be unfinished."""
        texts = [self._analyzer.plain_text(one.query.title, "text") for one in queries]
        pairs = zip(texts, languages, strict=True)
        words = [list(self._long_words(text, language, prefix)) for text, language in pairs]
        unknown = self._postings.speller.unknown([word.term for own in words for word in own])
        corrected = []
        for one, text, own, language in zip(queries, texts, words, languages, strict=True):
            misspelt = [word for word in own if word.term in unknown]
            read = self._replace_words(one, text, misspelt, language) if misspelt else one
            is_foreign = len(misspelt) > MAX_UNKNOWN and 2 * len(misspelt) > len(own)
            every = len(read.corrections) - len(one.corrections) == len({text[w.start : w.end] for w in misspelt})
            corrected.append(read if every or not is_foreign else one)
        return corrected

    def finish(self, queries: Sequence[ResolvedQuery], languages: Sequence[str | None]) -> list[ResolvedQuery]:
        """Return the queries with their last words, where unknown, as the commonest words that begin so."""
        return [self._finish_title(one, language) for one, language in zip(queries, languages, strict=True)]

    def _finish_title(self, one: ResolvedQuery, language: str | None) -> ResolvedQuery:
        text = self._analyzer.plain_text(one.query.title, "text")
        *_, (term, start, end) = ("", 0, 0), *self._analyzer.analyze_with_spans(text, language)
        typed = text[start:end]
        if end < len(text) or not typed.isalpha() or not self._postings.speller.unknown([term]):
            return one
        typed_lower = typed.lower()
        find = partial(self._find_completion, typed_lower, language)
        if word := self._remember(("finish", typed_lower, language), find):
            finished = replace(one.query, title=text[:start] + word)
            return replace(one, finished=finished, corrections={**one.corrections, typed: word})
        return one

    def _find_completion(self, typed: str, language: str | None) -> str | None:
        """Return a word that begins as typed, of the term that most questions have."""
        for term in self._postings.complete(typed)[:1]:
            for texts in self._read_texts(term):
                words: list[str] = [word for text in texts for word in WORD.findall(text.lower())]
                likely = Counter(word for word in words if word.startswith(typed)).most_common()
                for word, _ in likely:
                    if self._analyzer.analyze(word, language) == [term]:
                        return word
        return None

    def _long_words(self, text: str, language: str | None, prefix: bool) -> Iterator[_Word]:
        for term, start, end in self._analyzer.analyze_with_spans(text, language):
            typed = text[start:end].lower()
            if len(typed) >= MIN_LETTERS and typed.isalpha() and typed not in stop_words(language or "en"):
                is_unfinished = prefix and end == len(text)
                if not is_unfinished or not self._postings.complete(typed):
                    yield _Word(term, start, end, is_unfinished)

    def _replace_words(
        self, one: ResolvedQuery, text: str, words: Sequence[_Word], language: str | None
    ) -> ResolvedQuery:
        corrections = dict(one.corrections)
        for word in reversed(words):
            typed = text[word.start : word.end]
            if meant := self._look_up(typed.lower(), word, language):
                meant = meant.capitalize() if typed[0].isupper() else meant
                text = f"{text[: word.start]}{meant}{text[word.end :]}"
                corrections[typed] = meant
        if len(corrections) == len(one.corrections):
            return one
        return replace(one, query=replace(one.query, title=text), corrections=corrections)

    def _look_up(self, typed: str, word: _Word, language: str | None) -> str | None:
        def find() -> str | None:
            beginning = self._find_beginning(typed) if word.is_unfinished else None
            return beginning or self._find_word(typed, word.term, language)

        return self._remember(("begin" if word.is_unfinished else "correct", typed, language), find)

    def _remember(self, key: tuple[str, str, str | None], find: Callable[[], str | None]) -> str | None:
        if key not in self._words:
            if len(self._words) >= MAX_REMEMBERED_WORDS:
                self._words.clear()
            self._words[key] = find()
        return self._words[key]

    def _find_beginning(self, typed: str) -> str | None:
        """Return the beginning of a known term that an unfinished word may stand for."""
        near = self._postings.speller.near(typed, 1, beginning=UNFINISHED_BEGINNING, open_end=True)
        return near[0].term[: near[0].letters] if near else None

    def _find_word(self, typed: str, stem: str, language: str | None) -> str | None:
        """Return the known word that a finished word may stand for, None where none is near enough."""
        speller, max_edits = self._postings.speller, 1 + (len(typed) >= TWO_EDITS_FROM)
        for near in speller.near(stem, max_edits)[:MAX_TERMS]:
            if word := self._find_form(near.term, typed, max_edits + INFLECTED_EDITS, language):
                return word
        for near in speller.near(typed, 0, beginning=STEM_BEGINNING, tail=INFLECTION)[:MAX_TERMS]:
            if word := self._find_form(near.term, typed, max_edits, language):
                return word
        return None

    def _find_form(self, term: str, typed: str, max_edits: int, language: str | None) -> str | None:
        """Return the word that is most like the one typed, among those with this term in a few questions."""
        for texts in self._read_texts(term):
            edits = {form: edit_distance(form, typed) for form in self._forms(term, texts, language)}
            best = min(edits, key=edits.__getitem__, default="")
            if best and edits[best] <= max_edits:
                return best
        return None

    def _read_texts(self, term: str) -> Iterator[Sequence[str]]:
        """Yield the titles and rephrasings of a few questions with a term, then their bodies."""
        questions = self._view.questions_by_docid(self._postings.speller.docids(term, MAX_QUESTIONS)).values()
        yield [title for question in questions for title in (question.title, *question.rephrasings)]
        yield [question.body for question in questions]

    def _forms(self, term: str, texts: Iterable[str], language: str | None) -> Iterator[str]:
        """Yield the words of some texts that have this term."""
        beginning = term[: max(1, len(term) - STEM_ENDING)]
        words = dict.fromkeys(word for text in texts for word in WORD.findall(text.lower()))
        similar = (word for word in words if word.startswith(beginning))
        return (word for word in similar if self._analyzer.analyze(word, language) == [term])
