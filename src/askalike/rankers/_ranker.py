"""Rankers, their searchers (a ranker opened at one point in time), and single searches.

Ids are converted to docids in queries, and back to ids in results; everything in between uses docids.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from askalike.core.errors import SettingsError
from askalike.core.filters import Filter
from askalike.core.lazy import lazy_property
from askalike.core.types import AllowedDocs, Contribution, Explanation, Progress, Question, Run, TopDocs, Vectors
from askalike.index.commits import remove_index
from askalike.index.engine import ArchiveIndex
from askalike.index.rows import find_distinct
from askalike.labels.learned import LearnedLabels
from askalike.rankers._queries import ResolvedQuery, resolve_queries
from askalike.store import TrainingView, View

Scores = NDArray[np.float64]
Docids = NDArray[np.int64]
Texts = Mapping[int, Question]
Explanations = dict[int, Explanation]
"""Docid → why that document has its score."""
Candidates = Mapping[str, Sequence[str]]
"""Query id → the ids of the documents to rank for it."""
DEPTH_FACTOR = 4
"""Factor by which the depth of a search is increased if too few hits remain."""


def candidates_needed(name: str) -> SettingsError:
    """Return the error for a ranker that needs candidates but got none."""
    return SettingsError(
        f"{name} ranks given candidates only; name some, or let another ranker propose them: "
        f"--ranker cascade --set parts=lm_jelinek_mercer,{name}"
    )


class Ranker(ABC):
    """Settings and learned parameters. A ranker holds no archive: `build` writes its index of one, `open` reads it."""

    name: str
    """The name by which it was requested."""

    @classmethod
    @abstractmethod
    def from_settings(cls, name: str, values: Mapping[str, Any], archive: Path | None = None) -> "Ranker":
        """Return the ranker of that name with these settings. Raises SettingsError with all invalid settings.

        archive: the directory of the archive whose `models/` contain trained rankers.
        """

    @property
    @abstractmethod
    def values(self) -> Mapping[str, Any]:
        """All its settings, including defaults: `rankers.create(name, values)` returns an equal ranker."""

    @property
    def fingerprint(self) -> str:
        """A digest of its learned parameters; empty for a ranker without any."""
        return ""

    @property
    def trained_until(self) -> str | None:
        """The ISO date of the newest text or link in its training data; None if untrained.

        A replay rejects a ranker whose training data is newer than the query.
        """
        return None

    @property
    def lexical_weight(self) -> float | None:
        """Weight of the lexical ranker in a hybrid with this one, whose weight is 1; None for a lexical ranker."""
        return None

    @property
    def needs_candidates(self) -> bool:
        """Whether it only ranks given documents, and cannot retrieve."""
        return False

    def require_candidates(self, candidates: Candidates | None) -> None:
        """Raise SettingsError if it needs candidates and there are none."""
        if self.needs_candidates and candidates is None:
            raise candidates_needed(self.name)

    @property
    def learned_labels(self) -> LearnedLabels:
        """The labels in its training data, on which it must not be evaluated."""
        return LearnedLabels()

    def fit(self, view: TrainingView) -> "Ranker":
        """Return a ranker trained on the view's texts and links; itself if there is nothing to learn.

        The view must not contain held-out evaluation data, see `Archive.training_view`.
        """
        return self

    def build(self, view: View, progress: Progress | None = None) -> None:  # noqa: B027 (not every ranker has an index)
        """Write the view's index, or apply the changes of the archive since it was written.

        Raises IndexBusyError if another process is writing it.
        """

    def follow(self, view: View) -> None:
        """Apply changes to the view's index before a search, unless that is slow and `open` does not need it.

        Raises IndexBusyError if another process is writing it.
        """
        self.build(view)

    @abstractmethod
    def open(self, view: View) -> "Searcher":
        """Open the view's index as last committed."""

    def index_paths(self, view: View) -> Sequence[Path]:
        """Return the directories of its indexes of a view; empty if it has none, or only in an engine."""
        return ()

    def start_rebuild(self, view: View) -> None:
        """Make the next `build` write the view's indexes from scratch.

        Raises IndexBusyError if another process is writing one, SearchIndexError if one cannot be removed.
        """
        for path in self.index_paths(view):
            remove_index(path)

    def indexes(self, view: View, *, refresh: bool = True) -> Sequence[ArchiveIndex[Any, Any]]:
        """Return its indexes of a view; empty for a ranker without one.

        refresh: read their last commits, which raises SearchIndexError for an index of another version; without it,
        nothing new is read.
        """
        return ()


@runtime_checkable
class Tunable(Protocol):
    """A ranker that declares the values of its settings to try when tuning, defaults first."""

    @property
    def grids(self) -> Sequence[Mapping[str, Sequence[Any]]]:
        """Return grids of setting → values, to be searched one after the other."""


class Searcher(ABC):
    """A ranker at one point in time: the index as it was committed when `Ranker.open` was called."""

    def __init__(self, name: str, view: View) -> None:
        self.name = name
        self.view = view

    def resolve(self, queries: Mapping[str, Question], prefix: bool) -> list[ResolvedQuery]:
        """Return each query with what it must not find, and with spelling corrected. prefix: see `prepare`."""
        return self.correct(resolve_queries(self.view, queries), prefix)

    def correct(self, queries: list[ResolvedQuery], prefix: bool) -> list[ResolvedQuery]:
        """Return the queries with misspelt words corrected; by default unchanged."""
        return queries

    def finish(self, queries: list[ResolvedQuery]) -> list[ResolvedQuery]:
        """Return the queries with their unfinished words completed; by default unchanged."""
        return queries

    @abstractmethod
    def prepare(self, queries: Sequence[ResolvedQuery], prefix: bool) -> Any:
        """Return a batch of queries prepared for the other methods. prefix: the last word of each may be unfinished."""

    @abstractmethod
    def retrieve(self, prepared: Any, k: int, allowed: AllowedDocs | None) -> Sequence[TopDocs]:
        """Return the k best documents of each query, ties by docid. allowed: those that may be found; None for all."""

    @abstractmethod
    def score(self, prepared: Any, candidates: Sequence[Docids]) -> list[Scores]:
        """Return the scores of each query's candidates, retrieved or not; NaN for one without a score."""

    @abstractmethod
    def explain(self, prepared: Any, row: int, docids: Docids, texts: Texts) -> Explanations:
        """Return docid → why that document has its score for query number `row`. texts: the documents."""

    def score_pools(self, prepared: Any, retrieved: Sequence[TopDocs], pools: Sequence[Docids]) -> list[Scores]:
        """Return the scores of each query's pool: ascending docids, including those retrieved for it."""
        places = [np.searchsorted(pool, top.docids) for pool, top in zip(pools, retrieved, strict=True)]
        missing = [np.ones(len(pool), np.bool_) for pool in pools]
        for mask, at in zip(missing, places, strict=True):
            mask[at] = False
        fresh = self.score(prepared, [pool[mask] for pool, mask in zip(pools, missing, strict=True)])
        scores = [np.empty(len(pool)) for pool in pools]
        for own, at, mask, top, more in zip(scores, places, missing, retrieved, fresh, strict=True):
            own[at] = top.scores
            own[mask] = more
        return scores

    def absolute_scores(self, prepared: Any, topdocs: Sequence[TopDocs]) -> list[Scores]:
        """Return the scores of some documents on a scale shared by all queries; 1: the same text."""
        return [top.scores for top in topdocs]

    def query_vectors(self, prepared: Any) -> Vectors | None:
        """Return the vectors of the queries; None for a ranker without an encoder."""
        return None

    @property
    def has_similarity(self) -> bool:
        """Whether a score is a similarity of two texts, independent of the other hits, as a cosine is."""
        return False

    def similarities(self, prepared: Any, topdocs: Sequence[TopDocs]) -> list[Scores] | None:
        """Return the similarities of each query and its documents, independent of other hits; None if unknown."""
        return [top.scores for top in topdocs] if self.has_similarity else None

    def search(
        self, queries: Mapping[str, Question], k: int, *, candidates: Candidates | None = None,
        filter: Filter | None = None, prefix: bool = False,
    ) -> "SearchSession":  # fmt: skip
        """Retrieve the k best documents of each query; see `rank` for the arguments."""
        return SearchSession(self, queries, k, candidates, filter, prefix)

    def rank(
        self, queries: Mapping[str, Question], k: int, *, candidates: Candidates | None = None,
        filter: Filter | None = None, prefix: bool = False,
    ) -> Run:  # fmt: skip
        """Return the k best documents of each query: best first, ties in archive order, only documents that match.

        candidates: query id → the ids to rank for it. All of them are then ranked, ties in the given order.
        filter: only documents that satisfy it are retrieved, and still k of them if possible.
        prefix: the last word of each query may be unfinished.
        queries: query id → question. A query with the id of an archive's question is that question, and finds neither
        itself nor its rephrasings; one with the id of a rephrasing (`QUESTION#2`) finds its question by its other
        phrasings. `identify_queries` gives queries from elsewhere ids that no question has.
        """
        return self.search(queries, k, candidates=candidates, filter=filter, prefix=prefix).run

    def explain_ids(self, query: Question, ids: Sequence[str], *, prefix: bool = False) -> Mapping[str, Explanation]:
        """Return id → why that document has its score for the query, for those of `ids` that are in the view."""
        docids = self.view.docids(ids)
        session = self.search({query.id: query}, len(docids), candidates={}, prefix=prefix)
        reasons = session.explain(0, list(docids.values()))
        return {id: reasons[docid] for id, docid in docids.items() if docid in reasons}


class SearchSession:
    """One search: queries with the retrieved documents. Texts and similarities are read on first access."""

    def __init__(
        self, searcher: Searcher, queries: Mapping[str, Question], k: int, candidates: Candidates | None = None,
        filter: Filter | None = None, prefix: bool = False, prepared: Any = None,
    ) -> None:  # fmt: skip
        """See Searcher.rank for the arguments. prepared: an earlier result of `searcher.prepare` for these queries."""
        self._searcher = searcher
        self.query_ids = list(queries)
        self.queries = searcher.resolve(queries, prefix)
        self._prepared = searcher.prepare(self.queries, prefix) if prepared is None else prepared
        if candidates is None:
            allowed = _allowed_docs(searcher.view, filter) if filter else None
            self.topdocs = searcher.retrieve(self._prepared, k, allowed)
        else:
            self.topdocs = self._rerank(k, candidates, filter)

    @property
    def view(self) -> View:
        """The view that is searched."""
        return self._searcher.view

    @lazy_property
    def run(self) -> Run:
        """The retrieved documents by ids, without those deleted since."""
        if "texts" in self.__dict__:
            ids: Mapping[int, str] = {docid: question.id for docid, question in self.texts.items()}
        else:
            ids = self._searcher.view.ids(self._docids)
        columns = {}
        for query_id, top in zip(self.query_ids, self.topdocs, strict=True):
            present = [docid in ids for docid in top.docids.tolist()]
            columns[query_id] = [ids[docid] for docid in top.docids[present].tolist()], top.scores[present]
        return Run(columns)

    @lazy_property
    def texts(self) -> Mapping[int, Question]:
        """Docid → question, for all retrieved documents that still exist."""
        return self._searcher.view.questions_by_docid(self._docids)

    @lazy_property
    def similarities(self) -> Sequence[Scores] | None:
        """Similarities of each query and its documents; see `Searcher.similarities`."""
        return self._searcher.similarities(self._prepared, self.topdocs)

    @lazy_property
    def absolute_scores(self) -> Sequence[Scores]:
        """The absolute score of each retrieved document; see `Searcher.absolute_scores`."""
        return self._searcher.absolute_scores(self._prepared, self.topdocs)

    @lazy_property
    def query_vectors(self) -> Vectors | None:
        """The vectors of the queries; see `Searcher.query_vectors`."""
        return self._searcher.query_vectors(self._prepared)

    def explain(self, row: int, docids: Sequence[int]) -> Mapping[int, Explanation]:
        """Return docid → why that document has its score for query number `row`."""
        if self._searcher.view.kind == "answers":
            return {}
        known = self.texts
        if more := [docid for docid in docids if docid not in known]:
            known = {**known, **self._searcher.view.questions_by_docid(more)}
        wanted = [docid for docid in docids if docid in known]
        if not wanted:
            return {}
        reasons = self._searcher.explain(self._prepared, row, np.array(wanted, np.int64), known)
        corrections = self.queries[row].corrections
        return {n: _show_typed_words(reason, corrections) for n, reason in reasons.items()} if corrections else reasons

    @lazy_property
    def _docids(self) -> Sequence[int]:
        every = [top.docids for top in self.topdocs]
        return [int(docid) for docid in find_distinct(np.concatenate(every))] if every else []

    def _rerank(self, k: int, candidates: Candidates, filter: Filter | None) -> list[TopDocs]:
        view = self._searcher.view
        docids = view.docids({id for q in self.query_ids for id in candidates.get(q, ())})
        if filter:
            allowed = set(view.filtered_docids(filter).tolist())
            docids = {id: docid for id, docid in docids.items() if docid in allowed}
        pools = [_pool(candidates.get(q, ()), docids, r) for q, r in zip(self.query_ids, self.queries, strict=True)]
        scores = self._searcher.score(self._prepared, pools) if pools else []
        return [_rank_pool(pool, own, k) for pool, own in zip(pools, scores, strict=True)]


def _allowed_docs(view: View, filter: Filter) -> AllowedDocs:
    """Return the documents that satisfy a filter. An index can only apply it to questions, not to answers."""
    return AllowedDocs(lambda: view.filtered_docids(filter), filter if view.kind == "questions" else None)


def _show_typed_words(explanation: Explanation, corrections: Mapping[str, str]) -> Explanation:
    """Return the explanation with `typed → corrected` in place of each corrected word."""
    shown = {corrected.lower(): f"{typed} → {corrected}" for typed, corrected in corrections.items()}
    rows = []
    for row in explanation.contributions:
        word, near, other = row.word.partition(" ≈ ")
        typed = shown.get(word.lower())
        rows.append(Contribution(f"{typed}{near}{other}", row.fields, row.score) if typed else row)
    return replace(explanation, contributions=tuple(rows))


def top_k(docids: Docids, scores: Scores, k: int) -> TopDocs:
    """Return the k best documents, ties by docid; those whose score is NaN are left out."""
    scored = ~np.isnan(scores)
    docids, scores = docids[scored], scores[scored]
    order = np.lexsort((docids, -scores))[:k]
    return TopDocs(docids[order], scores[order])


def _pool(candidates: Iterable[str], docids: Mapping[str, int], query: ResolvedQuery) -> Docids:
    """Return the distinct candidates that are in the archive, without the query itself."""
    own = query.excluded_docid if query.excluded_phrasing < 0 else -1
    pool = [docids[id] for id in dict.fromkeys(candidates) if docids.get(id, own) != own]
    return np.array(pool, np.int64)


def _rank_pool(docids: Docids, scores: Scores, k: int) -> TopDocs:
    """Return the k best candidates, ties in the given order; a missing score becomes the pool's minimum, at most 0."""
    scored = scores[~np.isnan(scores)]
    scores = np.where(np.isnan(scores), scored.min(initial=0.0), scores)
    order = np.argsort(-scores, kind="stable")[:k]
    return TopDocs(docids[order], scores[order])
