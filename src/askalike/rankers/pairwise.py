"""Ranks with a model that reads query and document together: given candidates, or another ranker's (cascade).

What each word contributes is measured by occlusion: the decrease of the score without it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from askalike.core.arrays import Docids, Floats, Scores
from askalike.core.errors import SettingsError
from askalike.core.filters import AllowedDocs
from askalike.core.hits import Contribution, Explanation, Span
from askalike.core.model_folders import LearnedLabels
from askalike.core.records import Answer, Question
from askalike.rankers._queries_and_results import Explanations, ResolvedQuery, Retrieved, Texts
from askalike.rankers._ranker import Ranker, candidates_needed
from askalike.rankers._searcher import Searcher
from askalike.rankers._word_explanations import MAX_WORDS, Word
from askalike.store import Snapshot
from askalike.text.clean import plain_text

MAX_SPANS = 5
"""Maximum number of words of a document that are highlighted."""
COMPOUND_WORD = re.compile(r"\w[\w'’-]*")

ScoreFunction = Callable[[Sequence[Question], Sequence[Question]], Floats]
"""Scores of queries with documents, (queries, documents)."""


class PairScorer(Protocol):
    """A model of pairs, whose scores cannot be computed from separate vectors."""

    @property
    def values(self) -> Mapping[str, Any]:
        """The settings that can be chosen when it is used, including defaults."""

    def score(self, query: Question, documents: Sequence[Question | Answer]) -> NDArray[np.float32]:
        """Return the score of each document for the query, (documents,)."""


class PairwiseRanker(Ranker):
    """Ranking with a pair scorer. It has no index: texts are read from the archive."""

    def __init__(self, scorer: PairScorer, name: str = "pairwise") -> None:
        self.name = name
        self.scorer = scorer

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> NoReturn:
        """Raises SettingsError: a scorer is a trained model, and is created by the model's name."""
        raise SettingsError(f"{name}: expected the name of a trained model; see: askalike models")

    @property
    def values(self) -> Mapping[str, Any]:
        return self.scorer.values

    @property
    def fingerprint(self) -> str:
        return str(getattr(self.scorer, "fingerprint", ""))

    @property
    def trained_until(self) -> str | None:
        return getattr(self.scorer, "trained_until", None)

    @property
    def needs_candidates(self) -> bool:
        return True

    @property
    def learned_labels(self) -> LearnedLabels:
        return getattr(self.scorer, "learned_labels", LearnedLabels())

    def open(self, view: Snapshot) -> "PairwiseSearcher":
        return PairwiseSearcher(self.name, view, self.scorer)


class PairwiseSearcher(Searcher):
    """See PairwiseRanker."""

    def __init__(self, name: str, view: Snapshot, scorer: PairScorer) -> None:
        super().__init__(name, view)
        self.scorer = scorer

    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        """Raises SettingsError: every document would have to be scored."""
        raise candidates_needed(self.name)

    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        """See Searcher.score; NaN for a document that has been deleted, 0 for all if the query is empty."""
        scores = [self._score_query(one.query, own) for one, own in zip(queries, docids, strict=True)]
        return Retrieved(queries, docids, scores, scores)

    def explain(
        self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts, *, exact: bool = False
    ) -> list[Explanations]:
        pairs = zip(retrieved.queries, docids, strict=True)
        return [self._explain_query(one.query, own, texts) if len(own) else {} for one, own in pairs]

    def _score_query(self, query: Question, docids: Docids) -> Scores:
        scores = np.full(len(docids), np.nan)
        texts = self._texts(docids)
        if present := [place for place, docid in enumerate(docids.tolist()) if docid in texts]:
            documents = [texts[docid] for docid in docids[present].tolist()]
            is_empty = not f"{query.title}{query.body}".strip()
            scores[present] = 0.0 if is_empty else self.scorer.score(query, documents)
        return scores

    def _explain_query(self, query: Question, docids: Docids, texts: Texts) -> Explanations:
        by_id = sorted(docids.tolist(), key=lambda docid: texts[docid].id)  # a batch's order affects scores' last bits
        documents = {docid: texts[docid] for docid in by_id}
        scores = self.scorer.score(query, list(documents.values()))

        def score_all(queries: Sequence[Question], others: Sequence[Question]) -> Scores:
            return np.array([self.scorer.score(one, others) for one in queries], np.float64)

        hit_scores = dict(zip(documents, scores.tolist(), strict=True))
        return explain_by_occlusion(score_all, self.name, query, documents, hit_scores)

    def _texts(self, docids: Docids) -> Mapping[int, Question | Answer]:
        if self.view.kind == "questions":
            return self.view.questions_by_docid(docids)
        ids = self.view.ids(docids)
        answers = self.view.get_answers(ids.values())
        return {docid: answers[id] for docid, id in ids.items() if id in answers}


def explain_by_occlusion(
    scorer: ScoreFunction, name: str, query: Question, documents: Mapping[int, Question], scores: Mapping[int, float]
) -> dict[int, Explanation]:
    """Return docid → the decrease of the score without each word of the query; important document words are marked.

    documents: docid → the text that is scored. scores: the scores from the retrieval. Contributions do not add up to
    these.
    """
    query_words, _ = _first_words(query)
    shorter = [_remove_word(query, word) for word in query_words]
    table = scorer([query, *shorter], list(documents.values()))
    explanations = {}
    for column, (docid, document) in enumerate(documents.items()):
        words, texts = _first_words(document)
        variants = [document, *(_remove_word(document, word) for word in words)]
        without = scorer([query], variants)[0]
        lost = without[0] - without[1:]
        spans = tuple(words[n].span for n in np.argsort(-lost, kind="stable")[:MAX_SPANS] if lost[n] > 0)
        drops = (table[0, column] - table[1:, column]).tolist()
        rows = [Contribution(word.text, (), drop) for word, drop in zip(query_words, drops, strict=True)]
        if not rows and scores[docid]:
            rows = [Contribution(name, (), scores[docid])]
        rows.sort(key=attrgetter("score"), reverse=True)
        explanations[docid] = Explanation(scores[docid], tuple(rows), spans, texts)
    return explanations


def _first_words(text: Question) -> tuple[list[Word], dict[str, str]]:
    """Return the first words of a text, and field → plain text."""
    texts = {"title": plain_text(text.title, "text"), "body": plain_text(text.body, text.markup)}
    texts = {field: plain for field, plain in texts.items() if plain}
    matches = [(field, match) for field, plain in texts.items() for match in COMPOUND_WORD.finditer(plain)]
    return [Word(match[0], Span(field, *match.span())) for field, match in matches[:MAX_WORDS]], texts


def _remove_word(text: Question, word: Word) -> Question:
    plain = _first_words(text)[1][word.span.field]
    rest = f"{plain[: word.span.start]} {plain[word.span.end :]}".strip()
    return replace(text, title=rest) if word.span.field == "title" else replace(text, body=rest, markup="text")
