"""Expands a query with words of its first hits, and searches again: pseudo-relevance feedback by RM3.

The relevance model (RM1: Lavrenko and Croft 2001) is P(w|R) ∝ Σ_d P(w|d) · P(q|d) over the first documents d. RM3
(Abdul-Jaleel et al. 2004) mixes its best words with the query: P'(w) = α · P(w|q) + (1 − α) · P(w|R). Here a word is
repeated in proportion to its weight, so that any lexical ranker can search for the result.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

import askalike
from askalike.text.analyzer import Analyzer, AnalyzerSettings

REPEATS = 20
"""How often a word of weight 1 is repeated."""


class Rm3Settings(askalike.Settings):
    """The settings of the feedback; all others are those of the ranker. The defaults are Anserini's."""

    ranker: str = Field("bm25", description="the lexical ranker that searches twice")
    feedback_documents: int = Field(10, ge=1, description="number of first documents that new words are taken from")
    feedback_terms: int = Field(10, ge=1, description="number of words that are added to the query")
    original_weight: float = Field(0.5, ge=0, le=1, description="α, the weight of the query's own words")


class Rm3Ranker(askalike.Ranker):
    """Two searches with one ranker: with the query, and with the query expanded by words of the first documents."""

    def __init__(self, inner: askalike.Ranker, settings: Rm3Settings, name: str = "rm3") -> None:
        self.inner, self.settings, self.name = inner, settings, name

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """Return the ranker with these settings. Raises SettingsError."""
        own = {key: value for key, value in values.items() if key in Rm3Settings.model_fields}
        settings = askalike.validate_settings(Rm3Settings, own, name)
        others = {key: value for key, value in values.items() if key not in own}
        return cls(askalike.build(settings.ranker, others, archive), settings, name)

    @property
    def values(self) -> Mapping[str, Any]:
        """All settings, the defaults included."""
        return {**self.inner.values, **self.settings.model_dump()}

    def index_paths(self, view: askalike.Snapshot) -> Sequence[Path]:
        """The inner ranker's."""
        return self.inner.index_paths(view)

    def build(self, view: askalike.Snapshot, progress: askalike.Progress | None = None) -> None:
        """Build the inner ranker's index."""
        self.inner.build(view, progress)

    def open(self, view: askalike.Snapshot) -> "Rm3Searcher":
        """Return a searcher of the view as it is now."""
        return Rm3Searcher(self, view, self.inner.open(view))


class Rm3Searcher(askalike.Searcher):
    """See Rm3Ranker."""

    def __init__(self, ranker: Rm3Ranker, view: askalike.Snapshot, inner: askalike.Searcher) -> None:
        super().__init__(ranker.name, view)
        self.correctors, self.detects_language = inner.correctors, inner.detects_language
        self._inner, self._settings = inner, ranker.settings
        self._analyzer = Analyzer(AnalyzerSettings(stem=False, stop_words=True))

    def retrieve(
        self, queries: Sequence[askalike.ResolvedQuery], k: int, allowed: askalike.AllowedDocs | None = None
    ) -> askalike.Retrieved:
        """Return the k best documents of each expanded query."""
        return replace(self._inner.retrieve(self._expand(queries), k, allowed), queries=queries)

    def score(
        self, queries: Sequence[askalike.ResolvedQuery], docids: Sequence[NDArray[np.int64]],
        known: askalike.Retrieved | None = None,
    ) -> askalike.Retrieved:  # fmt: skip
        """Return each query's documents with their scores for the expanded query."""
        expanded = queries if known else self._expand(queries)
        return replace(self._inner.score(expanded, docids, known), queries=queries)

    def explain(
        self, retrieved: askalike.Retrieved, docids: Sequence[NDArray[np.int64]],
        texts: Mapping[int, askalike.Question], *, exact: bool = False,
    ) -> list[dict[int, askalike.Explanation]]:  # fmt: skip
        """Return the words of the query, and those that were added, with their contributions."""
        return self._inner.explain(retrieved, docids, texts, exact=exact)

    def _expand(self, queries: Sequence[askalike.ResolvedQuery]) -> list[askalike.ResolvedQuery]:
        first = self._inner.retrieve(queries, self._settings.feedback_documents)
        texts = self.view.questions_by_docid(first.distinct_docids)
        words = {docid: self._words(f"{text.title} {text.body}", text.language) for docid, text in texts.items()}
        rows = zip(queries, first.docids, first.scores, strict=True)
        return [
            one if one.prefix else self._expand_query(one, [words.get(docid, ()) for docid in own.tolist()], scores)
            for one, own, scores in rows
        ]

    def _expand_query(
        self, one: askalike.ResolvedQuery, documents: Sequence[Sequence[str]], scores: NDArray[np.float64]
    ) -> askalike.ResolvedQuery:
        relevance = self._relevance_model(documents, scores.tolist())
        if not (own := one.text.split()) or not relevance:
            return one
        alpha = self._settings.original_weight
        weights = Counter({word: alpha * n / len(own) for word, n in Counter(own).items()})
        weights.update({word: (1 - alpha) * share for word, share in relevance.items()})
        text = " ".join(word for word, weight in weights.items() for _ in range(max(1, round(REPEATS * weight))))
        return replace(one, text=text, query=replace(one.query, title=text))

    def _relevance_model(self, documents: Sequence[Sequence[str]], scores: Sequence[float]) -> Mapping[str, float]:
        """Return the best words of the documents with their probabilities P(w|R), which sum to 1."""
        shares: Counter[str] = Counter()
        for words, score in zip(documents, scores, strict=True):
            for word in words:
                shares[word] += score / len(words)
        best = dict(sorted(shares.items(), key=lambda pair: (-pair[1], pair[0]))[: self._settings.feedback_terms])
        return {word: share / sum(best.values()) for word, share in best.items()}

    def _words(self, text: str, language: str | None) -> Sequence[str]:
        return self._analyzer.analyze(text, language or self.view.language)
