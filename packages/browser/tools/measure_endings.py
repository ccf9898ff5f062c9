"""How often the endings of one archive's words give the right terms of another's: measure_endings.py ARCHIVE OTHER

Counts the words that only the other archive has. The right term is that of askalike's stemmer, or none where the first
archive does not have it.
"""

import sys
from collections import Counter

from askalike import Archive
from askalike.text.analyzer import Analyzer
from askalike_browser import words
from askalike_browser.words import find_endings, split_words


def main(directory: str, other: str) -> None:
    """Print the share of right terms for several minimum lengths of what is before an ending."""
    own, others = read_words(directory), read_words(other)
    terms, endings = {term for _, term in own}, find_endings(own)
    known = {word for word, _ in own}
    unknown = [(word, term if term in terms else word) for word, term in others if word not in known]
    for shortest in (2, 3, 4, 5):
        right = sum(guess(word, terms, endings, shortest) == term for word, term in unknown)
        print(f"n {len(unknown):,}  from {shortest} letters on: {100 * right / len(unknown):.1f} % right")


def read_words(directory: str) -> Counter[tuple[str, str]]:
    """Return (word, term) -> the number of questions, of the titles and bodies of an archive."""
    analyzer = Analyzer()
    counts: Counter[tuple[str, str]] = Counter()
    with Archive.open(directory) as archive:
        language = archive.view().language
        for _, question in archive.view().questions():
            text = f"{question.title} {analyzer.plain_text(question.body, question.markup)}"
            for word in split_words(text):
                terms = analyzer.analyze(word, language)
                if len(terms) == 1 and word.isalpha():
                    counts[word, terms[0]] += 1
    return counts


def guess(word: str, terms: set[str], endings: dict[str, list[str]], shortest: int) -> str:
    """Return the term to which an ending of a word leads, as search.js does; the word if there is none."""
    for at in range(max(shortest, len(word) - words.MAX_ENDING), len(word) + 1):
        for ending in endings.get(word[at:], []):
            if word[:at] + ending in terms:
                return word[:at] + ending
    return word


if __name__ == "__main__":
    main(*sys.argv[1:])
