"""Ranks by vectors: an encoder over an index of vectors that follows the archive."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from pydantic import Field

from askalike import config, encoders
from askalike.encoders import Encoder
from askalike.index.vectors.index import VectorIndex, VectorLayout
from askalike.index.vectors.parts import Storage
from askalike.index.vectors.searcher import VectorQueries, VectorSearcher
from askalike.rankers._indexed import IndexedRanker
from askalike.rankers._numbered import Docids, ResolvedQuery, Scores
from askalike.rankers._pairs import explain_by_vectors, read_words
from askalike.rankers._paths import index_directory
from askalike.store.view import View
from askalike.types import Answer, Explanation, Progress, Question, TopDocs

BATCH = 2_048
Text = Question | Answer

CACHED_TEXTS = 512
"""So many texts are remembered with their words, some 25 MB: while somebody types the same are found again."""


class DenseSettings(config.Settings):
    """What is encoded, and how vectors are kept."""

    fields: Literal["title", "body", "title,body"] = Field("title,body", description="what is encoded, as one text")
    rephrasings: bool = Field(True, description="whether a question is found by its rephrasings too")
    storage: Storage = Field("f16", description="how numbers are kept: f16, int8 (half the space) or f32")
    least: float | None = Field(None, description="the score below which nothing is found; else the encoder's own")
    exact_up_to: int = Field(500_000, ge=1, description="above so many vectors neighbours are approximate")


class DenseRanker(IndexedRanker[VectorIndex]):
    """Ranking by an encoder's vectors."""

    def __init__(self, encoder: Encoder, settings: DenseSettings | None = None, name: str = "dense") -> None:
        self.name = name
        self.encoder = encoder
        self.settings = settings or DenseSettings()
        self._word_reader = lru_cache(CACHED_TEXTS)(read_words)

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], folder: Path | None = None) -> Self:
        """Ranking by the encoder of that name, or by the trained one in a folder.

        The values are its settings or those of DenseSettings.
        """
        ours = {k: v for k, v in values.items() if k in DenseSettings.model_fields}
        others = {k: v for k, v in values.items() if k not in ours}
        encoder = encoders.open_encoder(folder, others) if folder else encoders.build(name, others)
        return cls(encoder, config.validate_settings(DenseSettings, ours, name), name)

    @property
    def values(self) -> Mapping[str, Any]:
        """See Ranker.values."""
        return {**self.settings.model_dump(), **self.encoder.values}

    @property
    def fingerprint(self) -> str:
        """The encoder's."""
        return self.encoder.fingerprint

    @property
    def trained_until(self) -> str | None:
        """See Dated: what a trained encoder says of itself; a packaged one has seen nothing of the archive."""
        return getattr(self.encoder, "trained_until", None)

    @property
    def has_similarity(self) -> bool:
        """It does: vectors are compared two by two."""
        return True

    def fit(self, view: View) -> Self:
        """Lets the encoder learn."""
        self.encoder = self.encoder.fit(view)
        return self

    def index_paths(self, view: View) -> Sequence[Path]:
        """The directory of a view's index."""
        return (index_directory(view, f"vectors-{view.kind}-{self._digest()[:12]}"),)

    def prepare(self, view: View, queries: Sequence[ResolvedQuery], prefix: bool) -> VectorQueries | None:
        """The queries' vectors."""
        if not queries:
            return None
        vectors = self.encoder.encode([self._select_fields(one.query) for one in queries], "query")
        return VectorQueries(vectors, [(one.excluded_docid, one.excluded_phrasing) for one in queries])

    def retrieve(self, prepared: VectorQueries | None, k: int, allowed: Docids | None) -> list[TopDocs]:
        """See Numbered.find. Every document is found that scores `least`, and none for a query without a word."""
        found = self._searcher().search(prepared, k, allowed) if prepared else []
        least = getattr(self.encoder, "min_score", None) if self.settings.least is None else self.settings.least
        return found if least is None else [_drop_below(least, f) for f in found]

    def score(self, prepared: VectorQueries | None, candidates: Sequence[Docids]) -> list[Scores]:
        """See Numbered.score."""
        return self._searcher().score(prepared, candidates) if prepared else []

    def explain_resolved(
        self, view: View, resolved: ResolvedQuery, ids: Sequence[str], prefix: bool = False
    ) -> Mapping[str, Explanation]:
        """What each word of the query adds, beside the word it is closest to; or the score alone."""
        numbers = view.docids(ids)
        queries = self.prepare(view, [resolved], prefix)
        documents = view.get_questions(numbers) if view.kind == "questions" else {}
        if queries is None or not documents:
            return {}
        scores = self.score(queries, [np.array(list(numbers.values()), np.int64)])[0]
        seen = self._select_fields(resolved.query)
        return {
            id: explain_by_vectors(
                self.encoder,
                self.name,
                seen,
                self._best_phrasing_fields(queries, documents[id], n),
                score,
                self._word_reader,
            )
            for (id, n), score in zip(numbers.items(), np.nan_to_num(scores).tolist(), strict=True)
            if id in documents
        }

    def _digest(self) -> str:
        values = [self.encoder.fingerprint, self.settings.fields, self.settings.rephrasings, self.settings.storage]
        return hashlib.sha256(json.dumps(values).encode()).hexdigest()

    def _open_index(self, view: View) -> VectorIndex:
        layout = VectorLayout(self._digest(), self.settings.storage, self.settings.exact_up_to)
        return VectorIndex.open(self.index_paths(view)[0], layout)

    def _searcher(self) -> VectorSearcher:
        return self._require_index().searcher

    def _apply_changes(self, view: View, index: VectorIndex, change: int, progress: Progress | None) -> None:
        with index.writer() as writer:
            writer.delete(view.deleted_docids(index.change))
            total = view.count_changed(index.change) if progress else 0
            done = 0
            for batch in self._batches(view, index.change):
                numbers, phrasings, texts = zip(*batch, strict=True)
                vectors = self.encoder.encode(texts, "document")
                writer.add(np.array(numbers), np.array(phrasings), vectors)
                done += phrasings.count(0)
                if progress:
                    progress(done, total)
            writer.commit(change)

    def _batches(self, view: View, since: int) -> Iterator[list[tuple[int, int, Text]]]:
        """Texts as (number, phrasing, text), about BATCH at a time."""
        batch: list[tuple[int, int, Text]] = []
        for number, texts in self._phrasings(view, since):
            batch += [(number, phrasing, text) for phrasing, text in enumerate(texts)]
            if len(batch) >= BATCH:
                yield batch
                batch = []
        if batch:
            yield batch

    def _phrasings(self, view: View, since: int) -> Iterator[tuple[int, list[Text]]]:
        if view.kind == "answers":
            for number, answer in view.answers(since):
                yield number, [answer]
            return
        for number, question in view.questions(since):
            others = question.rephrasings if self.settings.rephrasings else ()
            yield number, [self._select_fields(question), *(replace(question, title=text, body="") for text in others)]

    def _select_fields(self, question: Question) -> Question:
        """The question without the fields that are not encoded."""
        if self.settings.fields == "title" and question.body:
            return replace(question, body="")
        return replace(question, title="") if self.settings.fields == "body" else question

    def _best_phrasing_fields(self, queries: VectorQueries, question: Question, docid: int) -> Mapping[str, Question]:
        """The fields of the phrasing that scores best, each as a text of its own."""
        phrasing = self._searcher().best_phrasing(queries, 0, docid) if question.rephrasings else 0
        if phrasing:
            known = phrasing <= len(question.rephrasings)  # else the archive has changed since
            return {"rephrasing": replace(question, title=question.rephrasings[phrasing - 1], body="")} if known else {}
        seen = self._select_fields(question)
        fields = {"title": replace(seen, body=""), "body": replace(seen, title="")}
        return {name: text for name, text in fields.items() if getattr(text, name)}


def _drop_below(min_score: float, top_docs: TopDocs) -> TopDocs:
    enough = top_docs.scores >= min_score
    return TopDocs(top_docs.docids[enough], top_docs.scores[enough])
