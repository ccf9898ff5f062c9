"""Explains the hits that are shown: the words by which they were found, and the passage to show below the title."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import attrgetter

import numpy as np

from askalike.core.arrays import Docids
from askalike.core.hits import CORRECTED, PAIR, Contribution, Explanation, SearchHit
from askalike.core.records import Question
from askalike.rankers import Retrieved, Searcher, explain_retrieved
from askalike.search.select import Selected
from askalike.text.clean import LINK_TOKEN, collapse_spaces, readable_text
from askalike.text.language import find_function_languages, mark_languages
from askalike.text.passages import extract_snippet, is_command, is_notation
from askalike.text.words import find_words

SNIPPET_LENGTH = 160
MAX_CACHED_LABELS = 4_096
FIELD_NAMES = {"text": "title and body", "answer": "accepted answer", "rephrasing": "another phrasing"}
N_MAIN_WORDS, MIN_MAIN_SHARE = 3, 0.2
"""The number of main words, each of at least this share of the heaviest one's weight."""
LINK_NAME = "link"
"""The word shown for the token of a link."""


def explain_shown(
    searcher: Searcher, retrieved: Retrieved, rows: Sequence[Sequence[Selected]], *, exact: bool = False
) -> list[dict[int, Explanation]]:
    """Return for each query docid → why it was found, for the candidates that are shown; see `explain_hits`."""
    shown = [[candidate for candidate in row if candidate.is_shown] for row in rows]
    texts = {candidate.docid: candidate.matched for row in shown for candidate in row}
    docids = [np.array([candidate.docid for candidate in row], np.int64) for row in shown]
    return explain_hits(searcher, retrieved, docids, texts, exact=exact)


def explain_hits(
    searcher: Searcher, retrieved: Retrieved, docids: Sequence[Docids], texts: Mapping[int, Question], *,
    exact: bool = False,
) -> list[dict[int, Explanation]]:  # fmt: skip
    """Return for each query docid → why it was found, in words that people read.

    exact: whether contributions are exact, with those of function words; see Searcher.explain.
    """
    reasons = explain_retrieved(searcher, retrieved, docids, texts, exact=exact)
    if exact:
        return [{docid: keep_readable(reason) for docid, reason in own.items()} for own in reasons]
    spoken = {docid: text.language or searcher.language for docid, text in texts.items()}
    return [
        {docid: keep_readable(reason, mark_languages((one.language, spoken[docid]))) for docid, reason in own.items()}
        for one, own in zip(retrieved.queries, reasons, strict=True)
    ]


def extract_shown_snippet(question: Question, explanation: Explanation) -> str:
    """Return the passage to show below the title: of the rephrasing, readable body or answer with the weightiest words.

    An answer without such words is not shown. The offsets of an explanation refer to the analysed text: where another
    one is shown, with code and links, its words are found again.
    """
    fields = [field for field in ("rephrasing", "body", "answer") if field in explanation.text]
    if "answer" in fields or len(fields) > 1:
        rows = explanation.contributions
        sums = {field: sum([score for _, own, score in rows if field in own]) for field in fields}
        fields = sorted([f for f in fields if f != "answer" or sums[f] > 0], key=sums.__getitem__, reverse=True)
    field = fields[0] if fields else ""
    analysed = explanation.text.get(field, "")
    text = readable_text(question.body, question.markup) if field == "body" else analysed.replace(LINK_TOKEN, "…")
    if len(text) <= SNIPPET_LENGTH and "\\" not in text:  # all of it is shown
        return collapse_spaces(text)
    if text == analysed:
        spans = [(span.start, span.end) for span in explanation.spans if span.field == field]
    else:
        spans = find_words(text, {explanation.text[name][start:end] for name, start, end in explanation.spans})
    return extract_snippet(text, spans, SNIPPET_LENGTH)


def keep_readable(explanation: Explanation, languages: int = 0) -> Explanation:
    """Return the explanation with a word instead of the link token, without the notation of formulas.

    languages: those whose function words are left out; see mark_languages.
    """
    text, commands = explanation.text, set[str]()
    word_of = {span: text[span[0]][span[1] : span[2]] for span in explanation.spans}
    if any("\\" in one for one in text.values()):
        names = {span for span in word_of if is_command(text[span.field], span.start)}
        commands = {word_of.pop(span).casefold() for span in names} - {word.casefold() for word in word_of.values()}
    rows = []
    for row in explanation.contributions:
        label, word, own = _read_label(row.word)
        if label and not own & languages and word not in commands:
            rows.append(row if label == row.word else Contribution(label, row.fields, row.score))
    spans = [span for span, word in word_of.items() if not find_function_languages(word) & languages]
    return Explanation(explanation.score, tuple(rows), tuple(spans), text, explanation.parts, explanation.fields)


@lru_cache(MAX_CACHED_LABELS)  # the words of a query explain several hits
def _read_label(label: str) -> tuple[str, str, int]:
    """Return what is shown of a label (nothing of notation), its query word, and where that is a function word."""
    own = label.partition(PAIR)[0]
    word, shown = own.rpartition(CORRECTED)[2], "" if is_notation(own) else label.replace(LINK_TOKEN, LINK_NAME)
    return shown, word.casefold(), find_function_languages(word)


def sum_fields(explanation: Explanation) -> Mapping[str, float]:
    """Return the contribution of each field, as people call it; of a question without a body, all text is its title."""
    names = FIELD_NAMES if "body" in explanation.text else FIELD_NAMES | {"text": "title"}
    sums: dict[str, float] = defaultdict(float)
    for field, score in explanation.fields.items():
        sums[names.get(field, field)] += score
    return sums


def found_words(hit: SearchHit) -> list[str]:
    """Return the distinct words of the query that were found in a hit, with the similar ones in their place."""
    contributions = hit.explanation.contributions if hit.explanation else ()
    return list(dict.fromkeys(row.word for row in contributions if row.fields))


def main_words(hit: SearchHit) -> list[str]:
    """Return the content words that contribute most to a hit's score, the heaviest first."""
    marked = mark_languages([hit.question.language])
    found = [row for row in (hit.explanation.contributions if hit.explanation else ()) if row.fields and row.score > 0]
    rows = [row for row in found if not _read_label(row.word)[2] & marked]
    rows.sort(key=attrgetter("score"), reverse=True)
    heavy = [row.word.casefold() for row in rows if row.score > MIN_MAIN_SHARE * rows[0].score]
    return list(dict.fromkeys(heavy))[:N_MAIN_WORDS]


def corrected_words(hits: Sequence[SearchHit]) -> Sequence[str]:
    """Return the corrections of misspelt words of the query, such as `libary → library`, except unfinished words."""
    words = dict.fromkeys(word.partition(PAIR)[0] for hit in hits for word in found_words(hit))
    readings = ((word, *word.split(CORRECTED)) for word in words if CORRECTED in word)
    return [word for word, typed, meant in readings if not meant.casefold().startswith(typed.casefold())]
