"""Stemming of words: the choice of a word's language, and the stemmers."""

import threading
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Final

import Stemmer

from askalike.text.language import LANGUAGES

_ALPHABETS: Final = (
    ("latin", "az"), ("latin", "\u00aa\u024f"), ("greek", "\u0370\u03ff"), ("cyrillic", "\u0400\u052f"),
    ("armenian", "\u0530\u058f"), ("hebrew", "\u0590\u05ff"), ("arabic", "\u0600\u06ff"), ("arabic", "\u0750\u077f"),
    ("devanagari", "\u0900\u097f"), ("tamil", "\u0b80\u0bff"), ("thai", "\u0e00\u0e7f"), ("latin", "\u1e00\u1eff"),
    ("greek", "\u1f00\u1fff"),
)  # fmt: skip
_ALPHABET_BY_LANGUAGE: Final = {
    **dict.fromkeys(("bg", "ru", "sr", "uk"), "cyrillic"),
    **dict.fromkeys(("hi", "ne"), "devanagari"),
    **dict.fromkeys(("ar", "fa"), "arabic"),
    **dict.fromkeys(("ja", "ko", "zh"), "cjk"),
    "el": "greek", "hy": "armenian", "he": "hebrew", "ta": "tamil", "th": "thai",
}  # fmt: skip
_DEFAULT_LANGUAGE_BY_ALPHABET: Final = {
    "latin": "en", "greek": "el", "cyrillic": "ru", "armenian": "hy", "arabic": "ar", "devanagari": "hi", "tamil": "ta",
}  # fmt: skip
"""The presumed language of a word in another alphabet than that of the text's language."""

_MAX_LETTERS: Final = 30
"""Maximum number of a word's letters that are examined."""


def word_language(word: str, language: str) -> str | None:
    """Return the language of a lower-case word in a text in `language`: a Russian text's Latin words are English.

    A word with a letter of the language's alphabet, or without any letter, is in that language; any other word is in
    the default language of its alphabet, None if there is none.
    """
    expected = _ALPHABET_BY_LANGUAGE.get(language, "latin")
    if expected == "latin" and word.isascii():  # nearly always
        return language
    foreign = None
    for alphabet in map(_find_alphabet, word[:_MAX_LETTERS]):
        if alphabet == expected:
            return language
        foreign = foreign or alphabet
    return _DEFAULT_LANGUAGE_BY_ALPHABET.get(foreign) if foreign else language


def stem(word: str, language: str | None) -> str:
    """Return the Snowball stem of a lower-case word; the word itself if there is no stemmer. Thread-safe."""
    name = LANGUAGES.get(language) if language else None
    if name is None:
        return word
    stemmer, lock = _get_stemmer(name)
    with lock:
        return stemmer.stemWord(word) or word


def stem_all(words: Sequence[str], language: str) -> list[str]:
    """Return the `stem` of each of many words."""
    if (name := LANGUAGES.get(language)) is None:
        return list(words)
    stemmer, lock = _get_stemmer(name)
    with lock:
        return [stemmed or word for stemmed, word in zip(stemmer.stemWords(words), words, strict=True)]


@cache
def _get_stemmer(name: str) -> tuple[Stemmer.Stemmer, threading.Lock]:
    """Return a shared stemmer and its lock: two threads may not use a PyStemmer object at once."""
    return Stemmer.Stemmer(name, 0), threading.Lock()


@lru_cache(4096)
def _find_alphabet(letter: str) -> str | None:
    return next((name for name, (first, last) in _ALPHABETS if first <= letter <= last), None)
