"""The texts that a teacher encodes: an archive's texts, complete and truncated, and titles recombined from its own."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from askalike.core.types import Question
from askalike.learning.settings import DistillationSettings
from askalike.text.words import WORD

Random = np.random.Generator
MAX_TITLE_WORDS = 16
"""The maximum length of a recombined title."""
SWITCH_PROBABILITY = 0.35
"""Probability that a recombined title continues as another title, at a word that several titles share."""
MAX_TITLES = 100_000
"""Maximum number of recombined titles, and of single words and pairs of words used as texts."""


def make_teacher_texts(
    questions: Sequence[Question], settings: DistillationSettings, random: Random
) -> Iterator[Question]:
    """Yield each question as its title, its body and both, truncated versions of its title, and recombined titles."""
    for question in questions:
        title, body = replace(question, body=""), replace(question, title="")
        both = bool(question.body) and bool(question.title)
        if question.title and ("title" in settings.text_kinds or not both):
            yield title
        if question.body and ("body" in settings.text_kinds or not both):
            yield body
        if both and "whole" in settings.text_kinds:
            yield question
        words = question.title.split()
        if len(words) > 1:
            for _ in range(_round_randomly(settings.n_prefixes, random)):
                yield replace(title, title=_sample_prefix(words, random))
            for _ in range(_round_randomly(settings.n_word_dropout, random)):
                yield replace(title, title=_drop_words(words, random))
    if settings.single_words:
        yield from _generate_words_and_bigrams(questions)
    if settings.n_recombined:
        yield from _recombine_titles(questions, settings.n_recombined, random)


def _generate_words_and_bigrams(questions: Sequence[Question]) -> Iterator[Question]:
    """Yield the most frequent words, and pairs of adjacent words that occur at least twice, each as a title."""
    titles = [WORD.findall(q.title.lower()) for q in questions]
    words = Counter(word for title in titles for word in title)
    pairs = Counter(pair for title in titles for pair in pairwise(title))
    for word, _ in words.most_common(MAX_TITLES):
        yield Question(f"word {word}", word)
    for (first, second), count in pairs.most_common(MAX_TITLES):
        if count > 1:
            yield Question(f"words {first} {second}", f"{first} {second}")


def _round_randomly(mean: float, random: Random) -> int:
    """Return a random integer that is `mean` on average."""
    return int(mean + random.random())


def _sample_prefix(words: Sequence[str], random: Random) -> str:
    """Return some of the first words, in half of the cases with the last one truncated."""
    first, last = words[: int(random.integers(1, len(words)))], ""
    if random.random() < 0.5:
        last = first[-1][: int(random.integers(1, len(first[-1]) + 1))]
        first = first[:-1]
    return " ".join([*first, last]).strip()


def _drop_words(words: Sequence[str], random: Random) -> str:
    """Return about three quarters of the words."""
    sample = [word for word, chance in zip(words, random.random(len(words)), strict=True) if chance < 0.75]
    return " ".join(sample or words[:1])


def _recombine_titles(questions: Sequence[Question], titles_per_question: float, random: Random) -> Iterator[Question]:
    """Yield new titles, each a walk that switches from one title to another at a shared word."""
    sources = [q for q in questions if len(q.title.split()) > 1]
    if len(sources) > MAX_TITLES:
        sources = [sources[n] for n in random.permutation(len(sources))[:MAX_TITLES]]
    titles = [q.title.split() for q in sources]
    positions_by_word: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, words in enumerate(titles):
        for position, word in enumerate(words[:-1]):
            positions_by_word[word.lower()].append((number, position))
    seen = {q.title for q in sources}
    for number in range(round(titles_per_question * len(sources))):
        first = number % len(sources)
        title = " ".join(_walk_titles(titles, positions_by_word, titles[first], random))
        if title not in seen:
            seen.add(title)
            yield Question(sources[first].id, title, language=sources[first].language)


def _walk_titles(
    titles: Sequence[Sequence[str]], positions: dict[str, list[tuple[int, int]]], words: Sequence[str], random: Random
) -> Iterator[str]:
    position = 0
    for _ in range(MAX_TITLE_WORDS):
        yield words[position]
        if position + 1 == len(words):
            return
        occurrences = positions[words[position].lower()]
        if len(occurrences) > 1 and random.random() < SWITCH_PROBABILITY:
            number, position = occurrences[int(random.integers(len(occurrences)))]
            words = titles[number]
        position += 1
