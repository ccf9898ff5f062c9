"""Text to terms: tokens, stop words, stems. The texts of an index and its queries use the same Analyzer."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, partial
from typing import Final

import numpy as np
import Stemmer
from pydantic import Field, field_validator

from askalike.core.config import Settings
from askalike.core.records import Markup
from askalike.text.clean import SURROGATE, CodeRule, LinkRule, normalise, plain_text
from askalike.text.language import LANGUAGES, stem, stem_all, stop_words, word_language
from askalike.text.tokens import NumberedTerms, SpanColumns, TermTable
from askalike.text.words import APOSTROPHES, HYPHENS, WORD, Tokenizer, cjk_pattern, is_plain, word_pattern

VERSION: Final = 1
"""Incremented whenever the terms of any text change; older indexes are then rejected."""

_MAX_CACHED_WORDS = 100_000
"""Maximum number of cached words per language: about 10 MB."""
_MAX_CACHED_TOKENS = 1 << 18
"""Maximum number of cached white-space tokens per language: about 40 MB."""

MAX_JOINED = 3
"""Maximum number of words with hyphens between them that are also one word."""
CONTRACTING: Final = ("en", "de", "nl")
"""Languages in which an apostrophe is often left out; in others, such as French, it divides words."""
_JOINT, _HYPHEN = re.compile(f"[{HYPHENS}{APOSTROPHES}]"), re.compile(f"[{HYPHENS}]")
_POSSESSIVE = re.compile(f"[{APOSTROPHES}]s$", re.IGNORECASE)
_BETWEEN_JOINTS, _BETWEEN_HYPHENS = re.compile(f"[^{HYPHENS}{APOSTROPHES}]+"), re.compile(f"[^{HYPHENS}]+")
_WORD_BYTES = np.array([chr(byte).isalnum() or chr(byte) == "_" for byte in range(128)])
"""Whether each ASCII character belongs to words, for the tokenizer `standard`."""
DROPPED_MARKS = re.compile("[\u0300-\u036f\ufe00-\ufe0f]")


class AnalyzerSettings(Settings):
    """Settings of the analysis of texts into terms.

    tokenizer: standard (Unicode words), ptb (the papers' Penn Treebank words) or whitespace (for tokenised text: no
    other setting changes it).
    language: an ISO 639-1 code for all texts, or "auto": the language given with a question, else English. A word in
    another alphabet than the language's is stemmed by the default language of that alphabet (Cyrillic: Russian).
    Languages are not detected here: callers can detect one and pass it with the question.
    stem: Snowball stems, for standard and ptb. stop_words: True drops function words (en, de, es, fr, ru).
    joined: whether words are found however they are joined. `can't` is then `cant`, `Shor's` is `Shor`, and `e-mail` is
    `email` in addition to `e` and `mail`; for standard.
    code, links: see `plain_text`.
    """

    tokenizer: Tokenizer = Field("standard", description="how a text is divided into words")
    language: str = Field("auto", description="ISO 639-1 code of all texts, or auto to detect it for each question")
    stem: bool = Field(True, description="whether words are stemmed")
    stop_words: bool = Field(False, description="whether function words are dropped (en, de, es, fr, ru)")
    joined: bool = Field(
        False, description="whether can't is also found as cant, and e-mail as email; for the tokenizer standard"
    )
    code: CodeRule = Field("keep", description="whether code blocks are read")
    links: LinkRule = Field(
        "token",
        description="whether a URL becomes one token, also a link with its text (anchors), or is divided like text",
    )

    @field_validator("language")
    @classmethod
    def _check_language(cls, language: str) -> str:
        if language != "auto" and language not in LANGUAGES:
            raise ValueError(f"expected auto or one of {', '.join(LANGUAGES)}")
        return language


class Analyzer:
    """Turns texts into terms, by `AnalyzerSettings`. Thread-safe; caches the terms of words.

    `analyze`, `analyze_with_spans` and `split_prefix` expect plain text, as returned by `plain_text`, but accept any
    string: control characters and lone surrogates separate words (the tokenizer whitespace, which changes nothing else,
    replaces a surrogate by U+FFFD). `language` is that of the text, an ISO 639-1 code; None if unknown. Runs of
    Chinese, Japanese or Korean script become character bigrams in every language; a single character is kept.
    """

    def __init__(self, settings: AnalyzerSettings | None = None) -> None:
        self.settings = settings or AnalyzerSettings()
        self._term_caches: dict[str, _TermCache] = {}
        self._tables: dict[str, TermTable] = {}
        self._joins = self.settings.joined and self.settings.tokenizer == "standard"
        self._plain_pattern = word_pattern(self.settings.tokenizer, True, self._joins)

    @cached_property
    def fingerprint(self) -> str:
        """A hex digest of everything that determines terms: settings, VERSION, stemmers, Python's Unicode tables."""
        parts = [self.settings.model_dump(), VERSION, Stemmer.version(), unicodedata.unidata_version]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def plain_text(self, raw: str, markup: Markup) -> str:
        """Return the plain text of a title, a body or a query; the settings determine the use of code and links."""
        return plain_text(raw, markup, code=self.settings.code, links=self.settings.links)

    def analyze(self, text: str, language: str | None = None) -> list[str]:
        """Return the terms of a plain text, in order."""
        if not is_plain(text):
            return [term for term, _, _ in self._iter_spans(text, language)]
        terms = map(self._get_term_cache(language).__getitem__, self._plain_pattern.findall(text))
        if self._joins:
            return " ".join(terms).split()
        return list(filter(None, terms) if self.settings.stop_words else terms)

    def analyze_with_spans(self, text: str, language: str | None = None) -> list[tuple[str, int, int]]:
        """Return the same terms, each with its start and end as character offsets in `text`."""
        if not is_plain(text) or (self._joins and _JOINT.search(text)):
            return list(self._iter_spans(text, language))
        terms = self._get_term_cache(language)
        spans = [(terms[word[0]], word.start(), word.end()) for word in self._plain_pattern.finditer(text)]
        return [span for span in spans if span[0]] if self.settings.stop_words else spans

    def first_forms(self, text: str, language: str | None = None) -> dict[str, str]:
        """Return each term of a plain text, and the first word that it stands for, as written."""
        if not is_plain(text) or (self._joins and _JOINT.search(text)):
            spans = reversed([*self._iter_spans(text, language)])
            return {term: text[start:end] for term, start, end in spans}
        words = self._plain_pattern.findall(text)[::-1]
        return dict(zip(map(self._get_term_cache(language).__getitem__, words), words, strict=True))

    def find_terms(
        self, texts: Sequence[str], terms: Iterable[str], language: str | None = None
    ) -> list[list[tuple[str, int, int]]]:
        """Return, for each plain text, the spans of `analyze_with_spans` with one of the terms."""
        return self._get_term_table(self._language_code(language)).find(texts, terms)

    def number_terms(self, texts: Sequence[str], languages: Sequence[str | None]) -> NumberedTerms:
        """Return the terms of `analyze` of many plain texts, each with its language, as numbers."""
        codes = {language: self._language_code(language) for language in {*languages} or {None}}
        rows: dict[str, list[int]] = {code: [] for code in codes.values()}
        for row, language in enumerate(languages):
            rows[codes[language]].append(row)
        parts = [self._get_term_table(code).number([texts[row] for row in own]) for code, own in rows.items()]
        return (
            parts[0] if len(parts) == 1 else NumberedTerms.joined(parts, [row for own in rows.values() for row in own])
        )

    def split_prefix(self, text: str, language: str | None = None) -> tuple[list[str], str | None]:
        """Split a text that is still being typed into the terms of its finished words and the unfinished last word.

        That word is lower-cased, but neither stemmed nor checked for being a stop word; it is None if the text ends in
        white space or punctuation, or in `'s`. Words before a hyphen are finished. In Chinese, Japanese or Korean
        script the last character is unfinished, and the bigrams before it are terms.
        """
        *_, last = (None, *word_pattern(self.settings.tokenizer, is_plain(text), self._joins).finditer(text))
        if not last or last.end() < len(text) or self._is_punctuation(text[-1]):
            return self.analyze(text, language), None
        if not self._is_cjk(last[0]):
            word, start, end = self._divide(last[0], self._language_code(language))[-1]
            if end - start > len(word) and _POSSESSIVE.search(last[0]):
                return self.analyze(text, language), None
            return self.analyze(text[: last.start() + start], language), self._normalise_word(word)
        pairs = self.analyze(last[0], language) if len(last[0]) > 1 else []
        return self.analyze(text[: last.start()], language) + pairs, text[-1]

    def _iter_spans(self, text: str, language: str | None) -> Iterator[tuple[str, int, int]]:
        terms = self._get_term_cache(language)
        code = self._language_code(language)
        for match in word_pattern(self.settings.tokenizer, is_plain(text), self._joins).finditer(text):
            word = match[0]
            start = match.start()
            is_simple = word.isascii() and word.isalnum()
            if not is_simple and self._joins and _JOINT.search(word):
                yield from ((term, start + s, start + e) for term, s, e in self._joined_spans(word, code))
            elif not is_simple and self._is_cjk(word):
                yield from ((word[i : i + 2], start + i, start + i + 2) for i in range(len(word) - 1))
                if len(word) == 1:
                    yield word, start, start + 1
            elif term := terms[word]:
                yield term, start, match.end()

    def _is_cjk(self, word: str) -> bool:
        return not word.isascii() and self.settings.tokenizer != "whitespace" and cjk_pattern().match(word) is not None

    def _is_punctuation(self, character: str) -> bool:
        return self.settings.tokenizer == "ptb" and unicodedata.category(character)[0] not in "LMN"

    def _normalise_word(self, word: str) -> str:
        if self.settings.tokenizer == "whitespace":
            return SURROGATE.sub("\ufffd", word)
        return _fold_case(word)

    def _get_term_cache(self, language: str | None) -> "_TermCache":
        code = self._language_code(language)
        if code not in self._term_caches:
            self._term_caches.setdefault(code, _TermCache(self, code))
        return self._term_caches[code]

    def _get_term_table(self, code: str) -> TermTable:
        if code not in self._tables:
            split = partial(self._analyze_new, language=code)
            self._tables.setdefault(code, TermTable(split, _MAX_CACHED_TOKENS))
        return self._tables[code]

    def _analyze_new(self, text: str, language: str) -> SpanColumns:
        """Return the terms and spans of `analyze_with_spans`; words in ASCII are stemmed together."""
        settings = self.settings
        is_stemmed = settings.tokenizer == "standard" and settings.stem and not settings.stop_words
        if is_stemmed and word_language("a", language) == language:
            if text.isascii() and not (self._joins and _JOINT.search(text)):
                is_in_word = np.zeros(len(text) + 2, np.bool_)
                is_in_word[1:-1] = _WORD_BYTES[np.frombuffer(text.encode(), np.uint8)]
                bounds = np.flatnonzero(is_in_word[1:] != is_in_word[:-1])
                return stem_all(WORD.findall(text.lower()), language), bounds.reshape(-1, 2).T
            terms = self._get_term_cache(language)
            new = [word for word in dict.fromkeys(WORD.findall(text)) if word not in terms and word.isascii()]
            if len(terms) + len(new) < _MAX_CACHED_WORDS:
                terms.update(zip(new, stem_all(list(map(str.lower, new)), language), strict=True))
        names, *spans = [*zip(*self.analyze_with_spans(text, language), strict=True)] or [(), (), ()]
        return names, np.array(spans, np.int64)

    def _language_code(self, language: str | None) -> str:
        code = self.settings.language if self.settings.language != "auto" else language or "en"
        return code if code in LANGUAGES else "other"

    def _joined_spans(self, word: str, language: str) -> Iterator[tuple[str, int, int]]:
        """Yield the terms of a word with apostrophes or hyphens: the whole one, then those between its hyphens."""
        terms = self._get_term_cache(language)
        parts = self._divide(word, language)
        if 1 < len(parts) == len(_HYPHEN.findall(word)) + 1 <= MAX_JOINED:
            whole = terms["".join(part for part, _, _ in parts)]
            if whole and not whole.isdigit():
                yield whole, 0, len(word)
        yield from ((term, start, end) for part, start, end in parts if (term := terms[part]))

    def _divide(self, word: str, language: str) -> list[tuple[str, int, int]]:
        """Divide a word at its hyphens, and at apostrophes unless the language contracts words; these are left out."""
        if not self._joins or not _JOINT.search(word):
            return [(word, 0, len(word))]
        if language not in CONTRACTING:
            return [(match[0], *match.span()) for match in _BETWEEN_JOINTS.finditer(word)]
        return [(_contract(match[0]), *match.span()) for match in _BETWEEN_HYPHENS.finditer(word)]

    def _word_to_term(self, word: str, language: str) -> str:
        """Return a word's term; "" for a stop word; the terms of a joined word, with spaces between."""
        if self._joins and _JOINT.search(word):
            return " ".join(term for term, _, _ in self._joined_spans(word, language))
        folded = self._normalise_word(word)
        if self.settings.tokenizer == "whitespace":
            return folded
        language_of_word = word_language(folded, language)
        if self.settings.stop_words and language_of_word and folded in stop_words(language_of_word):
            return ""
        return stem(folded, language_of_word) if self.settings.stem else folded


class _TermCache(dict[str, str]):
    """Word → term in the texts of one language, computed on first use; emptied when it has too many words."""

    def __init__(self, analyzer: Analyzer, language: str) -> None:
        self._analyzer = analyzer
        self._language = language

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        term = self[word] = self._analyzer._word_to_term(word, self._language)
        return term


@cache
def word_analyzer() -> Analyzer:
    """Return the shared analyzer of all words."""
    return Analyzer()


@cache
def content_analyzer() -> Analyzer:
    """Return the shared analyzer without stop words."""
    return Analyzer(AnalyzerSettings(stop_words=True))


def _contract(word: str) -> str:
    """Return a word without apostrophes, and without a final `'s`."""
    straight = word.replace("’", "'")
    return straight.removesuffix("'s").removesuffix("'S").replace("'", "")


def _fold_case(word: str) -> str:
    """Return a word in lower case, composed (NFC), with straight apostrophes and without separate stress marks."""
    word = word.lower()
    if word.isascii():
        return word
    return DROPPED_MARKS.sub("", normalise("NFC", word).replace("’", "'"))
