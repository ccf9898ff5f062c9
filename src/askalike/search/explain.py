"""Explains the hits that are shown: the words by which they were found, and the passage to show below the title."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import attrgetter, itemgetter

import numpy as np

from askalike.core.hits import Contribution, Explanation, SearchHit
from askalike.core.records import Question
from askalike.rankers import Retrieved, Searcher, explain_retrieved
from askalike.search.select import Selected
from askalike.text.clean import LINK_TOKEN, collapse_spaces, readable_text
from askalike.text.language import stop_words
from askalike.text.passages import extract_snippet, is_command, is_notation
from askalike.text.words import find_words

SNIPPET_LENGTH = 160
MAX_CACHED_LABELS = 4_096
FIELD_NAMES = {"text": "title and body", "answer": "accepted answer", "rephrasing": "another phrasing"}
STOP_WORD_LANGUAGES = ("en", "de", "es", "fr", "ru")
N_MAIN_WORDS, MIN_MAIN_SHARE = 3, 0.2
"""The number of main words, each of at least this share of the heaviest one's weight."""
LINK_NAME = "link"
"""The word shown for the token of a link."""


def explain_shown(
    searcher: Searcher, retrieved: Retrieved, rows: Sequence[Sequence[Selected]]
) -> list[dict[int, Explanation]]:
    """Return for each query docid → why it was found, for the candidates that are shown."""
    shown = [[candidate for candidate in row if candidate.is_shown] for row in rows]
    texts = {candidate.docid: candidate.matched for row in shown for candidate in row}
    docids = [np.array([candidate.docid for candidate in row], np.int64) for row in shown]
    reasons = explain_retrieved(searcher, retrieved, docids, texts)
    return [{docid: keep_readable(reason) for docid, reason in own.items()} for own in reasons]


def extract_shown_snippet(question: Question, explanation: Explanation) -> str:
    """Return the passage to show below the title: of the rephrasing, readable body or answer with the weightiest words.

    An answer without such words is not shown. The offsets of an explanation refer to the analysed text, so its words
    must be found again.
    """
    fields = [field for field in ("rephrasing", "body", "answer") if field in explanation.text]
    if "answer" in fields or len(fields) > 1:
        rows = explanation.contributions
        sums = {field: sum([score for _, own, score in rows if field in own]) for field in fields}
        fields = sorted([f for f in fields if f != "answer" or sums[f] > 0], key=sums.__getitem__, reverse=True)
    field = fields[0] if fields else ""
    if field == "body":
        text = readable_text(question.body, question.markup)
    else:
        text = explanation.text.get(field, "").replace(LINK_TOKEN, "…")
    if len(text) <= SNIPPET_LENGTH and "\\" not in text:  # all of it is shown
        return collapse_spaces(text)
    words = {explanation.text[span.field][span.start : span.end] for span in explanation.spans}
    return extract_snippet(text, find_words(text, words), SNIPPET_LENGTH)


def keep_readable(explanation: Explanation) -> Explanation:
    """Return the explanation with a word instead of the link token, and without the notation of formulas."""
    rows = explanation.contributions
    spans = explanation.spans
    commands = set[str]()
    if "\\" in "".join(explanation.text.values()):
        word_of = {span: explanation.text[span.field][span.start : span.end].casefold() for span in spans}
        spans = tuple(span for span in word_of if not is_command(explanation.text[span.field], span.start))
        commands = {*word_of.values()} - {word_of[span] for span in spans}
    words = list(map(itemgetter(0), rows))
    labels = list(map(_readable_label, words))
    if not commands and spans is explanation.spans and labels == words:
        return explanation
    readable = tuple(
        Contribution(label, row.fields, row.score) for label, row in zip(labels, rows, strict=True)
        if label is not None and row.word.partition(" ≈ ")[0].casefold() not in commands
    )  # fmt: skip
    return replace(explanation, contributions=readable, spans=spans)


@lru_cache(MAX_CACHED_LABELS)  # the words of a query explain several hits
def _readable_label(label: str) -> str | None:
    """Return a word, or two similar ones, without the link token; None for the notation of formulas."""
    return None if is_notation(label.partition(" ≈ ")[0]) else label.replace(LINK_TOKEN, LINK_NAME)


def sum_fields(explanation: Explanation) -> Mapping[str, float]:
    """Return the contribution of each field, as people call it; of a question without a body, all text is its title."""
    names = FIELD_NAMES if "body" in explanation.text else FIELD_NAMES | {"text": "title"}
    sums: dict[str, float] = defaultdict(float)
    for field, score in explanation.fields.items():
        sums[names.get(field, field)] += score
    return sums


def found_words(hit: SearchHit) -> list[str]:
    """Return the distinct words of the query that were found in a hit."""
    contributions = hit.explanation.contributions if hit.explanation else ()
    return list(dict.fromkeys(map(attrgetter("word"), contributions)))


def main_words(hit: SearchHit) -> list[str]:
    """Return the words that contribute most to a hit's score, the heaviest first; no function words if others do."""
    rows = [row for row in (hit.explanation.contributions if hit.explanation else ()) if row.fields and row.score > 0]
    words = drop_function_words(frozenset(row.word.casefold() for row in rows), hit.question.language)
    rows = sorted((row for row in rows if row.word.casefold() in words), key=lambda row: -row.score)
    heavy = [row.word.casefold() for row in rows if row.score > MIN_MAIN_SHARE * rows[0].score]
    return list(dict.fromkeys(heavy))[:N_MAIN_WORDS]


def drop_function_words(words: frozenset[str], language: str | None) -> frozenset[str]:
    """Return the words without function words; all of them if there are no others."""
    return words - function_words(language) or words


@lru_cache(1024)
def function_words(language: str | None) -> frozenset[str]:
    """Return the function words of a language; of all languages if it is not known."""
    return frozenset().union(*map(stop_words, [language] if language else STOP_WORD_LANGUAGES))


def corrected_words(hits: Sequence[SearchHit]) -> Sequence[str]:
    """Return the corrections of misspelt words of the query, such as `libary → library`, except unfinished words."""
    words = dict.fromkeys(word.partition(" ≈ ")[0] for hit in hits for word in found_words(hit))
    readings = ((word, *word.split(" → ")) for word in words if " → " in word)
    return [word for word, typed, meant in readings if not meant.casefold().startswith(typed.casefold())]
