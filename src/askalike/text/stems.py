"""Stems of words: which language's stemmer a word gets, and the stemmers themselves."""

import threading
from functools import cache
from typing import Final

import Stemmer

from askalike.text.language import LANGUAGES

_ALPHABETS: Final = (
    ("latin", "az"),
    ("latin", "\u00aa\u024f"),
    ("greek", "\u0370\u03ff"),
    ("cyrillic", "\u0400\u052f"),
    ("armenian", "\u0530\u058f"),
    ("hebrew", "\u0590\u05ff"),
    ("arabic", "\u0600\u06ff"),
    ("arabic", "\u0750\u077f"),
    ("devanagari", "\u0900\u097f"),
    ("tamil", "\u0b80\u0bff"),
    ("thai", "\u0e00\u0e7f"),
    ("latin", "\u1e00\u1eff"),
    ("greek", "\u1f00\u1fff"),
)
_NOT_LATIN: Final = {
    **dict.fromkeys(("bg", "ru", "sr", "uk"), "cyrillic"),
    **dict.fromkeys(("hi", "ne"), "devanagari"),
    **dict.fromkeys(("ar", "fa"), "arabic"),
    **{"el": "greek", "hy": "armenian", "he": "hebrew", "ta": "tamil", "th": "thai"},
    **dict.fromkeys(("ja", "ko", "zh"), "cjk"),
}
_USUAL: Final = {
    "latin": "en",
    "greek": "el",
    "cyrillic": "ru",
    "armenian": "hy",
    "arabic": "ar",
    "devanagari": "hi",
    "tamil": "ta",
}
"""The language that a word is taken to be in where the text's language is written in another alphabet."""


def language_of(word: str, language: str) -> str | None:
    """The language of one lower-case word in a text in `language`: a Russian text's Latin words are English ones.

    A word with a letter of the text's own alphabet, or without a letter at all, is in its language; any other in the
    usual one of its alphabet, None where there is none.
    """
    alphabets = [name for letter in word for name, (first, last) in _ALPHABETS if first <= letter <= last]
    if not alphabets or _NOT_LATIN.get(language, "latin") in alphabets:
        return language
    return _USUAL.get(alphabets[0])


def stem(word: str, language: str | None) -> str:
    """The Snowball stem of a lower-case word; the word itself where its language has no stemmer. Thread-safe."""
    name = LANGUAGES.get(language) if language else None
    if name is None:
        return word
    stemmer, lock = _stemmer(name)
    with lock:
        return stemmer.stemWord(word) or word


@cache
def _stemmer(name: str) -> tuple[Stemmer.Stemmer, threading.Lock]:
    """One shared stemmer and its lock: a PyStemmer object may not be used by two threads at once."""
    return Stemmer.Stemmer(name, 0), threading.Lock()
