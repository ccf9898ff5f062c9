"""What a teacher is asked about: an archive's texts, whole and unfinished, and new titles made of its own."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from askalike.text.pieces import WORD
from askalike.training.settings import TeacherSettings
from askalike.types import Question

MAX_TITLE_WORDS = 16
"""A recombined title ends after so many words."""
SWITCH_PROBABILITY = 0.35
"""How often a recombined title goes on, at a word that several titles have, as another of them."""
MAX_TITLES = 100_000
"""At most so many titles are recombined, and so many words taught alone."""


def generate_teacher_texts(
    questions: Sequence[Question], settings: TeacherSettings, random: np.random.Generator
) -> Iterator[Question]:
    """Each question as its title, its body, and both; unfinished versions of its title; titles made of several."""
    for question in questions:
        title, body = replace(question, body=""), replace(question, title="")
        both = bool(question.body) and bool(question.title)
        if question.title and ("title" in settings.taught or not both):
            yield title
        if question.body and ("body" in settings.taught or not both):
            yield body
        if both and "whole" in settings.taught:
            yield question
        words = question.title.split()
        if len(words) > 1:
            yield from (
                replace(title, title=_sample_prefix(words, random))
                for _ in range(_round_randomly(settings.prefixes, random))
            )
            yield from (
                replace(title, title=_drop_words(words, random))
                for _ in range(_round_randomly(settings.dropped, random))
            )
    if settings.alone:
        yield from _generate_words_and_bigrams(questions)
    if settings.recombined:
        yield from _recombine_titles(questions, settings.recombined, random)


def _generate_words_and_bigrams(questions: Sequence[Question]) -> Iterator[Question]:
    """Each word, and each pair of neighbours that occurs twice, as a title of its own; the commonest, not too many."""
    titles = [WORD.findall(q.title.lower()) for q in questions]
    words = Counter(word for title in titles for word in title)
    pairs = Counter(pair for title in titles for pair in pairwise(title))
    for word, _ in words.most_common(MAX_TITLES):
        yield Question(f"word {word}", word)
    for (first, second), count in pairs.most_common(MAX_TITLES):
        if count > 1:
            yield Question(f"words {first} {second}", f"{first} {second}")


def _round_randomly(mean: float, random: np.random.Generator) -> int:
    """A whole number that is `mean` on average."""
    return int(mean + random.random())


def _sample_prefix(words: Sequence[str], random: np.random.Generator) -> str:
    """The first words, the last of them whole or not."""
    first, last = words[: int(random.integers(1, len(words)))], ""
    if random.random() < 0.5:
        last = first[-1][: int(random.integers(1, len(first[-1]) + 1))]
        first = first[:-1]
    return " ".join([*first, last]).strip()


def _drop_words(words: Sequence[str], random: np.random.Generator) -> str:
    """About three in four of the words."""
    kept = [word for word, chance in zip(words, random.random(len(words)), strict=True) if chance < 0.75]
    return " ".join(kept or words[:1])


def _recombine_titles(
    questions: Sequence[Question], titles_per_question: float, random: np.random.Generator
) -> Iterator[Question]:
    """New titles, `share` for each question: walks that change from one title to another at a word that both have."""
    asked = [q for q in questions if len(q.title.split()) > 1]
    if len(asked) > MAX_TITLES:
        asked = [asked[n] for n in random.permutation(len(asked))[:MAX_TITLES]]
    titles = [q.title.split() for q in asked]
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for number, words in enumerate(titles):
        for at, word in enumerate(words[:-1]):
            places[word.lower()].append((number, at))
    known = {q.title for q in asked}
    for number in range(round(titles_per_question * len(asked))):
        first = number % len(asked)
        title = " ".join(_walk_titles(titles, places, titles[first], random))
        if title not in known:
            known.add(title)
            yield Question(asked[first].id, title, language=asked[first].language)


def _walk_titles(
    titles: Sequence[Sequence[str]],
    positions_by_word: dict[str, list[tuple[int, int]]],
    words: Sequence[str],
    random: np.random.Generator,
) -> Iterator[str]:
    at = 0
    for _ in range(MAX_TITLE_WORDS):
        yield words[at]
        if at + 1 == len(words):
            return
        shared = positions_by_word[words[at].lower()]
        if len(shared) > 1 and random.random() < SWITCH_PROBABILITY:
            number, at = shared[int(random.integers(len(shared)))]
            words = titles[number]
        at += 1
