"""Search in an archive with a ranker, in this process; resolve, retrieve, select, explain."""

import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain, groupby
from numbers import Integral
from pathlib import Path
from typing import Any, Self, get_args, overload

from askalike import rankers
from askalike.calibration.abstention import NO_RULE, AbstentionRule, AbstentionThreshold
from askalike.calibration.calibration import Calibration, Calibrator, Use
from askalike.core.errors import InputError, SettingsError, UnusableIndexError
from askalike.core.filters import Filter
from askalike.core.hits import TYPED_QUERY_ID, Explain, Explanation, SearchHit
from askalike.core.iteration import check_list, lazy_property
from askalike.core.records import Question
from askalike.core.values import format_count
from askalike.evaluation.tables import ResultTable, ShownAsTable
from askalike.index.engine import ArchiveIndex
from askalike.rankers import DEPTH_FACTOR, Ranker, Searcher, allowed_docs, resolve
from askalike.search.explain import explain_shown, extract_shown_snippet, keep_readable
from askalike.search.interim import missing_vectors, start_encoding, word_ranker
from askalike.search.precedents import Precedent, find_precedents
from askalike.search.readings import has_last_word, read_queries, retrieve_readings
from askalike.search.replies import AnswerMode, Reply, answer_question
from askalike.search.select import ANSWERED_FIRST, Criteria, Selected, lack_hits, select_candidates
from askalike.store import Archive, View
from askalike.store.records import require_tags
from askalike.text.language import mark_languages

MAX_DEPTH_FACTOR = 64
"""Maximum depth, as a multiple of k, of a search whose duplicates leave too few hits."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A typed question and the options of its search. Raises SettingsError for invalid ones."""

    title: str
    body: str = ""
    k: int = 5
    """Maximum number of hits."""
    filter: Filter | None = None
    """The condition that every hit must satisfy."""
    prefix: bool = False
    """Whether the last word may be unfinished."""
    min_probability: float | None = None
    """Minimum probability of hits; None for what the grades show."""
    min_similarity: float | None = None
    """Minimum absolute score of hits; None for what the grades show."""
    explain: Explain = True
    """Whether each hit has an explanation."""

    def __post_init__(self) -> None:
        if not isinstance(self.title, str):
            raise InputError(f"query {self.title!r}: expected a string; for several texts there is search_many")
        if not isinstance(self.k, Integral) or self.k < 1:
            raise SettingsError(f"k must be at least 1, got {self.k!r}; expected a whole number")
        if self.filter is not None and not isinstance(self.filter, Filter):
            raise SettingsError(f"filter={self.filter!r}: expected an askalike.Filter, such as Filter(tags=('card',))")
        for name in ("min_probability", "min_similarity"):
            if (value := getattr(self, name)) is not None and not 0 <= value <= 1:
                raise SettingsError(f"{name} must be between 0 and 1, got {value}")

    @property
    def options(self) -> Hashable:
        """Everything but the texts, and whether there is a body: requests with equal ones are searched as one batch."""
        minima = self.min_probability, self.min_similarity
        return bool(self.body.strip()), self.k, self.filter, self.prefix, *minima, self.explain


@dataclass(frozen=True, slots=True, repr=False)
class SearchResult(Sequence[SearchHit], ShownAsTable):
    """The hits of one request, best first; empty if it abstained because nothing is similar enough."""

    hits: Sequence[SearchHit]
    took_ms: float
    """Duration of the search, together with the others of its batch."""
    remark: str = ""
    """Why words alone answered; empty if the retriever's own ranker did."""

    @property
    def abstained(self) -> bool:
        """Whether there are no hits."""
        return not self.hits

    @overload
    def __getitem__(self, place: int) -> SearchHit: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[SearchHit]: ...
    def __getitem__(self, place: int | slice) -> SearchHit | Sequence[SearchHit]:
        return self.hits[place]

    def __len__(self) -> int:
        return len(self.hits)

    def table(self) -> ResultTable:
        """Return one row per hit: its title, its grade, its probability or else its score from 0 to 1, and its id."""
        remark = f"; {self.remark}" if self.remark else ""
        if not self.hits:
            return ResultTable(f"nothing similar{remark}", (), ())
        measure = "similarity" if self.hits[0].probability is None else "probability"
        rows = [(hit.title, hit.grade or "", f"{getattr(hit, measure):.2f}", hit.id) for hit in self.hits]
        return ResultTable(format_count(len(rows), "hit") + remark, ("question", "grade", measure, "id"), rows)

    def __iter__(self) -> Iterator[SearchHit]:
        return iter(self.hits)


_Query = tuple[Question, SearchRequest]


class _RankerInUse:
    """A ranker with its calibrations and its rule of silence on an archive."""

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self.ranker = ranker
        self.calibrators: Mapping[Use, Calibrator] = {
            use: Calibrator.open(archive, ranker, use) for use in get_args(Use)
        }
        self.abstention = AbstentionThreshold(archive, ranker)


@dataclass
class _Opened:
    """A ranker that was opened on a state of the archive and of its indexes, and what is valid as long as this state.

    used: the ranker. version: see View.data_version. indexes: the ranker's, each with its own searcher in this state.
    are_foreign: whether another process writes the indexes, so that they need not follow the archive. are_behind:
    whether they have not followed it yet, so that the next search looks again. remark: see SearchResult. calibrations:
    those that were needed so far.
    """

    used: _RankerInUse
    searcher: Searcher
    version: tuple[int, int]
    indexes: Sequence[tuple[ArchiveIndex[Any, Any], object]]
    are_foreign: bool
    are_behind: bool
    read_rule: Callable[[], AbstentionRule]
    remark: str
    calibrations: dict[Use, Calibration | None] = field(default_factory=dict)

    @lazy_property
    def abstention(self) -> AbstentionRule:
        """The rule for hits without a calibration."""
        return self.read_rule()

    def is_current(self, version: tuple[int, int]) -> bool:
        """Return whether a search would find the same state. version: the archive's."""
        if self.are_behind or self.version != version:
            return False
        try:
            for index, _ in self.indexes:
                index.refresh(keep=self.are_foreign)
        except UnusableIndexError:
            return False
        return all(index.searcher is known for index, known in self.indexes)


class ArchiveRetriever:
    """Finds similar questions in an archive.

    Changes of the archive are visible to the next search; where a service keeps its index, within a second.
    """

    def __init__(
        self, archive: Archive, ranker: Ranker, view: View | None = None, filter: Filter | None = None,
        answered_first: float = ANSWERED_FIRST, waits: bool = True,
    ) -> None:  # fmt: skip
        """view: the questions to search; by default all current ones.

        filter: a condition on the hits of every search, in addition to the search's own filter. answered_first: see
        `Criteria`. waits: whether a search waits for all vectors of the archive's encoder; else words answer while
        many are missing, which are computed in the background.
        """
        self._answered_first, self._waits = answered_first, waits
        self.archive = archive
        self._own = self._used = _RankerInUse(archive, ranker)
        self._words: _RankerInUse | None = None  # what answers meanwhile
        self.filter = filter or None
        self._view = archive.view() if view is None else view
        self._opened: _Opened | None = None

    @classmethod
    def open(
        cls, path: str | Path, ranker: str | Ranker | None = None, settings: Mapping[str, Any] | None = None,
        engine: str | None = None,
    ) -> Self:  # fmt: skip
        """Open the archive in a directory with the ranker of that name; the active one does not wait for vectors.

        engine: see Archive.open. Raises ArchiveError, SettingsError.
        """
        archive = Archive.open(path, engine)
        return cls(archive, rankers.create(ranker, settings, archive), waits=ranker is not None)

    def __repr__(self) -> str:
        return f"ArchiveRetriever({str(self.archive.path)!r}, {self.ranker.name!r})"

    def close(self) -> None:
        """Close the archive."""
        self.archive.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def ranker(self) -> Ranker:
        """The ranker of the last search: the retriever's own, or the one that answers until it has all vectors."""
        return self._used.ranker

    @property
    def remark(self) -> str:
        """Why words answer for now, see SearchResult."""
        return self._open().remark

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of typed titles that is valid for the archive's current state; None if there is none."""
        return self._used.calibrators["title"].calibration

    @property
    def stale_reason(self) -> str | None:
        """Why the saved calibration is no longer valid; None if it is valid or none was saved."""
        return self._used.calibrators["title"].stale_reason

    @property
    def calibration_advice(self) -> str | None:
        """Advice on a saved calibration that is not used; None if it is used or none was saved."""
        return self._used.calibrators["title"].advice

    def searcher(self) -> Searcher:
        """Return the ranker opened on the current archive, or on the last commit if another process is indexing."""
        return self._open().searcher

    def search(
        self, title: str, k: int = 5, *, body: str = "", filter: Filter | None = None, prefix: bool = False,
        min_probability: float | None = None, min_similarity: float | None = None, explain: Explain = True,
    ) -> SearchResult:  # fmt: skip
        """Return the k questions most similar to the one typed, best first; none if nothing is similar.

        Each hit has a grade: `same` if it probably asks the same, `related` if it has to do with the text; what has not
        is not shown. Without a calibration, grades follow the score, compared with those that everyday questions reach
        on this archive; after `askalike calibrate`, each hit has a probability, which decides. `min_similarity` or
        `min_probability` decides instead of the grades; 0 shows all that the ranker finds. A query of function words
        alone finds nothing. A duplicate is never shown: its original is shown instead, with the duplicate as
        `matched_duplicate`. prefix: the last word may be unfinished.
        explain: each hit has an explanation, and the passage of its body that matched. "full" takes longer: the
        contribution of each word is exact, and function words have theirs, too.
        Raises SettingsError for a tag that no question has, for a `min_probability` outside [0, 1], or if there are no
        probabilities.
        """
        return self.search_batch(
            [SearchRequest(title, body, k, filter, prefix, min_probability, min_similarity, explain)]
        )[0]

    def search_many(
        self, titles: Iterable[str], k: int = 5, *, filter: Filter | None = None, explain: Explain = True
    ) -> list[SearchResult]:
        """Return what `search` returns for each of the titles, in order. They are searched as one batch."""
        titles = check_list("titles", titles)
        return self.search_batch([SearchRequest(title, k=k, filter=filter, explain=explain) for title in titles])

    def search_batch(self, requests: Sequence[SearchRequest]) -> list[SearchResult]:
        """Return the result of each request, all from one state of the archive. See `search` for the options."""
        queries = [(Question(f"{TYPED_QUERY_ID}{n or ''}", r.title, r.body), r) for n, r in enumerate(requests)]
        opened = self._open()
        groups = groupby(queries, lambda query: query[1].options)
        return [result for _, group in groups for result in self._search(opened, list(group))]

    def find_similar(self, question: Question, k: int = 5, *, min_similarity: float | None = None) -> SearchResult:
        """Return the k questions most similar to a question of the archive, excluding itself; otherwise as `search`."""
        request = SearchRequest(question.title, question.body, k, min_similarity=min_similarity)
        return self._search(self._open(), [(question, request)])[0]

    def explain(self, question: Question, ids: Sequence[str], *, exact: bool = False) -> Mapping[str, Explanation]:
        """Return id → why that question would be found for this one, for those of `ids` that exist.

        exact: see rankers.Searcher.explain.
        """
        searcher = self.searcher()
        explanations = rankers.explain_ids(searcher, question, ids, exact=exact)
        texts = (question, *self._view.get_questions(ids).values())
        languages = mark_languages(text.language or searcher.language for text in texts)
        return {id: keep_readable(reason, languages) for id, reason in explanations.items()}

    def answer(
        self, title: str, mode: AnswerMode = "nearest", k: int = 3, *, body: str = "",
        min_probability: float | None = None, sure: float | None = None, model: str | None = None,
    ) -> Reply:  # fmt: skip
        """Return an answer to the typed question, with at most k stored answers.

        nearest: the stored answers of the most similar questions. generate: text written by a model of the archive
        (`model`: which one, if there are several), with the most similar stored answers. auto: nearest if the best
        probability is at least `sure` (0.5), else generate, but no answer below the threshold. Without a calibration
        auto is nearest, with no answer below the archive's similarity threshold.
        Raises ArchiveError if there are no answers; SettingsError for unknown values, or options unused by the mode.
        """
        question = Question(TYPED_QUERY_ID, title, body)
        return answer_question(self, question, mode, k, min_probability=min_probability, sure=sure, model=model)

    def find_precedents(self, title: str, hit: Question, k: int = 2, *, body: str = "") -> Sequence[Precedent]:
        """Return the archived duplicates most similar to the typed question and a hit of it."""
        return find_precedents(self._view, self.searcher(), Question(TYPED_QUERY_ID, title, body), hit, k)

    def _open(self) -> _Opened:
        """Open the ranker, unless it is open on the current state."""
        version, opened = self._view.data_version, self._opened  # another thread may replace it
        if opened and opened.is_current(version):
            return opened
        used, remark = self._choose()
        rankers.follow(used.ranker, self._view)
        change = self._view.change
        indexes = [(index, index.searcher) for index in used.ranker.indexes(self._view)]
        self._opened = opened = _Opened(
            used,
            used.ranker.open(self._view),
            version,
            indexes,
            are_foreign=not change,
            are_behind=bool(remark) or any(index.change < change for index, _ in indexes),
            read_rule=partial(used.abstention.current_rule, self._view),
            remark=remark,
        )
        self._used = used
        return opened

    def _choose(self) -> tuple[_RankerInUse, str]:
        """Return the ranker to search with now, and why it is not the retriever's own."""
        missing = None if self._waits else missing_vectors(self.archive, self._own.ranker)
        if not missing:
            return self._own, ""
        progress = start_encoding(self.archive, missing).describe()
        self._words = self._words or _RankerInUse(self.archive, word_ranker(self.archive))
        return self._words, f"words answer until the vectors of {missing.encoder} are complete: {progress}"

    def _search(self, opened: _Opened, queries: Sequence[_Query]) -> list[SearchResult]:
        """Search requests that differ only in their texts as one batch: titles, or whole questions."""
        started = time.perf_counter()
        request = queries[0][1]
        filter = self.filter & request.filter if self.filter and request.filter else request.filter or self.filter
        if filter:
            require_tags(self._view, filter.tags)
        use: Use = "question" if request.body.strip() else "title"
        searcher = opened.searcher
        calibrator = opened.used.calibrators[use]
        if use not in opened.calibrations:
            opened.calibrations[use] = calibrator.calibration
        calibration = opened.calibrations[use]
        if request.min_probability is not None:
            calibrator.check_minimum(request.min_probability)
        depth = calibration.retrieval_depth(request.k) if calibration else request.k
        read = read_queries(searcher, [question for question, _ in queries])
        owners = [n for n, own in enumerate(read) for _ in own]
        readings = {str(n): one for n, one in enumerate(chain.from_iterable(read))}
        ends = zip(readings.items(), owners, strict=True)
        typed = {n for (n, one), owner in ends if request.prefix and has_last_word(one, queries[owner][0])}
        resolved = resolve(searcher, readings, typed)
        allowed = allowed_docs(self._view, filter)
        retrieved = retrieve_readings(searcher, resolved, owners, depth, allowed)
        has_minimum = request.min_similarity is not None or request.min_probability is not None
        rule = (opened.used.abstention.known_rule or NO_RULE) if has_minimum else opened.abstention
        criteria = Criteria(
            request.k, filter, rule.limits(retrieved),
            calibrator if calibration else None, calibration.likely_from if calibration else None,
            calibration.threshold.probability if calibration and calibration.threshold else 0.0,
            request.min_similarity, request.min_probability, self._answered_first,
        )  # fmt: skip
        while True:
            rows = select_candidates(self._view, searcher.language, retrieved, criteria)
            if not lack_hits(rows, retrieved, request.k, depth) or depth >= MAX_DEPTH_FACTOR * request.k:
                break
            depth *= DEPTH_FACTOR
            retrieved = retrieve_readings(searcher, resolved, owners, depth, allowed)
        is_full = request.explain == "full"
        reasons = explain_shown(searcher, retrieved, rows, exact=is_full) if request.explain else [{} for _ in rows]
        first_rows = list(accumulate(map(len, read), initial=0))[:-1]
        hits = [[_make_hit(one, reasons[n].get(one.docid)) for one in rows[n] if one.is_shown] for n in first_rows]
        took_ms = (time.perf_counter() - started) * 1000
        return [SearchResult(row, took_ms, opened.remark) for row in hits]


def load(
    path: str | Path, ranker: str | Ranker | None = None, *, engine: str | None = None, **settings: Any
) -> ArchiveRetriever:
    """Return the retriever of the archive in a directory: `load("riverside").search("my card is lost")`.

    ranker: or its name; None for the one that `tune` or `promote` chose. Without one, words answer while many vectors
    of the archive's encoder are missing, and each result says so in its `remark`. engine: the address of the engine
    that holds the indexes, `NAME+URL`; None if they are in the directory. settings: the ranker's settings.
    Raises ArchiveError if there is no archive, SettingsError for an unknown ranker or setting, EngineError if the
    engine cannot be reached.
    """
    return ArchiveRetriever.open(path, ranker, settings, engine)


def _make_hit(candidate: Selected, reason: Explanation | None) -> SearchHit:
    question, matched = candidate.question, candidate.matched
    return SearchHit(
        question,
        candidate.score,
        extract_shown_snippet(matched, reason) if reason else "",
        candidate.probability,
        reason,
        min(max(candidate.absolute, 0.0), 1.0) if candidate.probability is None else None,
        matched if matched is not question else None,
        candidate.duplicate_of,
        candidate.grade,
        candidate.language,
    )
