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

from askalike.archive.findings import EXAMPLES, Finding, Subject, tallied
from askalike.archive.sample import SIZE, sampled_questions
from askalike.text.clean import strip_banner

OPENING_WORDS = 5
BODY_WORDS = 8
BODY_LIMIT = 1_000
"""Words of a body that are looked at."""
MARK_SHARE = 0.01
BODY_SHARE = 0.01
OPENING_SHARE = 0.03
"""A template is shared by at least this part of the questions (people do ask "what is the difference between"), and
by no fewer than FEWEST."""
FEWEST = 5

MARK = re.compile(r"\s*(\[[^\]]{1,40}\]|\([^)]{1,40}\)|[^\W\d][\w ./-]{0,30}?(?::| [-–—|])(?=\s))")
WORD = re.compile(r"\w+")

Texts = Callable[[], Iterable[tuple[str, str]]]
"""Reads the ids and texts anew each time it is called."""


def title_marks(subject: Subject) -> Finding:
    """Titles that open with a mark many others have too: `[Bug]`, `(solved)`, `Request:`, `News -`."""
    meaning = "A mark in front of a title makes unlike questions look alike; take it off, or make it a tag."
    return _titles(subject, "title_marks", mark, MARK_SHARE, meaning)


def title_openings(subject: Subject) -> Finding:
    """Titles whose first five words many others have too, so many that a form rather than a habit wrote them."""
    meaning = "Titles of one pattern differ only in what follows; keep that, and make the pattern a category."
    return _titles(subject, "title_openings", opening, OPENING_SHARE, meaning)


def body_templates(subject: Subject) -> Finding:
    """Bodies with a run of eight words that many others have too, in a sample of at most 20,000 questions.

    Label-leak banners are not counted here: they have a check of their own.
    """
    n = min(SIZE, len(subject.view))

    def bodies() -> Iterator[tuple[str, str]]:
        for question in subject.track(sampled_questions(subject.view), total=n, description="body templates"):
            body, _ = strip_banner(question.body, question.markup)
            yield question.id, subject.analyzer.text(body, question.markup)

    meaning = "A form's or signature's text makes unlike questions look alike; remove it, or rank by title."
    count, examples, details = shared(bodies, eight_words, _least(BODY_SHARE, n))
    of = "questions" if len(subject.view) <= SIZE else "sampled questions"
    return Finding("body_templates", count, n, of, meaning, examples, details)


def mark(title: str) -> list[str]:
    """The mark that a title opens with, if there is one."""
    found = MARK.match(title)
    return [found[1].casefold()] if found else []


def opening(title: str) -> list[str]:
    """The first five words of a title, if others follow."""
    words = WORD.findall(title.casefold())
    return [" ".join(words[:OPENING_WORDS])] if len(words) > OPENING_WORDS else []


def eight_words(body: str) -> list[str]:
    """Every eight consecutive words of a body, one by one."""
    words = [match[0] for match in islice(WORD.finditer(body.casefold()), BODY_LIMIT)]
    return [" ".join(words[i : i + BODY_WORDS]) for i in range(len(words) - BODY_WORDS + 1)]


def runs(kept: Sequence[str | None]) -> list[str]:
    """Consecutive eights that were kept, put together: `[a b, b c, None, d e]` is `[a b c, d e]` (with pairs)."""
    found: list[str] = []
    for before, gram in zip([None, *kept], kept, strict=False):
        if gram and before:
            found[-1] += " " + gram.rpartition(" ")[2]
        elif gram:
            found.append(gram)
    return found


def shared(texts: Texts, grams: Callable[[str], list[str]], least: int) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """How many texts have a gram that `least` texts have, the ids of the first five, and the commonest templates."""
    often = _often(texts, grams, least)
    counted = Counter[str]()

    def having() -> Iterator[str]:
        for id, text in texts() if often else ():
            if found := set(runs([gram if hash(gram) in often else None for gram in grams(text)])):
                counted.update(found)
                yield id

    return *tallied(having()), _details(counted)


def _titles(subject: Subject, name: str, grams: Callable[[str], list[str]], share: float, meaning: str) -> Finding:
    n = len(subject.view)

    def titles() -> Iterator[tuple[str, str]]:
        return ((id, title) for _, id, title in subject.titles(name.replace("_", " ")))

    count, examples, details = shared(titles, grams, _least(share, n))
    return Finding(name, count, n, "questions", meaning, examples, details)


def _least(share: float, n: int) -> int:
    return max(FEWEST, math.ceil(share * n))


def _often(texts: Texts, grams: Callable[[str], list[str]], least: int) -> set[int]:
    """The hashes of the grams that at least so many texts have. Holds 8 bytes for each gram of each text."""
    hashes = array("q")
    for _, text in texts():
        hashes.extend({hash(gram) for gram in grams(text)})
    values, counts = np.unique(np.array(hashes, np.int64), return_counts=True)
    return set(values[counts >= least].tolist())


def _details(counted: Counter[str]) -> tuple[str, ...]:
    """The commonest templates with their counts, without those that are a part of one before."""
    kept: list[str] = []
    for template in sorted(counted, key=lambda t: (-counted[t], -len(t), t)):
        if len(kept) < EXAMPLES and not any(template in other or other in template for other in kept):
            kept.append(template)
    return tuple(f"{counted[t]:,} times: {shorten(t, 100, placeholder=' …')}" for t in kept)
