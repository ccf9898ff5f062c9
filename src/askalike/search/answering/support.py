"""Finds the sentences of a generated answer that are supported by the texts that they cite.

A proxy for human judgement: a sentence counts as supported by a cited text that contains most of its content words and
all of its numbers, unless a similar sentence there negates it. This does not detect a negation in a different sentence
from the words it refers to, or words in another order.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from askalike.calibration.differences import content_words, is_negated
from askalike.text.analyzer import content_analyzer
from askalike.text.passages import split_sentences

MIN_SHARED = 0.6
"""Minimum share of a sentence's content words that the cited text must contain."""
CITATION = re.compile(r"\s*\[([^\[\]\n]{1,300})\]")
NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
CLAUSE_END = re.compile(r"[,;:()–—]|\b(?:so that|because|but|unless|if|and|aber|weil|damit|mais|pero)\b")


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """A sentence without its citations, and the ids of the cited texts that support it."""

    text: str
    supported_by: tuple[str, ...]


def check_sentences(written: str, texts: Mapping[str, str], language: str | None = None) -> list[WrittenSentence]:
    """Return the sentences of an answer that cites ids in brackets. texts: id → the text that may be cited."""
    sentences = []
    for marked in _sentences_with_citations(written):
        cited = [id.strip() for match in CITATION.finditer(marked) for id in (match[1], *match[1].split(","))]
        known = tuple(dict.fromkeys(id for id in cited if id in texts))
        text = CITATION.sub("", marked).strip()
        supporting = tuple(id for id in known if is_supported(text, texts[id], language))
        sentences.append(WrittenSentence(text, supporting))
    return sentences


def is_supported(sentence: str, text: str, language: str | None = None) -> bool:
    """Return whether a text contains most of a sentence's content words and all its numbers, and does not deny it."""
    words = set(content_analyzer().analyze(sentence, language))
    if not words or not set(NUMBER.findall(sentence)) <= set(NUMBER.findall(text)):
        return False
    if len(words & set(content_analyzer().analyze(text, language))) < MIN_SHARED * len(words):
        return False
    return not _is_denied(sentence, text, language)


def _is_denied(sentence: str, text: str, language: str | None) -> bool:
    """Return whether parts of a text have most of a sentence's words, and all such parts differ from it in negation.

    Parts are sentences and their clauses, as a negation may belong to another clause.
    """
    words = content_words(sentence, language)
    parts = (part for whole in split_sentences(text) for part in (whole, *CLAUSE_END.split(whole)))
    same = [part for part in parts if len(words & content_words(part, language)) >= MIN_SHARED * len(words)]
    return bool(same) and all(is_negated(part, language) != is_negated(sentence, language) for part in same)


def _sentences_with_citations(written: str) -> Sequence[str]:
    """Return the sentences; citations that follow a full stop belong to the sentence before it."""
    sentences: list[str] = []
    for sentence in split_sentences(re.sub(r"([.!?])((?:\s*\[[^\[\]\n]{1,300}\])+)", r"\2\1", written)):
        if sentences and not CITATION.sub("", sentence).strip(" .!?-*•"):
            sentences[-1] += f" {sentence}"
        else:
            sentences.append(sentence)
    return sentences
