"""Sums the scores of several rankers: each retrieves, and all score the union.

Absolute scores, with 1 for the same text, are comparable between queries and rankers, and so is their sum. It does not
depend on k, on candidates or on filters.

Next to an encoder, words have a small weight, as their score is low for the same question in other words. A document
with nearly all words of the query is right all the same: see `gain_of_evidence`.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from askalike import rankers
from askalike.core.arrays import Docids, Scores
from askalike.core.errors import SettingsError
from askalike.core.filters import AllowedDocs
from askalike.core.hits import PAIR, Contribution, Explanation, LazyMapping, Run, Span
from askalike.core.records import Question
from askalike.core.values import format_count
from askalike.index.rows import find_distinct, find_positions
from askalike.rankers._composite import CompositeRanker, CompositeSearcher, CompositeSettings, Weights
from askalike.rankers._queries_and_results import Explanations, ResolvedQuery, Retrieved, Texts, fill_missing, resolve
from askalike.rankers._ranker import Ranker
from askalike.rankers._searcher import TYPED_DEPTH, Candidates, find_pools, first_hits, rank_pools, to_run
from askalike.store import Snapshot

LEXICAL_EVIDENCE = 3
"""Number of times that a high lexical score counts as evidence of its own; see `gain_of_evidence`."""
FOREIGN_LEXICAL_WEIGHT = 1.5
"""Weight of the lexical score for queries in a language that the encoder does not know, whose weight is 1.

Measured with packaged vectors on German, French, Spanish and Russian sets; see commit a4ffda11.
"""


class HybridSettings(CompositeSettings):
    """The weights of the parts."""

    weights: Weights | None = Field(
        None,
        description="weight of each part; by default the one measured for a lexical ranker combined with the others",
    )


class HybridRanker(CompositeRanker):
    """A weighted sum of several rankers' scores."""

    settings_class: ClassVar[type[CompositeSettings]] = HybridSettings
    settings: HybridSettings
    default_fields = "title,text"

    def __init__(self, parts: Sequence[Ranker], settings: HybridSettings, name: str = "hybrid") -> None:
        super().__init__(parts, settings, name)
        if settings.weights is not None and len(settings.weights) != len(parts):
            n_weights = format_count(len(settings.weights), "weight")
            raise SettingsError(f"{name}: {format_count(len(parts), 'part')}, but {n_weights}")
        self.weights = settings.weights or _default_weights(parts)
        self._weights_by_language: dict[str | None, Sequence[float]] = {}
        powers = (part.lexical_power for part in parts if part.lexical_power is not None)
        self.evidence_power = None if settings.weights else next(powers, None)
        """The power of the first part that has one; None with weights of the user's, which are those of a sum."""
        self.lexical_places = [
            place for place, part in enumerate(parts)
            if part.lexical_weight is None and part.name not in rankers.PART_ONLY
        ]  # fmt: skip

    def weights_for(self, language: str | None) -> Sequence[float]:
        """Return the parts' weights for queries in a language: words weigh more where vectors do not know it."""
        if self.settings.weights:
            return self.weights
        if language not in self._weights_by_language:
            self._weights_by_language[language] = _default_weights(self.parts, language)
        return self._weights_by_language[language]

    @property
    def lexical_power(self) -> int | None:
        return self.evidence_power

    @property
    def lexical_weight(self) -> float | None:
        return max((part.lexical_weight for part in self.parts if part.lexical_weight is not None), default=None)

    @property
    def grids(self) -> Sequence[Mapping[str, Sequence[Any]]]:
        """Return the weights to try: equal ones, then ratios of two and four between parts."""
        choices = [weights for weights in product((1, 2, 4), repeat=len(self.parts)) if min(weights) == 1]
        return ({"weights": choices},)

    def open(self, view: Snapshot) -> "HybridSearcher":
        return HybridSearcher(self, view)


class HybridSearcher(CompositeSearcher):
    """See HybridRanker."""

    def __init__(self, ranker: HybridRanker, view: Snapshot) -> None:
        super().__init__(ranker, view)
        self._ranker = ranker
        self._power, self._lexical = ranker.evidence_power, ranker.lexical_places
        self._depends_on_query = [part.name not in rankers.PART_ONLY for part in ranker.parts]
        pairs = zip(self.parts, self._depends_on_query, strict=True)
        self._weighs_foreign = [part.bridges_languages or not depends for part, depends in pairs]

    def retrieve(self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None) -> Retrieved:
        """See Searcher.retrieve. A document that no part retrieves is not retrieved."""
        return self._fuse(self.retrieve_parts(queries, k, allowed)).best(k)

    def score(
        self, queries: Sequence[ResolvedQuery], docids: Sequence[Docids], known: Retrieved | None = None
    ) -> Retrieved:
        parts = known.parts if known else [None] * len(self.parts)
        pairs = zip(self.parts, parts, strict=True)
        return self._fuse([part.score(queries, docids, own) for part, own in pairs])

    def explain(
        self, retrieved: Retrieved, docids: Sequence[Docids], texts: Texts, *, exact: bool = False
    ) -> list[Explanations]:
        """Return the words of every part, each part's scaled to its contribution to the score."""
        of_parts = zip(self.parts, retrieved.parts, strict=True)
        reasons = zip(*(part.explain(own, docids, texts, exact=exact) for part, own in of_parts), strict=True)
        return [
            self._explain_query(retrieved, row, own, explained)
            for row, (own, explained) in enumerate(zip(docids, reasons, strict=True))
        ]

    def rank_with_weights(
        self,
        queries: Mapping[str, Question],
        k: int,
        choices: Iterable[Sequence[float]],
        *,
        candidates: Candidates | None = None,
    ) -> list[Run]:
        """Return `rank` with each of several choices of weights; the parts retrieve and score only once."""
        resolved = resolve(self, queries)
        titles = self.find_titles(resolved)
        if candidates is None:
            parts = self.retrieve_parts(resolved, k)
            ranked = [self._fuse(parts, weights).best(k) for weights in choices]
        else:
            pools = find_pools(self.view, resolved, candidates)
            parts = [part.score(resolved, pools) for part in self.parts]
            ranked = [rank_pools(self._fuse(parts, weights)) for weights in choices]
        adds = candidates is None
        return [to_run(self.view, first_hits(self, one, titles, k, adds=adds)) for one in ranked]

    def retrieve_parts(
        self, queries: Sequence[ResolvedQuery], k: int, allowed: AllowedDocs | None = None
    ) -> list[Retrieved]:
        """Return each part's scores of the pool of each query: all documents that any part retrieves.

        While a question is typed, a small pool suffices: absolute scores do not depend on it.
        """
        depth = min(self.depth, TYPED_DEPTH) if any(one.prefix for one in queries) else self.depth
        depth = self.depth if k > depth else depth
        found = [part.retrieve(queries, depth, allowed) if part.proposes else None for part in self.parts]
        nothing = np.empty(0, np.int64)
        pools = [
            find_distinct(np.concatenate([nothing, *(own.docids[row] for own in found if own)]))
            for row in range(len(queries))
        ]
        return [part.score(queries, pools, own) for part, own in zip(self.parts, found, strict=True)]

    def _fuse(self, parts: Sequence[Retrieved], weights: Sequence[float] | None = None) -> Retrieved:
        """Return the weighted sums of the parts' absolute scores, 0 for a document that a part cannot score.

        The absolute score is their weighted mean by the ranker's weights, over the parts that depend on the query.
        weights: others for the sums, without what high lexical scores add.
        """
        queries = parts[0].queries
        sums: list[Scores] = []
        absolute: list[Scores] = []
        for row, query in enumerate(queries):
            scores = _collect_absolute(parts, row)
            weighted, mean, gain = self._weigh(scores, query)
            sums.append((np.array(weights)[:, None] * scores).sum(axis=0) if weights else weighted.sum(axis=0) + gain)
            absolute.append(mean if weights else mean + gain)
        vectors = next((part.vectors for part in parts if part.vectors is not None), None)
        return Retrieved(queries, parts[0].docids, sums, absolute, vectors, parts)

    def _weigh(self, scores: Scores, query: ResolvedQuery) -> tuple[Scores, Scores, Scores]:
        """Return absolute scores times the parts' weights, their weighted means, and what high lexical ones add.

        scores: (parts, documents), as the first result; the others are (documents). The mean is over the parts that
        depend on the query. Of one in another language, words say nothing.
        """
        weights = self._ranker.weights_for(query.language)
        if query.is_foreign:
            kept = [weight * weighs for weight, weighs in zip(weights, self._weighs_foreign, strict=True)]
            weights = [weight / (sum(kept) or 1.0) for weight in kept]
        dependent = [weight * depends for weight, depends in zip(weights, self._depends_on_query, strict=True)]
        total = sum(dependent) or 1.0
        mean: Scores = (np.array([weight / total for weight in dependent])[:, None] * scores).sum(axis=0)
        gain = np.zeros(len(mean))
        if self._power and self._lexical and not query.is_foreign:
            gain = gain_of_evidence(mean, scores[self._lexical].max(axis=0), self._power)
        return np.array(weights)[:, None] * scores, mean, gain

    def _explain_query(
        self, retrieved: Retrieved, row: int, docids: Docids, reasons: Sequence[Explanations]
    ) -> Explanations:
        at = find_positions(retrieved.parts[0].docids[row], docids)
        scores = _collect_absolute(retrieved.parts, row)[:, at]
        weighted, _, gain = self._weigh(scores, retrieved.queries[row])
        for place in self._lexical:
            weighted[place] += gain / len(self._lexical)
        names = [part.name for part in self.parts]
        wanted = docids.tolist()
        of_documents = zip(*(map(reason.get, wanted) for reason in reasons), strict=True)
        return {
            docid: merge_explanations(explanations, dict(zip(names, shares, strict=True)))
            for docid, explanations, shares in zip(wanted, of_documents, weighted.T.tolist(), strict=True)
        }


def gain_of_evidence(mean: Scores, lexical: Scores, power: int, times: int = LEXICAL_EVIDENCE) -> Scores:
    """Return what high lexical scores add to weighted means: (1 − s)(1 − (1 − l^p)^3), both between 0 and 1.

    With the mean s it is 1 − (1 − s)(1 − l^p)^3, which is high if the mean s or the lexical score l is: a noisy or, in
    which l^p counts three `times`. The higher the power p, the closer to 1 a lexical score must be to count.
    experiments/fusion.py measures the weights in s, p (`Encoder.lexical_power`) and the exponent.
    """
    return (1 - _limit(mean)) * (1 - (1 - _limit(lexical) ** power) ** times)


def _default_weights(parts: Sequence[Ranker], language: str | None = None) -> tuple[float, ...]:
    """Return weights that sum to 1: equal, but lexical scores get the weight measured for the other parts.

    It is at least FOREIGN_LEXICAL_WEIGHT for queries in a language that none of these parts knows.
    """
    dense_weights = [part.lexical_weight for part in parts if part.lexical_weight is not None]
    if language and dense_weights and not any(part.lexical_weight and _knows(part, language) for part in parts):
        dense_weights = [max(weight, FOREIGN_LEXICAL_WEIGHT) for weight in dense_weights]
    if not dense_weights or len(dense_weights) == len(parts):
        return (1 / len(parts),) * len(parts)
    lexical_weight = min(dense_weights) * len(dense_weights) / (len(parts) - len(dense_weights))
    weights = [lexical_weight if part.lexical_weight is None else 1.0 for part in parts]
    return tuple(weight / sum(weights) for weight in weights)


def _knows(part: Ranker, language: str) -> bool:
    return part.languages is None or language in part.languages


def _limit(scores: Scores) -> Scores:
    """Return the scores between 0 and 1. np.clip takes four times as long for those of one query."""
    return np.minimum(np.maximum(scores, 0), 1)


def _collect_absolute(parts: Sequence[Retrieved], row: int) -> Scores:
    """Return the parts' absolute scores of the documents of one query, 0 for missing ones: (parts, documents)."""
    return fill_missing(np.array([(part.absolute or ())[row] for part in parts]))


def merge_explanations(explanations: Sequence[Explanation | None], parts: Mapping[str, float]) -> Explanation:
    """Return one explanation from those of the parts, None if a part has none.

    parts: each part's share of the score, to which its contributions and its fields' are scaled; if they cannot be, the
    part itself is listed. Contributions of the same word are summed, under its own name if the document has it, and the
    spans of each field are merged.
    """
    words: dict[str, tuple[str, tuple[str, ...], float]] = {}
    spans: dict[Span, None] = {}
    text: dict[str, str] = {}
    for (name, share), explanation in zip(parts.items(), explanations, strict=True):
        explanation = explanation or Explanation(0.0)
        contributions, factor = explanation.contributions, 1.0
        if (total := sum([score for _, _, score in contributions])) > 0:
            factor = share / total
        else:  # they cannot be scaled
            contributions = (Contribution(name, (), share),) if share else ()
        for word, fields, score in contributions:
            key = word.partition(PAIR)[0].casefold()
            own = score * factor
            if key in words:
                word, fields = _choose_closer(words[key], (word, fields))
                own += words[key][2]
            words[key] = word, fields, own
        own_text, own_spans = explanation.text, explanation.spans
        text = text or dict(own_text)
        if own_text != text:
            others = {  # offsets are the same in a text that begins the other, with spaces for line breaks
                field for field, plain in own_text.items()
                if text.setdefault(field, plain)[: len(plain)].replace("\n", " ") != plain.replace("\n", " ")
            }  # fmt: skip
            own_spans = tuple([span for span in own_spans if span.field not in others]) if others else own_spans
        spans |= dict.fromkeys(own_spans)
    rows = Contribution.of_rows(words.values())
    of_fields = LazyMapping(partial(_merge_fields, explanations, parts.values()))
    return Explanation(sum(parts.values()), rows, tuple(spans), text, parts, of_fields)


def _choose_closer(
    one: tuple[str, tuple[str, ...], float], other: tuple[str, tuple[str, ...]]
) -> tuple[str, tuple[str, ...]]:
    """Return a word that the document has rather than one with a similar word, and this rather than none.

    one, other: the label and the fields of the same word of a query. Of equally close ones the first has both's fields.
    """
    if one[:2] == other:
        return other
    closeness = [(1 if PAIR in label else 2) if fields else 0 for label, fields in (one[:2], other)]
    if closeness[0] == closeness[1]:
        return one[0], tuple(dict.fromkeys(one[1] + other[1]))
    return one[:2] if closeness[0] > closeness[1] else other


def _merge_fields(explanations: Sequence[Explanation | None], shares: Iterable[float]) -> Mapping[str, float]:
    """Return the sum of each field's contributions, scaled to each part's share of the score."""
    sums: dict[str, float] = {}
    for explanation, share in zip(explanations, shares, strict=True):
        of_part = explanation.fields if explanation else {}
        total = sum(of_part.values())
        for field, score in of_part.items() if total > 0 else ():
            sums[field] = sums.get(field, 0.0) + score * share / total
    return sums
