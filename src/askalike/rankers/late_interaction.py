"""Re-ranks the top hits by token vectors: the similarity of each query token to the most similar token of a title.

Late interaction (Khattab and Zaharia 2020, eq. 3) over the last states of a pre-trained encoder, without training. The
mean over the query's tokens is added to the score, as on its own it ranks worse than the encoder's single vectors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.core.config import TextList
from askalike.core.errors import SettingsError
from askalike.core.lazy import lazy_property
from askalike.core.types import AllowedDocs, Contribution, Explanation, Question, TopDocs, Vectors
from askalike.index.rows import find_distinct
from askalike.rankers._composite import CompositeRanker, CompositeSearcher, CompositeSettings
from askalike.rankers._queries import ResolvedQuery
from askalike.rankers._ranker import Docids, Explanations, Ranker, Scores, Texts, top_k
from askalike.store import View

CACHED_TEXTS = 2_048
"""Number of titles cached with their token vectors, about 50 MB: while a query is typed, the same titles recur."""
TokenVectors = NDArray[np.float32]


class LateInteractionSettings(CompositeSettings):
    """The ranker whose top documents are re-ranked, the encoder, and the weight of the token similarity."""

    parts: TextList = Field(
        ("hybrid", "pretrained"), description="the ranker and the pre-trained encoder; one name if they are the same"
    )
    depth: int = Field(20, ge=1, description="number of the ranker's documents that are re-ranked, whatever k is")
    weight: float = Field(
        0.3, ge=0, description="weight of the mean cosine of the tokens; the ranker's score has weight 1"
    )


class LateInteractionRanker(CompositeRanker):
    """One ranker with its top documents re-ranked."""

    settings_class: ClassVar[type[CompositeSettings]] = LateInteractionSettings
    settings: LateInteractionSettings

    def __init__(self, parts: Sequence[Ranker], settings: CompositeSettings, name: str = "late_interaction") -> None:
        super().__init__(parts, settings, name)
        self.encoder: Any = getattr(parts[-1], "encoder", None)
        if len(parts) > 2 or not hasattr(self.encoder, "encode_tokens"):
            listed = ",".join(part.name for part in parts)
            raise SettingsError(
                f"{name}: parts={listed}: expected a ranker and a pre-trained encoder, or that one alone"
            )
        self._vectors = lru_cache(CACHED_TEXTS)(self._encode)

    def open(self, view: View) -> "LateInteractionSearcher":
        return LateInteractionSearcher(self, view)

    def similarity(self, query: str, titles: Sequence[str]) -> float:
        """Return the token similarity of the query and the most similar title; 0 if a text has no tokens."""
        tokens = self._vectors("query", query)
        best = [(tokens @ self._vectors("document", title).T).max(1).mean() for title in titles if title]
        return max(0.0, *map(float, best)) if query and best else 0.0

    def _encode(self, role: Any, text: str) -> TokenVectors:
        vectors: TokenVectors = self.encoder.encode_tokens(text, role)
        return vectors


class PreparedLateInteraction:
    """A batch of queries prepared by the first part, with the token similarities added to the scores of their pools."""

    def __init__(self, searcher: "LateInteractionSearcher", queries: Sequence[ResolvedQuery], prepared: Any) -> None:
        self._searcher, self._queries = searcher, queries
        self.prepared = prepared

    @lazy_property
    def tops(self) -> list[TopDocs]:
        """For each query, the first part's top documents, at least as many as are re-ranked."""
        return self._searcher.retrieve_first(self.prepared, 0)

    @lazy_property
    def added(self) -> list[Mapping[int, float]]:
        """For each query, docid → the value added to the score; 0 for all other documents."""
        return self._searcher.compare_pools(self._queries, self.tops)


class LateInteractionSearcher(CompositeSearcher):
    """See LateInteractionRanker."""

    def __init__(self, ranker: LateInteractionRanker, view: View) -> None:
        super().__init__(ranker, view)
        self._ranker = ranker
        self._first = self.parts[0]

    @property
    def has_similarity(self) -> bool:
        return self._first.has_similarity

    def similarities(self, prepared: PreparedLateInteraction, topdocs: Sequence[TopDocs]) -> list[Scores] | None:
        return self._first.similarities(prepared.prepared, topdocs)

    def prepare(self, queries: Sequence[ResolvedQuery], prefix: bool) -> PreparedLateInteraction:
        return PreparedLateInteraction(self, queries, self._first.prepare(queries, prefix))

    def query_vectors(self, prepared: PreparedLateInteraction) -> Vectors | None:
        return self._first.query_vectors(prepared.prepared)

    def retrieve(self, prepared: PreparedLateInteraction, k: int, allowed: AllowedDocs | None) -> list[TopDocs]:
        tops = self.retrieve_first(prepared.prepared, k, allowed)
        if allowed is None:
            prepared.tops = tops
        pairs = zip(tops, prepared.added, strict=True)
        return [top_k(top.docids, top.scores + _added(added, top.docids), k) for top, added in pairs]

    def score(self, prepared: PreparedLateInteraction, candidates: Sequence[Docids]) -> list[Scores]:
        scores = self._first.score(prepared.prepared, candidates)
        triples = zip(scores, candidates, prepared.added, strict=True)
        return [own + _added(added, docids) for own, docids, added in triples]

    def explain(self, prepared: PreparedLateInteraction, row: int, docids: Docids, texts: Texts) -> Explanations:
        """Return the first part's explanation with the contribution of the token similarity."""
        explanations = self._first.explain(prepared.prepared, row, docids, texts)
        return {docid: self._extend(one, prepared.added[row].get(docid, 0.0)) for docid, one in explanations.items()}

    def retrieve_first(self, prepared: Any, k: int, allowed: AllowedDocs | None = None) -> list[TopDocs]:
        """Return the first part's k best documents of each query, at least as many as are re-ranked."""
        return list(self._first.retrieve(prepared, max(k, self.depth), allowed))

    def compare_pools(self, queries: Sequence[ResolvedQuery], tops: Sequence[TopDocs]) -> list[Mapping[int, float]]:
        """Return, for each query, docid → the contribution of the token similarity, for its top documents."""
        pools = [top.docids[: self.depth] for top in tops]
        texts = self._texts(find_distinct(np.concatenate(pools))) if pools else {}
        weight = self._ranker.settings.weight
        return [
            {
                docid: weight * self._ranker.similarity(self._title(one.query), texts[docid])
                for docid in pool.tolist()
                if docid in texts
            }
            for one, pool in zip(queries, pools, strict=True)
        ]

    def _texts(self, docids: Docids) -> dict[int, list[str]]:
        """Return docid → the title and the rephrasings, or the text of an answer."""
        if self.view.kind == "answers":
            ids = self.view.ids(docids)
            answers = self.view.get_answers(ids.values())
            return {docid: [self._ranker.encoder.text(answers[id])] for docid, id in ids.items() if id in answers}
        questions = self.view.questions_by_docid(docids)
        return {docid: [self._title(q), *q.rephrasings] for docid, q in questions.items()}

    def _title(self, question: Question) -> str:
        return str(self._ranker.encoder.text(replace(question, body="")))

    def _extend(self, explanation: Explanation, added: float) -> Explanation:
        if not added:
            return explanation
        parts = explanation.parts or {self._first.name: explanation.score}
        contributions = (*explanation.contributions, Contribution(self.name, (), added))
        return replace(
            explanation, score=explanation.score + added, contributions=contributions,
            parts={**parts, self.name: added},
        )  # fmt: skip


def _added(added: Mapping[int, float], docids: Docids) -> Scores:
    return np.array([added.get(docid, 0.0) for docid in docids.tolist()])
