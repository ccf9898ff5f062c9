"""Lexical ranking with learned term weights: the query side is a lookup, the index is unchanged.

s(q, d) = Σ_t w(t) · f(t, q, d), where f is the similarity's score of term t. Weights are trained on duplicate pairs,
with the top hits that are not duplicates as negatives: w = exp(θ) minimises the cross-entropy of the relevant document
(linear learning to rank over terms, like the term weighting of Fan et al. 2010), with a penalty on θ², so that a term
in no pair keeps weight 1. A file of weights, such as the query side of an inference-free sparse encoder, can replace
them.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from pydantic import Field

from askalike import InputError, NotFittedError, Question, ResolvedQuery, Settings, Similarity, Snapshot, TrainingView
from askalike.plugin.exports import chunks
from askalike.plugin.index import Floats, PreparedTerms, QueryTerms, word_of
from askalike.plugin.models import LearnedLabels, replace_file
from askalike.plugin.rankers import LexicalRanker, LexicalSearcher, LexicalSettings, resolve, split_settings
from askalike.plugin.training import LABEL_SIGNALS, Clusters, TrainingPair, training_pairs

MAX_ITERATIONS = 100
BATCH_SIZE = 256


class LearnedWeightsSettings(Settings):
    """Settings for the training of weights."""

    similarity: str = Field("bm25", description="the similarity; its settings and those of lexical are accepted, too")
    weights: str = Field("", description="a JSON file that maps words to weights; with it, none are learned")
    max_pairs_per_query: int = Field(4, ge=1, description="maximum number of pairs of one query")
    max_pairs: int = Field(10_000, ge=1, description="maximum number of pairs")
    negatives: int = Field(20, ge=1, description="number of first hits that compete with a relevant document")
    temperature: float = Field(10.0, gt=0, description="temperature of the cross-entropy: scores are divided by it")
    penalty: float = Field(10.0, gt=0, description="strength of the penalty that keeps weights near 1")
    seed: int = Field(0, ge=0, description="seed of the sample of pairs")


@dataclass(frozen=True, slots=True)
class TermWeights:
    """Term → weight (1 for any other term), their training labels, and the date of the newest training text."""

    weights: Mapping[str, float]
    labels: LearnedLabels = field(default_factory=LearnedLabels)
    until: str | None = None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file from `write`, or a JSON object of term → weight. Raises InputError for anything else."""
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(values.get("weights"), dict):  # "weights" may also be a term
                values = {"weights": values, "learned": ()}
            weights = {str(term): float(weight) for term, weight in values["weights"].items()}
            labels = LearnedLabels(frozenset(values["learned"]))
        except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
            raise InputError(f"{path}: expected a JSON object of weights by word: {error}") from None
        if wrong := next((term for term, weight in weights.items() if not 0 <= weight < np.inf), None):
            raise InputError(f"{path}: the weight of {wrong!r} is {weights[wrong]}; expected 0 or more")
        return cls(weights, labels, values.get("until"))

    def write(self, path: Path) -> None:
        """Write everything as JSON."""
        values = {"weights": self.weights, "learned": sorted(self.labels.duplicates), "until": self.until}
        with replace_file(path) as partial:
            partial.write_text(json.dumps(values, ensure_ascii=False, sort_keys=True), encoding="utf-8")

    @property
    def fingerprint(self) -> str:
        """A digest of the weights."""
        return hashlib.sha256(json.dumps(self.weights, sort_keys=True).encode()).hexdigest()[:12]


class LearnedWeightsRanker(LexicalRanker):
    """Lexical ranking by a similarity with term weights, over the same index as without weights."""

    def __init__(
        self,
        similarity: Similarity,
        settings: LexicalSettings | None = None,
        learning: LearnedWeightsSettings | None = None,
        learned: TermWeights | None = None,
    ) -> None:
        super().__init__(similarity, settings, "learned_weights")
        self.learning = learning or LearnedWeightsSettings()
        self.learned = learned

    @classmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> Self:
        """See Ranker.from_settings; the values are LearnedWeightsSettings', the similarity's or the index's."""
        own, similarity, index = split_settings(name, LearnedWeightsSettings, values)
        learned = TermWeights.read(Path(own.weights)) if own.weights else None
        return cls(similarity, index, own, learned)

    @property
    def values(self) -> Mapping[str, Any]:
        return {**super().values, **self.learning.model_dump()}

    @property
    def fingerprint(self) -> str:
        return self.learned.fingerprint if self.learned else ""

    @property
    def trained_until(self) -> str | None:
        return self.learned.until if self.learned else None

    @property
    def learned_labels(self) -> LearnedLabels:
        return self.learned.labels if self.learned else LearnedLabels()

    def fit(self, view: TrainingView) -> Self:
        """Train the weights of terms on the view's pairs; return itself if they are given as a file."""
        if self.learning.weights:
            return self
        return type(self)(self.similarity, self.settings, self.learning, learn_weights(self, view))

    def open(self, view: Snapshot) -> "LearnedWeightsSearcher":
        postings = self._built_index(view).searcher
        if self.learned is None:
            raise NotFittedError(f"{self.name}: not trained yet; fit it, or name a file of weights: --set weights=FILE")
        return LearnedWeightsSearcher(self, view, postings)


class LearnedWeightsSearcher(LexicalSearcher):
    """See LearnedWeightsRanker."""

    def __init__(self, ranker: LearnedWeightsRanker, view: Snapshot, postings: Any) -> None:
        super().__init__(ranker, view, postings)
        self._weights = ranker.learned.weights if ranker.learned else {}

    def _prepare(self, queries: Sequence[ResolvedQuery]) -> PreparedTerms:
        terms = self._extractor.many_query_terms(queries, self.view.kind)
        return self._postings.prepare(list(map(self._weigh, terms)), self._ranker.similarity, self._field_weights)

    def _weigh(self, query: QueryTerms) -> QueryTerms:
        weights = {term: n * self._weights.get(word_of(term), 1.0) for term, n in Counter(query.terms).items()}
        own = {term: weight for term, weight in weights.items() if weight}
        return replace(query, weights=own, completion_weights=self._weights)


def learn_weights(ranker: LearnedWeightsRanker, view: TrainingView) -> TermWeights:
    """Train weights on the pairs of a view's labels; documents of the same cluster are never negatives."""
    settings = ranker.learning
    pairs = _draw_pairs(training_pairs(view, LABEL_SIGNALS, settings.seed), settings)
    labels = LearnedLabels(frozenset(id for pair in pairs for id in (pair.query.id, pair.positive.id)))
    plain = LexicalRanker(ranker.similarity, ranker.settings)
    contests = _Contests()
    clusters = view.clusters()
    plain.build(view)
    searcher = plain.open(view)
    for chunk in chunks(pairs, BATCH_SIZE):
        _add_contests(contests, searcher, chunk, settings.negatives, clusters)
    return TermWeights(contests.solve(settings.temperature, settings.penalty), labels, view.latest_date)


class _Contests:
    """Relevant documents, each with its negatives, as rows of the terms' contributions to their scores."""

    def __init__(self) -> None:
        self.columns: dict[str, int] = {}
        self.terms: list[int] = []
        self.scores: list[float] = []
        self.row_ends = [0]
        self.starts: list[int] = []

    def add(self, documents: Sequence[Sequence[tuple[str, float]]]) -> None:
        """Add a relevant document, which is first, and its negatives, each as the scores of its terms."""
        self.starts.append(len(self.row_ends) - 1)
        for document in documents:
            for term, score in document:
                self.terms.append(self.columns.setdefault(word_of(term), len(self.columns)))
                self.scores.append(score)
            self.row_ends.append(len(self.terms))

    def solve(self, temperature: float, penalty: float) -> dict[str, float]:
        """Return the term → weight that minimises the cross-entropy of the relevant documents, by L-BFGS from 1."""
        if not self.starts:
            return {}
        from scipy.optimize import minimize

        shape = len(self.row_ends) - 1, len(self.columns)
        rows = scipy.sparse.csr_array((self.scores, self.terms, self.row_ends), shape=shape)
        loss = _cross_entropy(rows / temperature, np.array(self.starts), penalty)
        options = {"maxiter": MAX_ITERATIONS}
        found = minimize(loss, np.zeros(shape[1]), jac=True, method="L-BFGS-B", options=options)
        return dict(zip(self.columns, np.exp(found.x).tolist(), strict=True))


def _cross_entropy(
    rows: scipy.sparse.csr_array, starts: NDArray[np.int64], penalty: float
) -> Callable[[Floats], tuple[float, Floats]]:
    """Return the function from θ to loss and gradient.

    rows: (documents, terms). starts: (pairs,), the index of each pair's first document, which is the relevant one.
    """
    lengths = np.diff(np.append(starts, rows.shape[0]))
    transposed = rows.T.tocsr()

    def loss(theta: Floats) -> tuple[float, Floats]:
        weights = np.exp(theta)
        scores = rows @ weights
        highest = np.maximum.reduceat(scores, starts)
        exponents = np.exp(scores - np.repeat(highest, lengths))
        sums = np.add.reduceat(exponents, starts)
        errors = exponents / np.repeat(sums, lengths)
        value = float((np.log(sums) + highest - scores[starts]).sum() + penalty / 2 * (theta**2).sum())
        errors[starts] -= 1
        return value, (transposed @ errors) * weights + penalty * theta

    return loss


def _draw_pairs(pairs: Iterable[TrainingPair], settings: LearnedWeightsSettings) -> list[TrainingPair]:
    """Return pairs of questions, limited per query and in total, drawn with the seed."""
    questions = [pair for pair in pairs if isinstance(pair.positive, Question)]
    drawn = [questions[n] for n in np.random.default_rng(settings.seed).permutation(len(questions))]
    seen: Counter[str] = Counter()
    chosen = []
    for pair in drawn:
        seen[pair.query.id] += 1
        if seen[pair.query.id] <= settings.max_pairs_per_query:
            chosen.append(pair)
    return chosen[: settings.max_pairs]


def _add_contests(
    contests: _Contests, searcher: LexicalSearcher, pairs: Sequence[TrainingPair], negatives: int, clusters: Clusters
) -> None:
    """Add each pair whose texts share a term, with its negatives."""
    queries = resolve(searcher, {str(n): pair.query for n, pair in enumerate(pairs)})
    retrieved = searcher.retrieve(queries, 2 * negatives)
    ids = searcher.view.ids(retrieved.distinct_docids)
    right = searcher.view.docids([p.positive.id for p in pairs])
    pools = []
    for pair, docids in zip(pairs, retrieved.docids, strict=True):
        others = [n for n in docids.tolist() if clusters.cluster_of(ids[n]) != pair.cluster][:negatives]
        pools.append(np.array([right[pair.positive.id], *others], np.int64))
    for documents in searcher.score_terms(searcher.score(queries, pools, retrieved)):
        if len(documents) > 1 and documents[0]:
            contests.add(documents)
