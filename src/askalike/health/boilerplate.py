"""Checks for boilerplate: the same opening of many titles, the same eight words in many bodies.

Text that a form put there makes unlike questions look alike. Hashes of n-grams are counted first; only those that
many questions share are looked up again as text.
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
from askalike.store.samples import SAMPLE_SIZE, sample_questions
from askalike.text.clean import strip_banner

OPENING_WORDS = 5
NGRAM_WORDS = 8
MAX_BODY_WORDS = 1_000
"""Words of a body that are looked at."""
MIN_MARK_SHARE = 0.01
MIN_BODY_SHARE = 0.01
MIN_OPENING_SHARE = 0.03
"""A template is shared by at least this part of the questions (people do ask "what is the difference between"), and
by no fewer than FEWEST."""
MIN_QUESTIONS = 5

MARK_PATTERN = re.compile(r"\s*(\[[^\]]{1,40}\]|\([^)]{1,40}\)|[^\W\d][\w ./-]{0,30}?(?::| [-–—|])(?=\s))")
WORD_PATTERN = re.compile(r"\w+")

TextReader = Callable[[], Iterable[tuple[str, str]]]
"""Reads the ids and texts anew each time it is called."""


def title_marks(subject: CheckContext) -> Finding:
    """Titles that open with a mark many others have too: `[Bug]`, `(solved)`, `Request:`, `News -`."""
    meaning = "A mark in front of a title makes unlike questions look alike; take it off, or make it a tag."
    return _find_title_templates(subject, "title_marks", extract_mark, MIN_MARK_SHARE, meaning)


def title_openings(subject: CheckContext) -> Finding:
    """Titles whose first five words many others have too, so many that a form rather than a habit wrote them."""
    meaning = "Titles of one pattern differ only in what follows; keep that, and make the pattern a category."
    return _find_title_templates(subject, "title_openings", extract_opening, MIN_OPENING_SHARE, meaning)


def body_templates(subject: CheckContext) -> Finding:
    """Bodies with a run of eight words that many others have too, in a sample of at most 20,000 questions.

    Label-leak banners are not counted here: they have a check of their own.
    """
    n = min(SAMPLE_SIZE, len(subject.view))

    def bodies() -> Iterator[tuple[str, str]]:
        for question in subject.track(sample_questions(subject.view), total=n, description="body templates"):
            body, _ = strip_banner(question.body, question.markup)
            yield question.id, subject.analyzer.plain_text(body, question.markup)

    meaning = "A form's or signature's text makes unlike questions look alike; remove it, or rank by title."
    count, examples, details = find_templates(bodies, word_ngrams, _min_count(MIN_BODY_SHARE, n))
    of = "questions" if len(subject.view) <= SAMPLE_SIZE else "sampled questions"
    return Finding("body_templates", count, n, of, meaning, examples, details)


def extract_mark(title: str) -> list[str]:
    """The mark that a title opens with, if there is one."""
    found = MARK_PATTERN.match(title)
    return [found[1].casefold()] if found else []


def extract_opening(title: str) -> list[str]:
    """The first five words of a title, if others follow."""
    words = WORD_PATTERN.findall(title.casefold())
    return [" ".join(words[:OPENING_WORDS])] if len(words) > OPENING_WORDS else []


def word_ngrams(body: str) -> list[str]:
    """Every eight consecutive words of a body, one by one."""
    words = [match[0] for match in islice(WORD_PATTERN.finditer(body.casefold()), MAX_BODY_WORDS)]
    return [" ".join(words[i : i + NGRAM_WORDS]) for i in range(len(words) - NGRAM_WORDS + 1)]


def merge_ngrams(ngrams: Sequence[str | None]) -> list[str]:
    """Consecutive eights that were kept, put together: `[a b, b c, None, d e]` is `[a b c, d e]` (with pairs)."""
    found: list[str] = []
    for before, gram in zip([None, *ngrams], ngrams, strict=False):
        if gram and before:
            found[-1] += " " + gram.rpartition(" ")[2]
        elif gram:
            found.append(gram)
    return found


def find_templates(
    read_texts: TextReader, extract_ngrams: Callable[[str], list[str]], min_count: int
) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """How many texts have a gram that `least` texts have, the ids of the first five, and the commonest templates."""
    often = _frequent_ngrams(read_texts, extract_ngrams, min_count)
    counted = Counter[str]()

    def having() -> Iterator[str]:
        for id, text in read_texts() if often else ():
            if found := set(merge_ngrams([gram if hash(gram) in often else None for gram in extract_ngrams(text)])):
                counted.update(found)
                yield id

    return *count_with_examples(having()), _describe_templates(counted)


def _find_title_templates(
    subject: CheckContext, name: str, extract_ngrams: Callable[[str], list[str]], min_share: float, meaning: str
) -> Finding:
    n = len(subject.view)

    def titles() -> Iterator[tuple[str, str]]:
        return ((id, title) for _, id, title in subject.titles(name.replace("_", " ")))

    count, examples, details = find_templates(titles, extract_ngrams, _min_count(min_share, n))
    return Finding(name, count, n, "questions", meaning, examples, details)


def _min_count(min_share: float, n: int) -> int:
    return max(MIN_QUESTIONS, math.ceil(min_share * n))


def _frequent_ngrams(read_texts: TextReader, extract_ngrams: Callable[[str], list[str]], min_count: int) -> set[int]:
    """The hashes of the grams that at least so many texts have. Holds 8 bytes for each gram of each text."""
    hashes = array("q")
    for _, text in read_texts():
        hashes.extend({hash(gram) for gram in extract_ngrams(text)})
    values, counts = np.unique(np.array(hashes, np.int64), return_counts=True)
    return set(values[counts >= min_count].tolist())


def _describe_templates(counts: Counter[str]) -> tuple[str, ...]:
    """The commonest templates with their counts, without those that are a part of one before."""
    kept: list[str] = []
    for template in sorted(counts, key=lambda t: (-counts[t], -len(t), t)):
        if len(kept) < MAX_EXAMPLES and not any(template in other or other in template for other in kept):
            kept.append(template)
    return tuple(f"{counts[t]:,} times: {shorten(t, 100, placeholder=' …')}" for t in kept)
