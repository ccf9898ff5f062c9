"""Pairs of questions: their similarity, the same whichever asks and whichever command compares, and their clusters.

It is the mean of how similar the titles are, and the whole texts. With an encoder it is the similarity of vectors:
words in common are no evidence in titles of one pattern. Titles that are one telling word or number apart are not the
same, and what both bodies quote, such as a form or an exercise, weighs nothing. Two questions about one thing ask the
same if the answers to one fit the title of the other as well as its own.

The probability that both ask the same is a logistic curve over the similarity, fitted to pairs of two sites that were
read one by one (`experiments/pairs.py`). The more questions an archive has, the more are similar by chance. The
decisions on its pairs shift the curve, each from the first on.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import accumulate, chain, combinations, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from askalike.calibration.differences import TitleDifferences
from askalike.core.iteration import Progress, chunks
from askalike.core.parallel import has_workers, map_pieces
from askalike.core.records import Question
from askalike.encoders import Encoder, concatenate_parts
from askalike.index.engine import IN_MEMORY
from askalike.rankers import Ranker, create, open_current, resume_work
from askalike.store import Archive, View
from askalike.store.candidate_pairs import read_decisions, revise_proposals
from askalike.text.analyzer import content_analyzer
from askalike.text.talk import leave_out_talk
from askalike.text.words import WORD, fold_title

BATCH_SIZE = 1_024
MIN_SIMILARITY = 0.6
"""Minimum similarity of a pair's titles and texts, on average."""
PASSAGE_WORDS = 8
"""Number of consecutive words that two bodies have in common if they quote the same text."""
MAX_BODY_WORDS = 1_000
"""Maximum number of words of a body that are compared."""
CACHED_BODIES = 4_096
NEIGHBOURS = 10
"""Number of questions that are compared with each."""
FORMAT = 3
"""Of saved pairs; another one searches again."""
SavedPair = tuple[str, str, float]
PairValues = dict[tuple[str, str], float]
"""(an id, a greater id) → how similar both questions are, from 0 to 1, or the probability that they ask the same."""
MAX_ANSWERS = 3
"""Maximum number of a question's answers that are compared: the accepted one, then those with the most votes."""
FIT_WEIGHT, USUAL_FIT = 1.25, 0.9
"""Increase of the similarity per cosine of the answers above the usual one; see `compare_answers`."""
INTERCEPT, SIMILARITY_WEIGHT, SIZE_WEIGHT = -7.72, 13.73, -0.47
"""Of the log odds: constant, per similarity of 1, and per factor e in the number of questions."""
SHIFT_SPREAD = 0.5
"""Standard deviation of the shift of the log odds that is expected before any decision."""
MIN_DECISIONS = 50
"""Number of decisions from which a probability is sure."""
STEPS = 10  # of Newton's method, which needs about four
MIN_COHESION = 0.5
"""Minimum share of linked pairs between two clusters to join them."""


def pair_key(one: str, other: str) -> tuple[str, str]:
    """Return the key of two questions in PairValues."""
    return min(one, other), max(one, other)


class PairFinder:
    """Finds the questions that are similar to others of an archive, with a ranker whose index is up to date."""

    def __init__(self, ranker: Ranker, view: View) -> None:
        self._searcher, self._view = ranker.open(view), view
        own = (part.vector_scores.encoder for part in (ranker, *ranker.parts) if part.vector_scores)
        self._encoder = next((encoder for encoder in own if encoder.compares_fields), None)
        self._differences = TitleDifferences(tuple)  # no words are counted for sameness
        self._passages = lru_cache(CACHED_BODIES)(find_passages)

    def find(self, questions: Sequence[Question], only: Collection[str] | None = None) -> PairValues:
        """Return the pairs of some questions with the questions of the archive that are most similar to them.

        only: the ids of the questions that count; None for all.
        """
        docids = self._view.docids([question.id for question in questions])
        asked = {docids[question.id]: question for question in questions if question.id in docids}
        found = self._searcher.find_neighbours(asked, NEIGHBOURS)
        similarities = {
            (question, found.questions[docid]): (title, text)
            for question, *row in zip(asked.values(), found.docids, found.titles, found.texts, strict=True)
            for docid, title, text in zip(*(values.tolist() for values in row), strict=True)
            if title + text >= 2 * MIN_SIMILARITY and (only is None or found.questions[docid].id in only)
        }
        fits = compare_answers(self._encoder, self._view, similarities) if self._encoder else {}
        return {
            pair_key(one.id, other.id): self._combine(one, other, *values, fits.get((one, other), 0.0))
            for (one, other), values in similarities.items()
        }

    def _combine(self, question: Question, hit: Question, title: float, text: float, fit: float) -> float:
        """Return the similarity of two questions from those of their titles and their whole texts.

        Bodies that quote the same text are no more similar than the titles, unless the titles are equal.
        fit: of their answers.
        """
        titles = self._read_title(question), self._read_title(hit)
        is_same = len(set(map(fold_title, titles))) == 1
        sameness = 1.0
        if not is_same:
            sameness = self._differences.sameness(*titles, hit.language or self._view.language)
            own, other = (self._passages(each.body, each.markup) for each in (question, hit))
            text = min(title, text) if own & other else text
        return min(max(sameness * (title + text) / 2 + FIT_WEIGHT * fit, 0), 1)

    def _read_title(self, question: Question) -> str:
        """Return a title without courtesies."""
        return leave_out_talk(question.title)


def find_passages(body: str, markup: Any) -> frozenset[int]:
    """Return the hashes of all runs of PASSAGE_WORDS consecutive words of a body, code left out."""
    plain = content_analyzer().plain_text(body, markup).casefold()
    words = [match[0] for match in islice(WORD.finditer(plain), MAX_BODY_WORDS)]
    runs = (words[start : start + PASSAGE_WORDS] for start in range(len(words) - PASSAGE_WORDS + 1))
    return frozenset(hash(" ".join(run)) for run in runs)


def compare_answers(
    encoder: Encoder, view: View, pairs: Collection[tuple[Question, Question]]
) -> dict[tuple[Question, Question], float]:
    """Return how much better than usual each title of a pair fits the answers to the other: a difference of cosines.

    It fits them as well as their own title at most, and usually USUAL_FIT times as well. So answers that fit no title,
    such as chat, tell little. The mean of both directions; pairs without answers are left out.
    """
    questions = {question.id: question for pair in pairs for question in pair}
    answers = {id: own[:MAX_ANSWERS] for id, own in view.get_answers_to(questions).items() if own}
    if not answers:
        return {}
    if view.engine != IN_MEMORY:
        encoder.share_vectors(view.path, len(view))
    titles = [replace(question, body="") for question in questions.values()]
    cosines = [concatenate_parts(encoder.encode_documents(own)) for own in (titles, [*chain(*answers.values())])]
    rows = dict(zip(questions, cosines[0], strict=True))
    ends = accumulate(map(len, answers.values()))
    replies = {id: cosines[1][end - len(own) : end] for (id, own), end in zip(answers.items(), ends, strict=True)}
    low = encoder.unrelated_score

    def fit(title: str, answered: str) -> float:
        return float(np.maximum((replies[answered] @ rows[title] - low) / (1 - low), 0).mean())

    fits = {}
    for pair in pairs:
        directions = [(a.id, b.id) for a, b in (pair, pair[::-1]) if b.id in answers]
        gains = [min(fit(title, to), own) - USUAL_FIT * own for title, to in directions for own in [fit(to, to)]]
        if gains:
            fits[pair] = sum(gains) / len(gains)
    return fits


def find_pairs(archive: Archive, ranker: Ranker, progress: Progress | None = None) -> PairValues:
    """Return the pairs of all questions with those most similar to them.

    They are saved in the archive's `index/`, batch by batch: a call resumes after the last batch of the previous one,
    see `resume_work`. Memory grows with the number of pairs, not with the texts. The processes of `use_workers` share
    the searches.
    """
    view = archive.view()
    n = len(view)

    def search_from(done: int) -> Iterator[list[SavedPair]]:
        open_current(ranker, view)
        batches = islice(chunks((question for _, question in view.questions()), BATCH_SIZE), done, None)
        for number, pairs in enumerate(_search_batches(archive, ranker, batches), done + 1):
            yield [(*pair, value) for pair, value in pairs.items()]
            if progress:
                progress(min(number * BATCH_SIZE, n), n)

    key = [FORMAT, MIN_SIMILARITY, NEIGHBOURS, PASSAGE_WORDS]
    lines = resume_work("neighbours", ranker, view, key, math.ceil(n / BATCH_SIZE), search_from)
    return {(one, other): value for line in lines for one, other, value in line}


def _search_batches(archive: Archive, ranker: Ranker, batches: Iterable[Sequence[Question]]) -> Iterator[PairValues]:
    if not has_workers():
        return map(PairFinder(ranker, archive.view()).find, batches)
    values = ranker.name, dict(ranker.values)
    return map_pieces(partial(_search_batch, archive.path.resolve(), archive.engine, values), batches)


def _search_batch(
    path: Path, engine: str | None, ranker: tuple[str, dict[str, Any]], batch: Sequence[Question]
) -> PairValues:
    """Return the pairs of one batch, in a worker that opens the committed archive and index."""
    with Archive.open(path, engine) as archive:
        return PairFinder(create(*ranker, archive), archive.view()).find(batch)


class PairCurve(NamedTuple):
    """The curve of an archive. shift: of the log odds, by decisions."""

    questions: int
    shift: float = 0.0
    decisions: int = 0

    @property
    def is_sure(self) -> bool:
        """Whether enough pairs of the archive were decided."""
        return self.decisions >= MIN_DECISIONS

    def probability(self, similarity: float) -> float:
        """Return the probability that a pair of this similarity asks the same."""
        return _sigmoid(self._log_odds(similarity) + self.shift)

    def learn(self, decided: Sequence[tuple[float, bool]]) -> "PairCurve":
        """Return the curve after decisions: (similarity, whether the pair was accepted) of each.

        The shift is the most probable one, by Newton's method.
        """
        shift = 0.0
        odds = [(self._log_odds(similarity), accepted) for similarity, accepted in decided]
        for _ in range(STEPS):
            expected = [_sigmoid(base + shift) for base, _ in odds]
            gradient = sum(accepted for _, accepted in odds) - sum(expected) - shift / SHIFT_SPREAD**2
            shift += gradient / (sum(p * (1 - p) for p in expected) + 1 / SHIFT_SPREAD**2)
        return self._replace(shift=shift, decisions=len(decided))

    def _log_odds(self, similarity: float) -> float:
        size = math.log(max(self.questions, 1))
        return INTERCEPT + SIMILARITY_WEIGHT * similarity + SIZE_WEIGHT * size


def fit_pair_curve(archive: Archive, ranker: str) -> PairCurve:
    """Return the curve of an archive, with the decisions on pairs that the ranker of that name proposed."""
    return PairCurve(len(archive.view())).learn(read_decisions(archive, ranker))


def learn_decisions(archive: Archive, ranker: str) -> None:
    """Give the open proposals of a ranker the probabilities that the decisions so far teach."""
    revise_proposals(archive, ranker, fit_pair_curve(archive, ranker).probability)


def _sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-max(min(value, 500.0), -500.0)))


def cluster_pairs(pairs: PairValues, min_probability: float) -> list[frozenset[str]]:
    """Return clusters of two or more questions linked by pairs of at least `min_probability`, by their smallest id.

    Pairs are processed by descending probability, ties by ids, so their order does not matter. A pair is ignored if
    its clusters are too loosely linked, so that a chain of single links does not join a whole archive.
    """
    linked = {pair: p for pair, p in pairs.items() if p >= min_probability}
    cluster_of: dict[str, set[str]] = {id: {id} for pair in linked for id in pair}
    for one, other in sorted(linked, key=lambda pair: (-linked[pair], pair)):
        first, second = cluster_of[one], cluster_of[other]
        if first is not second and cohesion(linked, first, second) >= MIN_COHESION:
            first |= second
            for id in second:
                cluster_of[id] = first
    clusters = {min(members): frozenset(members) for members in cluster_of.values() if len(members) > 1}
    return [clusters[least_id] for least_id in sorted(clusters)]


def cohesion(linked: Mapping[tuple[str, str], float], first: Iterable[str], second: Iterable[str]) -> float:
    """Return the share of linked pairs between two clusters."""
    is_linked = [pair_key(a, b) in linked for a in first for b in second]
    return sum(is_linked) / len(is_linked)


def mean_link_probability(pairs: PairValues, members: Iterable[str]) -> float:
    """Return the mean probability of the pairs within a cluster that have one."""
    probabilities = [pairs[pair] for pair in combinations(sorted(members), 2) if pair in pairs]
    return sum(probabilities) / len(probabilities)
