"""Greetings, thanks and signatures around a question, which say nothing about it.

Their words are in `courtesies.tsv`, in eight languages: greetings, what begins thanks or wishes, pleas and excuses, and
the other words of such sentences. People write *hi* and *thanks* in every language, so that those of English always
count.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, Literal

from askalike.text.analyzer import content_analyzer
from askalike.text.passages import split_sentences

MAX_NAME_WORDS = 3
"""Maximum number of words of a name, after a greeting or at the end."""
Kind = Literal["greeting", "closing", "plea", "word", "talk", "matter"]
_KINDS: tuple[Kind, ...] = ("greeting", "closing", "plea", "word")
_CLAUSE_END = re.compile(r"(?<=[,;:])\s+|\s+[-–—]+\s+")
_SMILEY = re.compile(r"(?:^|(?<=\s))(?:[:;]-?[)(DP]+|\^\^|<3)(?=\s|$)")
_CHAT_WORD = re.compile(r"[\s,;]+(?:thx|thanx|tnx|ty|tia|pls|plz|спс)[\s!.]*$", re.IGNORECASE)
_ONE_SENTENCE = re.compile(r"[^\n:;.!?…)]*[.?!]?\s*")
_DRAWN_OUT = re.compile(r"([^\W\d_])\1{2,}")
_SUBJECT = re.compile(
    r"^(?:(?:re|fwd?|aw|wg|subject|betreff|objet|asunto|assunto|oggetto|onderwerp|тема)\s*:\s*)+", re.IGNORECASE
)


def split_request(text: str, language: str | None) -> Sequence[str]:
    """Return the sentences of a plain text without its courtesies; all of them if nothing else is left.

    language: of the text; None if it is unknown.
    """
    if _ONE_SENTENCE.fullmatch(text) and _signs(language).isdisjoint(text.lower().split()):
        return [text.strip()]
    sentences = [_SUBJECT.sub("", sentence) for sentence in split_sentences(_SMILEY.sub("\n", text))]
    kept: list[str] = []
    follows_closing = False
    for sentence in sentences:
        terms = content_analyzer().analyze(sentence, language)
        is_small_talk = len(sentences) > 1 and _has_only_courtesies(terms, language)
        rest = "" if is_small_talk else _trim(sentence, language)
        if rest and not (follows_closing and kept and _is_name(rest)):
            kept.append(rest)
        follows_closing = not rest and bool(_beginning("closing", language).match(sentence))
    return kept or [sentence for sentence in sentences if sentence]


def _trim(sentence: str, language: str | None) -> str:
    """Return a sentence without the courtesies at both ends, "" if it is one."""
    plain = _CHAT_WORD.sub("", _DRAWN_OUT.sub(r"\1", sentence)).strip()
    plain = _greeting(language).sub("", plain).strip()
    clauses = _CLAUSE_END.split(plain)
    first = 0
    end = len(clauses)
    while first < end and _is_courtesy(clauses[first], language):
        first += 1
    while first < end and _is_courtesy(clauses[end - 1], language):
        end -= 1
    return " ".join(clauses[first:end]).rstrip(" ,;:") if (first, end) != (0, len(clauses)) else plain


def _is_courtesy(clause: str, language: str | None) -> bool:
    """Return whether a clause gives thanks or wishes, or pleads, with no other words than courtesies have."""
    if "?" not in clause and _beginning("closing", language).match(clause):
        return True
    terms = content_analyzer().analyze(clause, language)
    return _has_only_courtesies(terms, language) and not _terms(("plea",), language).isdisjoint(terms)


def _has_only_courtesies(terms: Sequence[str], language: str | None) -> bool:
    """Return whether a text has no other terms than courtesies have."""
    return _terms(_KINDS, language).issuperset(terms)


def _is_name(clause: str) -> bool:
    return len(clause.split()) <= MAX_NAME_WORDS and "?" not in clause


def courtesy_rules(language: str | None) -> dict[str, Any]:
    """Return what `split_request` goes by in a language, see `search.rules`. stems: word → its term."""
    spans = [(phrase, span) for kind in _KINDS for phrase in _phrases(kind, language)
             for span in content_analyzer().analyze_with_spans(phrase, language)]  # fmt: skip
    patterns = {
        "one_sentence": _ONE_SENTENCE, "smiley": _SMILEY, "subject": _SUBJECT, "chat_word": _CHAT_WORD,
        "drawn_out": _DRAWN_OUT, "clause_end": _CLAUSE_END, "greeting": _greeting(language),
        "closing": _beginning("closing", language),
    }  # fmt: skip
    return {
        "patterns": {name: pattern.pattern for name, pattern in patterns.items()},
        "stems": {phrase[start:end]: term for phrase, (term, start, end) in spans},
        "pleas": sorted(_terms(("plea",), language)),
        "signs": sorted(_signs(language)),
        "max_name_words": MAX_NAME_WORDS,
    }


def list_examples(language: str | None) -> tuple[Sequence[str], Sequence[str]]:
    """Return sentences that people write around a question, and others that say what it is about."""
    return _phrases("talk", language), _phrases("matter", language)


def list_courtesies(language: str | None) -> Sequence[str]:
    """Return the greetings and thanks of a language and of English; of all languages if it is unknown."""
    return [phrase for kind in _KINDS[:2] for phrase in _phrases(kind, language)]


@lru_cache(32)
def _terms(kinds: tuple[Kind, ...], language: str | None) -> frozenset[str]:
    phrases = " ".join(phrase for kind in kinds for phrase in _phrases(kind, language))
    return frozenset(content_analyzer().analyze(phrases, language))


@lru_cache(16)
def _signs(language: str | None) -> frozenset[str]:
    """Return words of which each courtesy has one, to look no closer where there are none."""
    phrases = [phrase for kind in _KINDS[:3] for phrase in _phrases(kind, language)]
    return frozenset(word for phrase in phrases for word in (phrase.split()[0], f"{phrase.split()[0]},"))


@lru_cache(16)
def _greeting(language: str | None) -> re.Pattern[str]:
    """Return a pattern of greetings at the beginning, with the names that follow up to a comma or the end."""
    phrases = _alternatives("greeting", language)
    return re.compile(
        rf"^(?:(?:{phrases})\b(?:(?:\s+[\w.'-]+){{0,{MAX_NAME_WORDS}}}\s*(?:[,!:]|$)|(?=\s))[\s,!]*)+", re.IGNORECASE
    )


@lru_cache(32)
def _beginning(kind: Kind, language: str | None) -> re.Pattern[str]:
    return re.compile(rf"(?:{_alternatives(kind, language)})\b", re.IGNORECASE)


def _alternatives(kind: Kind, language: str | None) -> str:
    """Return the phrases as alternatives of a pattern, longer ones first."""
    return "|".join(map(re.escape, sorted(_phrases(kind, language), key=len, reverse=True)))


def _phrases(kind: Kind, language: str | None) -> list[str]:
    """Return the phrases of a language and of English; of all languages if it is unknown."""
    read = _read()
    known = {code for code, _ in read if language in (None, code) or code == "en"}
    return [phrase for code in sorted(known) for phrase in read.get((code, kind), ())]


@cache
def _read() -> Mapping[tuple[str, str], Sequence[str]]:
    """Return (language, kind) → its phrases; pleas and words are single words."""
    text = files("askalike.text").joinpath("courtesies.tsv").read_text(encoding="utf-8")
    rows = (line.split("\t") for line in text.splitlines())
    return {(code, kind): phrases.split(" " if kind in ("plea", "word") else "|") for code, kind, phrases in rows}
