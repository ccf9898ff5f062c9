"""Checks for templates: text from a form or a signature, which makes different questions look similar.

The hashes of n-grams are counted first; only n-grams shared by many questions are then read as text.
"""

import math
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from textwrap import shorten

import numpy as np

from askalike.health.findings import MAX_EXAMPLES, CheckContext, Finding, count_with_examples
from askalike.store import sample_questions
from askalike.store.contents import SAMPLE_SIZE
from askalike.text.banners import strip_banner
from askalike.text.words import WORD

OPENING_WORDS = 5
NGRAM_WORDS = 8
MAX_BODY_WORDS = 1_000
"""Maximum number of words read from a body."""
MIN_MARK_SHARE = 0.01
MIN_BODY_SHARE = 0.01
MIN_OPENING_SHARE = 0.03
"""Minimum share of questions with a mark, a run of words in bodies, or an opening of titles that is a template. It is
larger for openings, because people do ask "what is the difference between" without a form."""
MIN_QUESTIONS = 5
"""Minimum number of questions with a template."""
MARK_PATTERN = re.compile(r"\s*(\[[^\]]{1,40}\]|\([^)]{1,40}\)|[^\W\d][\w ./-]{0,30}?(?::| [-–—|])(?=\s))")
TextReader = Callable[[], Iterable[tuple[str, str]]]
"""Returns ids and texts; every call reads them again."""


def title_marks(context: CheckContext) -> Finding:
    """Find titles that begin with a mark shared by many others: `[Bug]`, `(solved)`, `Request:`, `News -`."""
    meaning = "A mark at the start of titles makes different questions look similar; remove it, or make it a tag."
    return _find_title_templates(context, "title_marks", extract_mark, MIN_MARK_SHARE, meaning)


def title_openings(context: CheckContext) -> Finding:
    """Find titles whose first five words are so frequent that a form must have written them."""
    meaning = "Titles of one pattern differ only after it; remove the pattern, and make it a category."
    return _find_title_templates(context, "title_openings", extract_opening, MIN_OPENING_SHARE, meaning)


def body_templates(context: CheckContext) -> Finding:
    """Find bodies with a run of eight words shared by many others, in a sample of at most 20,000 questions.

    Banners that leak labels are left out, as they have their own check.
    """
    n = min(SAMPLE_SIZE, len(context.view))

    def bodies() -> Iterator[tuple[str, str]]:
        for question in context.track(sample_questions(context.view), total=n, description="body templates"):
            body, _ = strip_banner(question.body, question.markup)
            yield question.id, context.analyzer.plain_text(body, question.markup)

    meaning = "The text of a form or a signature makes different questions look similar; remove it, or rank by title."
    count, examples, details = find_templates(bodies, word_ngrams, _min_count(MIN_BODY_SHARE, n))
    of = "questions" if len(context.view) <= SAMPLE_SIZE else "sampled questions"
    return Finding("body_templates", count, n, of, meaning, examples, details)


def extract_mark(title: str) -> list[str]:
    """Return the mark at the beginning of a title, if there is one."""
    match = MARK_PATTERN.match(title)
    return [match[1].casefold()] if match else []


def extract_opening(title: str) -> list[str]:
    """Return the first five words of a title, if more words follow."""
    words = WORD.findall(title.casefold())
    return [" ".join(words[:OPENING_WORDS])] if len(words) > OPENING_WORDS else []


def word_ngrams(body: str) -> list[str]:
    """Return every run of eight consecutive words of a body."""
    words = [match[0] for match in islice(WORD.finditer(body.casefold()), MAX_BODY_WORDS)]
    return [" ".join(words[i : i + NGRAM_WORDS]) for i in range(len(words) - NGRAM_WORDS + 1)]


def merge_ngrams(ngrams: Sequence[str | None]) -> list[str]:
    """Join overlapping n-grams; None stands for a dropped one. Bigrams: `[a b, b c, None, d e]` → `[a b c, d e]`."""
    merged: list[str] = []
    for previous, gram in zip([None, *ngrams], ngrams, strict=False):
        if gram and previous:
            merged[-1] += " " + gram.rpartition(" ")[2]
        elif gram:
            merged.append(gram)
    return merged


def find_templates(
    read_texts: TextReader, extract_ngrams: Callable[[str], list[str]], min_count: int
) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """Find the texts with an n-gram that at least `min_count` texts have.

    Returns their number, the first five ids, and the most frequent templates.
    """
    frequent = _frequent_ngrams(read_texts, extract_ngrams, min_count)
    counts = Counter[str]()

    def ids_with_template() -> Iterator[str]:
        for id, text in read_texts() if frequent else ():
            ngrams = [gram if hash(gram) in frequent else None for gram in extract_ngrams(text)]
            if templates := set(merge_ngrams(ngrams)):
                counts.update(templates)
                yield id

    return *count_with_examples(ids_with_template()), _describe_templates(counts)


def _find_title_templates(
    context: CheckContext, name: str, extract_ngrams: Callable[[str], list[str]], min_share: float, meaning: str
) -> Finding:
    n = len(context.view)

    def titles() -> Iterator[tuple[str, str]]:
        return ((id, title) for _, id, title in context.titles(name.replace("_", " ")))

    count, examples, details = find_templates(titles, extract_ngrams, _min_count(min_share, n))
    return Finding(name, count, n, "questions", meaning, examples, details)


def _min_count(min_share: float, n: int) -> int:
    return max(MIN_QUESTIONS, math.ceil(min_share * n))


def _frequent_ngrams(read_texts: TextReader, extract_ngrams: Callable[[str], list[str]], min_count: int) -> set[int]:
    """Return the hashes of the n-grams in at least `min_count` texts; takes 8 bytes per n-gram of each text."""
    hashes = array("q")
    for _, text in read_texts():
        hashes.extend({hash(gram) for gram in extract_ngrams(text)})
    values, counts = np.unique(np.array(hashes, np.int64), return_counts=True)
    return set(values[counts >= min_count].tolist())


def _describe_templates(counts: Counter[str]) -> tuple[str, ...]:
    """Return the most frequent templates with their counts, without those that contain, or are in, an earlier one."""
    described: list[str] = []
    for template in sorted(counts, key=lambda t: (-counts[t], -len(t), t)):
        if len(described) < MAX_EXAMPLES and not any(template in other or other in template for other in described):
            described.append(template)
    return tuple(f"{counts[t]:,} times: {shorten(t, 100, placeholder=' …')}" for t in described)
