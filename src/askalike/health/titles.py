"""Checks of titles: empty ones, and the same title again and again."""

import unicodedata
from array import array

import numpy as np
from numpy.typing import NDArray

from askalike.health.findings import MAX_EXAMPLES, CheckContext, Finding, count_with_examples

IntArray = NDArray[np.int64]


def empty_titles(subject: CheckContext) -> Finding:
    """Questions whose title is blank."""
    count, examples = count_with_examples(id for _, id, title in subject.titles("empty titles") if not title.strip())
    meaning = "A question without a title can be found by its body only; give it one, or delete it."
    return Finding("empty_titles", count, len(subject.view), "questions", meaning, examples)


def repeated_titles(subject: CheckContext) -> Finding:
    """Questions whose title an earlier question has too, but for case, spaces and final punctuation.

    Holds 16 bytes per question: its number and its title's hash.
    """
    numbers, hashes = array("q"), array("q")
    for number, _, title in subject.titles("repeated titles"):
        if plain := normalise_title(title):
            numbers.append(number)
            hashes.append(hash(plain))
    repeats, most = _find_repeats(np.array(numbers, np.int64), np.array(hashes, np.int64))
    details = tuple(f"{n:,} times: {_read_title(subject, number)}" for number, n in most)
    meaning = (
        "Questions with one title compete for one place in a ranking; link them as duplicates, merge them, or delete "
        "the copies."
    )
    named = subject.view.ids(repeats[:MAX_EXAMPLES].tolist())
    examples = tuple(named[number] for number in sorted(named))
    return Finding("repeated_titles", len(repeats), len(subject.view), "questions", meaning, examples, details)


def normalise_title(title: str) -> str:
    """A title by which repetitions are recognised: NFKC, case folded, single spaces, no final `?`, `!` or `.`."""
    return " ".join(unicodedata.normalize("NFKC", title).casefold().split()).rstrip("?!. ")


def _find_repeats(docids: IntArray, hashes: IntArray) -> tuple[IntArray, list[tuple[int, int]]]:
    """The numbers of all but the first question of each hash; the first one's number and the size of the largest."""
    _, first, counts = np.unique(hashes, return_index=True, return_counts=True)
    later = np.ones(len(docids), bool)
    later[first] = False
    shared = sorted((-int(n), int(docids[i])) for i, n in zip(first[counts > 1], counts[counts > 1], strict=True))
    return docids[later], [(number, -size) for size, number in shared[:MAX_EXAMPLES]]


def _read_title(subject: CheckContext, docid: int) -> str:
    sql = "SELECT title FROM questions WHERE number = ?"
    return str(subject.view.connection.execute(sql, (docid,)).fetchone()[0])
