"""The readings of a typed text: the whole without the talk around it, and each sentence that may be what is asked.

People write politely and at length. A sentence says alone what is asked, but a short one may be vague without the
others, as in "What can I do about it?". So a hit's score is that for the whole text, raised towards the score for a
sentence that it answers better: the further, the more the sentence says.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from askalike.core.filters import AllowedDocs
from askalike.core.hits import TYPED_QUERY_ID
from askalike.core.records import Question
from askalike.index.rows import find_distinct
from askalike.rankers import ResolvedQuery, Retrieved, Searcher, add_absolute, find_language, first_hits, retrieve
from askalike.text.analyzer import content_analyzer
from askalike.text.clean import collapse_spaces
from askalike.text.passages import split_sentences
from askalike.text.talk import Part, split_parts

MAX_SENTENCES = 3
"""Maximum number of sentences that are readings of their own."""
MIN_TERMS = 2
"""Minimum number of a sentence's terms that are no function words."""
QUESTION_MARKS = ("?", "？", "؟")
MIN_TALK_ODDS = 1.5
"""Minimum log odds of talk by its meaning, if its words are not those of talk; chosen on experiments/people."""
CLEAR_TERMS = 8
"""Number of terms from which a sentence says all that is asked; chosen on the texts of experiments/people."""


def read_queries(searcher: Searcher, queries: Sequence[Question]) -> list[Sequence[Question]]:
    """Return the readings of each query: the whole text first, then its sentences; only the former with a body.

    A question of the archive is read as it is. A title all in capitals is read in lower case.
    """
    typed = [replace(query, language=find_language(searcher, query)) for query in queries]
    parts = [split_parts(one.title) if one.id.startswith(TYPED_QUERY_ID) else () for one in typed]
    said = [[replace(one, title=part.text, body="") for part in own] for one, own in zip(typed, parts, strict=True)]
    several = [
        one for own, sentences in zip(parts, said, strict=True) if len(own) > 1
        for part, one in zip(own, sentences, strict=True) if not part.is_talk
    ]  # fmt: skip
    odds = searcher.find_talk(several) if several else {}
    asked = [
        [one.title for part, one in zip(own, sentences, strict=True) if not _is_talk(part, odds.get(one))]
        for own, sentences in zip(parts, said, strict=True)
    ]
    rows = zip(queries, typed, parts, asked, strict=True)
    return [_find_readings(one, own, kept) if own else [query] for query, one, own, kept in rows]


def _is_talk(part: Part, odds: float | None) -> bool:
    """Return whether a sentence is talk: by its meaning, the more easily if its words are those of talk, too."""
    return part.is_talk if odds is None else odds > (0.0 if part.odds > 0 else MIN_TALK_ODDS)


def _find_readings(query: Question, parts: Sequence[Part], kept: Sequence[str]) -> Sequence[Question]:
    """Return the readings of a query. parts: of its title. kept: those that are not talk.

    A title of which all or nothing is talk is not divided where talk might begin or end.
    """
    language = query.language
    sentences = kept
    if len(kept) in (0, len(parts)):
        sentences = split_sentences(query.title) if len(parts) > 1 else [parts[0].text]
    whole = " ".join(sentences)
    texts = [whole]
    if not query.body and len(sentences) > 1:
        texts += [sentence for sentence in _find_asking(sentences, language) if sentence != whole]
    typed = collapse_spaces(query.title)
    if typed != whole and _count_terms(whole, language) < MIN_TERMS:
        texts.append(typed)  # what went may have been no courtesy
    lowered = [text.lower() if text.isupper() and " " in text else text for text in texts]
    return [replace(query, title=text) for text in lowered]


def has_last_word(reading: Question, typed: Question) -> bool:
    """Return whether a reading ends as the typed text does, in a word that may be unfinished."""
    return bool(reading.body) or typed.title.lower().endswith(tuple(reading.title.lower().split()[-1:]))


def retrieve_readings(
    searcher: Searcher, readings: Sequence[ResolvedQuery], owners: Sequence[int], k: int,
    allowed: AllowedDocs | None = None,
) -> Retrieved:  # fmt: skip
    """Return the k best documents of each query in the row of its first reading, with absolute scores.

    The rows of other readings are empty. owners: for each reading the number of its query.
    """
    retrieved = add_absolute(searcher, retrieve(searcher, readings, k, allowed))
    rows_of: dict[int, list[int]] = defaultdict(list)
    for row, owner in enumerate(owners):
        rows_of[owner].append(row)
    several = [rows for rows in rows_of.values() if len(rows) > 1]
    if not several:
        return retrieved
    pools = list(retrieved.docids)
    for rows in several:
        pool = find_distinct(np.concatenate([pools[row] for row in rows]))
        for row in rows:
            pools[row] = pool
    others = [row for _, *rows in several for row in rows]
    weights = {row: min(1.0, _count_terms(readings[row].text, searcher.language) / CLEAR_TERMS) for row in others}
    combined = _combine(searcher.score(readings, pools, retrieved), several, weights)
    return first_hits(searcher, combined.best(k), searcher.find_titles(readings), k, adds=False)


def _combine(scored: Retrieved, several: Sequence[Sequence[int]], weights: Mapping[int, float]) -> Retrieved:
    """Return the scores of first readings, raised towards those of others, by row → weight, whose rows become empty."""
    scores = list(scored.scores)
    absolute = list(scored.absolute or ())
    for first, *others in several:
        whole = np.nan_to_num(absolute[first])
        raised = whole
        for row in others:
            raised = np.maximum(raised, whole + weights[row] * (np.nan_to_num(absolute[row]) - whole))
        scores[first] = scores[first] * np.divide(raised, whole, out=np.ones_like(raised), where=whole > 0)
        absolute[first] = raised
    positions = [np.arange(0 if row in weights else len(own)) for row, own in enumerate(scores)]
    return replace(scored, scores=scores, absolute=absolute).select(positions)


def _find_asking(sentences: Sequence[str], language: str | None) -> Sequence[str]:
    """Return the sentences that are questions, or else those with most to say."""
    terms = {sentence: _count_terms(sentence, language) for sentence in sentences}
    telling = [sentence for sentence, n in terms.items() if n >= MIN_TERMS]
    asking = [sentence for sentence in telling if sentence.endswith(QUESTION_MARKS)]
    return (asking or sorted(telling, key=terms.__getitem__, reverse=True))[:MAX_SENTENCES]


def _count_terms(text: str, language: str | None) -> int:
    return len(set(content_analyzer().analyze(text, language)))
