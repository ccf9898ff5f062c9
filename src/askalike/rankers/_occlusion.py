"""Explains the scores of pairs by occlusion: by the decrease of the score without each word."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

import numpy as np

from askalike.core.arrays import Floats
from askalike.core.hits import Contribution, Explanation, Span
from askalike.core.records import Question
from askalike.rankers._word_explanations import MAX_WORDS, Word
from askalike.text.clean import plain_text

MAX_SPANS = 5
"""Maximum number of words of a document that are highlighted."""
COMPOUND_WORD = re.compile(r"\w[\w'’-]*")

ScoreFunction = Callable[[Sequence[Question], Sequence[Question]], Floats]
"""Scores of queries with documents, (queries, documents)."""


def explain_by_occlusion(
    scorer: ScoreFunction, name: str, query: Question, documents: Mapping[int, Question], scores: Mapping[int, float]
) -> dict[int, Explanation]:
    """Return docid → the decrease of the score without each word of the query; important document words are marked.

    documents: docid → the text that is scored. scores: the scores from the retrieval. Contributions do not add up to
    these.
    """
    query_words, _ = _first_words(query)
    shorter = [_remove_word(query, word) for word in query_words]
    table = scorer([query, *shorter], list(documents.values()))
    explanations = {}
    for column, (docid, document) in enumerate(documents.items()):
        words, texts = _first_words(document)
        variants = [document, *(_remove_word(document, word) for word in words)]
        without = scorer([query], variants)[0]
        lost = without[0] - without[1:]
        spans = tuple(words[n].span for n in np.argsort(-lost, kind="stable")[:MAX_SPANS] if lost[n] > 0)
        drops = (table[0, column] - table[1:, column]).tolist()
        rows = [Contribution(word.text, (), drop) for word, drop in zip(query_words, drops, strict=True)]
        if not rows and scores[docid]:
            rows = [Contribution(name, (), scores[docid])]
        rows.sort(key=attrgetter("score"), reverse=True)
        explanations[docid] = Explanation(scores[docid], tuple(rows), spans, texts)
    return explanations


def _first_words(text: Question) -> tuple[list[Word], dict[str, str]]:
    """Return the first words of a text, and field → plain text."""
    texts = {"title": plain_text(text.title, "text"), "body": plain_text(text.body, text.markup)}
    texts = {field: plain for field, plain in texts.items() if plain}
    matches = [(field, match) for field, plain in texts.items() for match in COMPOUND_WORD.finditer(plain)]
    return [Word(match[0], Span(field, *match.span())) for field, match in matches[:MAX_WORDS]], texts


def _remove_word(text: Question, word: Word) -> Question:
    plain = _first_words(text)[1][word.span.field]
    rest = f"{plain[: word.span.start]} {plain[word.span.end :]}".strip()
    return replace(text, title=rest) if word.span.field == "title" else replace(text, body=rest, markup="text")
