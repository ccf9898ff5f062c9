"""The words of an archive as a browser searches them: the term of each word, and the postings of each term.

Words are stemmed here, and a table tells the browser the term of each. For forms that no question has, there is a table
of endings: how often each ending of a word became which ending of its term.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from askalike import Question
from askalike.plugin.exports import TermExtractor, plain_text, search_rules, stop_words
from askalike.plugin.index import field_of, round_lengths, word_of
from askalike_browser.patterns import as_script_pattern

WORD = re.compile(r"\w+")
DEFAULT_LANGUAGE = "en"
"""The language of an archive that has none, or several."""
MIN_ENDING_COUNT = 3
"""Minimum number of words with an ending that is one of the language's."""
MIN_BEGINNING, MAX_ENDING = 4, 7
"""Minimum length of what is before an ending, and maximum length of an ending.

Of four letters on, 95 to 97 % of the words of one archive got the right term in another: tools/measure_endings.py.
"""


class Row(NamedTuple):
    """A phrasing: the number of its question, whether it is the question's own, and the terms of each field."""

    document: int
    is_own: bool
    terms: tuple[Counter[str], ...]

    @classmethod
    def of_terms(cls, document: int, phrasing: int, marked: Iterable[str], fields: int) -> Self:
        """Divide the terms of a phrasing, which are marked with their fields."""
        counts: tuple[Counter[str], ...] = tuple(Counter() for _ in range(fields))
        for term in marked:
            counts[field_of(term)][word_of(term)] += 1
        return cls(document, phrasing == 0, counts)


class WordIndex:
    """Collects the questions one by one, in the order of the archive; `values` and `arrays` are what is written."""

    def __init__(self, extractor: TermExtractor, language: str | None) -> None:
        """language: the archive's, None if it has several."""
        self._extractor, self._language = extractor, language
        self._rows: list[Row] = []
        self._words: Counter[tuple[str, str]] = Counter()
        """(word, term) → the number of questions with that word."""
        self._terms_of_words: dict[tuple[str, str | None], str | None] = {}

    def add(self, document: int, question: Question) -> None:
        """Add a question with its rephrasings. document: its number."""
        fields = len(self._extractor.fields)
        for phrasing, terms in self._extractor.phrasings(question, self._language):
            self._rows.append(Row.of_terms(document, phrasing, terms, fields))
        language = question.language or self._language
        texts = [(question.title, "text"), *((text, "text") for text in question.rephrasings)]
        if self._extractor.fields != ("title",):
            texts.append((question.body, question.markup))
        plain = [self._extractor.analyzer.plain_text(text, markup) for text, markup in texts]  # type: ignore[arg-type]
        for word in {word for text in plain for word in split_words(text)}:
            if term := self._find_term(word, language):
                self._words[word, term] += 1

    def _find_term(self, word: str, language: str | None) -> str | None:
        """Return the one term of a word; None if it has none or several."""
        key = word, language
        if key not in self._terms_of_words:
            terms = self._extractor.analyzer.analyze(word, language)
            self._terms_of_words[key] = terms[0] if len(terms) == 1 else None
        return self._terms_of_words[key]

    def count_words(self) -> int:
        """Return the number of different words."""
        return len({word for word, _ in self._words})

    @property
    def words(self) -> list[str]:
        """The words, in the order of their numbers."""
        return sorted({word for word, _ in self._words})

    @property
    def terms(self) -> list[str]:
        """The terms of any field, in the order of their numbers."""
        return sorted({term for row in self._rows for field in row.terms for term in field})

    def values(self) -> dict[str, Any]:
        """Return the texts and numbers, for `write_data`."""
        settings = self._extractor.settings
        language = self._language or DEFAULT_LANGUAGE
        rules = search_rules(self._language)
        return {
            "words": "\n".join(self.words),
            "terms": "\n".join(self.terms),
            "fieldWeights": settings.weights or (1.0,),
            "totals": [sum(row.terms[n].total() for row in self._rows if row.is_own) for n in self._fields],
            "owned": sum(row.is_own for row in self._rows),
            "endings": find_endings(self._words),
            "minBeginning": MIN_BEGINNING,
            "maxEnding": MAX_ENDING,
            "joins": settings.joined,
            "contracts": language in rules["words"]["contracting"],
            "stopWords": sorted(stop_words(language)),
            "lightTerms": sorted(self._extractor.light_words(language)) if settings.function_words < 1 else [],
            "lightWeight": settings.function_words,
            "corrects": settings.spelling,
            "rules": name_as_script(rules),
        }

    @property
    def _fields(self) -> range:
        return range(len(self._extractor.fields))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers of words, postings, lengths, for `write_data`. Fields follow each other in each array.

        wordTerms, wordCounts: (words). starts: (fields · terms + 1), where the postings of a term begin. rows: each
        posting's row, minus that of the one before. frequencies: (postings). df, ttf: (fields · terms), in questions'
        own texts. lengths: (fields · rows). documents: (rows), the number of each row's question.
        """
        numbers = {term: n for n, term in enumerate(self.terms)}
        chosen: dict[str, str] = {}
        for (word, term), _ in self._words.most_common():
            chosen.setdefault(word, term)
        counts = Counter[str]()
        for (word, _), n in self._words.items():
            counts[word] += n
        words = self.words
        return {
            "wordTerms": np.array([numbers.get(chosen[word], -1) for word in words], np.int32),
            "wordCounts": np.array([counts[word] for word in words], np.int32),
            **self._postings(numbers),
            "lengths": round_lengths([row.terms[n].total() for n in self._fields for row in self._rows]).astype(
                np.int32
            ),
            "documents": np.array([row.document for row in self._rows], np.int32),
        }

    def _postings(self, numbers: Mapping[str, int]) -> dict[str, NDArray[Any]]:
        postings = np.array(list(self._iter_postings(numbers)), np.int64).reshape(-1, 4)
        size = len(self._fields) * len(numbers)
        term, row, frequency, is_own = postings[np.lexsort((postings[:, 1], postings[:, 0]))].T
        starts = np.searchsorted(term, np.arange(size + 1))
        gaps = np.diff(row, prepend=0)
        gaps[starts[:-1][starts[:-1] < starts[1:]]] = row[starts[:-1][starts[:-1] < starts[1:]]]
        return {
            "starts": starts.astype(np.int32),
            "rows": gaps.astype(np.int32),
            "frequencies": np.minimum(frequency, 255).astype(np.uint8),
            "df": np.bincount(term, is_own, size).astype(np.int32),
            "ttf": np.bincount(term, is_own * frequency, size).astype(np.int32),
        }

    def _iter_postings(self, numbers: Mapping[str, int]) -> Iterator[tuple[int, int, int, int]]:
        """Yield (term in its field, row, frequency, whether the row is a question's own text)."""
        for n, row in enumerate(self._rows):
            for field, counts in enumerate(row.terms):
                for term, count in counts.items():
                    yield field * len(numbers) + numbers[term], n, count, int(row.is_own)


def name_as_script(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return rules as JavaScript has them: max_unknown becomes maxUnknown, in tables, too, and so do `patterns`."""
    named = {re.sub("_(.)", lambda match: match[1].upper(), name): value for name, value in rules.items()}
    if "patterns" in named:
        named["patterns"] = {name: as_script_pattern(pattern) for name, pattern in named["patterns"].items()}
    return {name: name_as_script(value) if isinstance(value, dict) else value for name, value in named.items()}


def split_words(text: str) -> set[str]:
    """Return the words of a plain text in lower case, and of those with hyphens or apostrophes the joined whole."""
    text = unicodedata.normalize("NFC", text.lower())
    joint, hyphen, joined_word = _joints()
    words = set(WORD.findall(text))
    for joined in joined_word.findall(text):
        contracted = (part.removesuffix("'s").removesuffix("’s") for part in hyphen.split(joined))
        words.update(joint.sub("", part) for part in (joined, *contracted))
    return words


@cache
def _joints() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a hyphen or apostrophe, of a hyphen, and of a word with some inside."""
    rules = search_rules(DEFAULT_LANGUAGE)["words"]
    joint, hyphen = f"[{rules['hyphens']}{rules['apostrophes']}]", f"[{rules['hyphens']}]"
    return re.compile(joint), re.compile(hyphen), re.compile(rf"\w+(?:{joint}\w+)+")


def find_endings(words: Mapping[tuple[str, str], int]) -> dict[str, list[str]]:
    """Return the endings of words → the endings that their terms have instead, the most frequent first."""
    counts = Counter[tuple[str, str]]()
    for word, term in words:
        pairs = enumerate(zip(word, term, strict=False))
        shared = next((n for n, (a, b) in pairs if a != b), min(len(word), len(term)))
        if len(word) - shared <= MAX_ENDING and shared > 1:
            counts[word[shared:], term[shared:]] += 1
    endings: dict[str, list[str]] = {}
    for (of_word, of_term), count in counts.most_common():
        if count >= MIN_ENDING_COUNT:
            endings.setdefault(of_word, []).append(of_term)
    return endings


def shown_title(question: Question) -> str:
    """Return the title as it is shown: plain text on one line, or the id of a question without one."""
    return plain_text(question.title, "text", code="keep", links="keep").replace("\n", " ") or question.id
