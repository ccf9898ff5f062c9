"""A backtest: what comments on the latest questions would have been made, each searched among the older ones."""

import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from itertools import groupby
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

import numpy as np

from askalike import (
    Archive,
    ArchiveError,
    ArchiveRetriever,
    Progress,
    Question,
    Ranker,
    SearchHit,
    SearchRequest,
    SettingsError,
    calibrate,
)
from askalike.plugin.commands import format_count
from askalike.plugin.features import plain_text
from askalike.plugin.measuring import (
    ArchiveState,
    BinomialProportion,
    Calibration,
    PointInTimeArchive,
    require_shares,
)
from askalike.plugin.training import Clusters
from askalike_research.replay.judging import Judged, RightEstimate, estimate_right
from askalike_research.replay.replay import WORDING_REMARK, check_trained_before

DEFAULT_LAST = 500
MAX_SUGGESTIONS = 3
COMMENTED_SHARES = (0.1, 0.05, 0.02)
"""Shares of the questions that would get a comment at the three thresholds, if none are given."""
MAX_EXAMPLES = 10
VECTORS_FOLDER = Path("index", "encoded")
Scale = Literal["probability", "similarity"]
Kind = Literal["right", "unconfirmed", "missed"]


class Suggestion(NamedTuple):
    """An older question that a comment would name.

    is_same: whether its grade says that it asks the same. is_right: whether the labels say so.
    """

    question: Question
    score: float
    is_same: bool
    is_right: bool


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of the window, with the older questions found for it, best first.

    was_asked_before: whether its duplicate cluster holds an older question. took_ms: the duration of its search.
    """

    question: Question
    suggestions: Sequence[Suggestion]
    was_asked_before: bool
    took_ms: float

    def kind(self, threshold: float | None) -> Kind | None:
        """Return what a bot would have done: a right or an unconfirmed comment, or miss a duplicate; else None.

        threshold: the minimum score of a suggestion; None for the grade `same`.
        """
        shown = [each for each in self.suggestions if (each.is_same if threshold is None else each.score >= threshold)]
        if any(suggestion.is_right for suggestion in shown):
            return "right"
        return "unconfirmed" if shown else "missed" if self.was_asked_before else None


@dataclass(frozen=True, slots=True)
class ThresholdOutcome:
    """The comments of a bot at a threshold, None for those by grade, and the duplicates that it misses.

    right: of its comments, those that name the original, or a question of its cluster, according to the archive's
    labels. found: of the questions asked before, those with such a comment. estimate: of its comments, those that are
    right according to the labels or to the judgements of a sample; None without judgements.
    """

    threshold: float | None
    right: BinomialProportion
    found: BinomialProportion
    estimate: RightEstimate | None = None

    @property
    def comments(self) -> int:
        """The number of questions with a comment."""
        return self.right.n

    @property
    def missed(self) -> int:
        """The number of questions asked before whose original no comment names."""
        return self.found.n - self.found.count

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON."""
        return {
            "threshold": self.threshold,
            "comments": self.comments,
            "right": self.right.as_dict(),
            "found": self.found.as_dict(),
            "missed": self.missed,
            "estimate": self.estimate.as_dict() if self.estimate else None,
        }


@dataclass(frozen=True)
class Backtest:
    """A ranker's suggestions for the questions of a window, and what they amount to at some thresholds.

    older: the number of questions before the window. prevalence: the share of older questions that are duplicates, to
    which probabilities are adjusted; None for similarities. guaranteed: the threshold that a calibration on older
    questions chose for a precision or a guarantee; None if none was requested or reached. judged: a person's judgements
    of a sample of comments, by question.
    """

    archive: Path
    ranker: str
    older: int
    questions: Sequence[AskedQuestion]
    prevalence: float | None
    thresholds: Sequence[float]
    precision: float | None = None
    guarantee: float | None = None
    guaranteed: float | None = None
    judged: Mapping[str, Judged] = field(default_factory=dict)

    @cached_property
    def outcomes(self) -> Sequence[ThresholdOutcome]:
        """The outcome at each threshold, the lowest first."""
        return [self._outcome(threshold) for threshold in self.thresholds]

    @cached_property
    def same(self) -> ThresholdOutcome:
        """The outcome of comments on what is graded the same, as bots do without a threshold."""
        return self._outcome(None)

    @property
    def scale(self) -> Scale:
        """The scale of the scores."""
        return "similarity" if self.prevalence is None else "probability"

    @property
    def asked_before(self) -> int:
        """The number of questions whose duplicate cluster holds an older question."""
        return sum(asked.was_asked_before for asked in self.questions)

    @property
    def median_ms(self) -> float:
        """The median duration of a search."""
        return median(asked.took_ms for asked in self.questions)

    @property
    def period(self) -> tuple[str, str]:
        """The days of the first and the last question."""
        first, last = (str(self.questions[place].question.created_at)[:10] for place in (0, -1))
        return first, last

    def examples(self, kind: Kind, limit: int = MAX_EXAMPLES) -> Sequence[AskedQuestion]:
        """Return the latest questions of a kind at the middle threshold, latest first."""
        middle = self.thresholds[len(self.thresholds) // 2]
        found = (asked for asked in reversed(self.questions) if asked.kind(middle) == kind)
        return [asked for asked, _ in zip(found, range(limit), strict=False)]

    def as_dict(self) -> dict[str, Any]:
        """Return everything except texts, for JSON."""
        first, last = self.period
        return {
            "archive": str(self.archive),
            "ranker": self.ranker,
            "older": self.older,
            "questions": len(self.questions),
            "first": first,
            "last": last,
            "asked_before": self.asked_before,
            "scale": self.scale,
            "prevalence": self.prevalence,
            "precision": self.precision,
            "guarantee": self.guarantee,
            "guaranteed": self.guaranteed,
            "median_ms": round(self.median_ms, 2),
            "remark": WORDING_REMARK,
            "same": self.same.as_dict(),
            "thresholds": [outcome.as_dict() for outcome in self.outcomes],
            "asked": [_asked_dict(asked) for asked in self.questions],
        }

    def _outcome(self, threshold: float | None) -> ThresholdOutcome:
        asked_by_kind: dict[Kind | None, list[AskedQuestion]] = defaultdict(list)
        for asked in self.questions:
            asked_by_kind[asked.kind(threshold)].append(asked)
        right, unconfirmed = asked_by_kind["right"], asked_by_kind["unconfirmed"]
        estimate = None
        if self.judged and threshold is not None:
            comments = [(asked.question.id, [each.score for each in asked.suggestions]) for asked in unconfirmed]
            estimate = estimate_right(len(right), comments, self.judged, threshold, self.thresholds)
        found = BinomialProportion(sum(asked.was_asked_before for asked in right), self.asked_before)
        return ThresholdOutcome(
            threshold, BinomialProportion(len(right), len(right) + len(unconfirmed)), found, estimate
        )


def backtest(
    archive: Archive,
    ranker: Ranker,
    *,
    last: int = DEFAULT_LAST,
    weeks: int | None = None,
    k: int = MAX_SUGGESTIONS,
    thresholds: Sequence[float] = (),
    precision: float | None = None,
    guarantee: float | None = None,
    calibrates: bool = True,
    judged: Mapping[str, Judged] | None = None,
    progress: Progress | None = None,
) -> Backtest:
    """Search each of the latest questions, in the order in which they came, among those asked before it.

    Everything is of that moment, as in a replay: the texts searched, their statistics, the known duplicates, and what
    the ranker has learned. If the archive's older labels suffice, the ranker is calibrated on them, and again each time
    that a tenth of the questions has changed; scores are then probabilities, else similarities. If a later calibration
    is refused, that before it stays in use.

    last: the number of questions. weeks: the weeks before the latest question, instead of `last`. k: the suggestions
    of a comment. thresholds: by default those at which COMMENTED_SHARES of the questions get a comment. precision,
    guarantee: also measure the threshold that a calibration before the window chooses for it; see `calibrate`.
    calibrates: False for what an archive without labels would have got.
    Raises ArchiveError if the questions have no dates, or there are none before the window; SettingsError for a ranker
    that has learned from later data, or as `calibrate` for a precision or guarantee.
    """
    require_shares(precision, guarantee)
    window, older = select_window(archive, last, weeks)
    clusters = Clusters.read(archive)
    asked_before = _first_askings(archive, clusters)
    with (
        TemporaryDirectory(prefix="askalike-backtest-") as folder,
        PointInTimeArchive(archive, Path(folder) / "archive") as past,
    ):
        _copy_vectors(archive.path, past.archive.path)
        past.advance_to(str(window[0].created_at))
        fitted = ranker.fit(past.archive.training_view(()))  # the measured labels do not exist yet
        targets = (precision, guarantee) if calibrates else None
        retriever = _PastRetriever(past.archive, check_trained_before(fitted, window[0]), k, targets)
        questions: list[AskedQuestion] = []
        for moment, group in groupby(window, key=lambda question: str(question.created_at)):
            past.advance_to(moment)
            for question, hits, took_ms in retriever.search(list(group)):
                cluster = clusters.cluster_of(question.id)
                suggestions = [
                    Suggestion(hit.question, score, hit.grade == "same", clusters.cluster_of(hit.id) == cluster)
                    for hit, score in hits
                ]
                was_asked_before = asked_before.get(cluster, moment) < moment
                questions.append(AskedQuestion(question, suggestions, was_asked_before, took_ms))
            if progress:
                progress(len(questions), len(window))
    chosen = set(thresholds or _usual_thresholds(questions))
    chosen |= set() if retriever.guaranteed is None else {retriever.guaranteed}
    return Backtest(
        archive.path, ranker.label, older, questions, retriever.prevalence, sorted(chosen), precision, guarantee,
        retriever.guaranteed, judged or {},
    )  # fmt: skip


def select_window(archive: Archive, last: int, weeks: int | None) -> tuple[Sequence[Question], int]:
    """Return the questions to ask, by ascending date, and the number of older ones. Raises ArchiveError."""
    dates = sorted((str(q.created_at), q.id) for _, q in archive.view().questions() if q.created_at)
    if not dates:
        raise ArchiveError(f"{archive.path}: no question has a date, by which a backtest goes; import them with dates")
    if weeks is None:
        start = max(0, len(dates) - last)
    else:
        since = (datetime.fromisoformat(dates[-1][0]) - timedelta(weeks=weeks)).isoformat()
        start = next(place for place, (date, _) in enumerate(dates) if date >= since)
    start += next((n for n, (date, _) in enumerate(dates[start:]) if date > dates[0][0]), len(dates))
    if start >= len(dates):
        raise ArchiveError(f"{archive.path}: all {format_count(len(dates), 'question')} are of the same moment")
    asked = archive.view().get_questions(id for _, id in dates[start:])
    return [asked[id] for _, id in dates[start:]], start


class _PastRetriever:
    """Searches the past archive as it grows, and calibrates its ranker whenever there is no valid calibration.

    targets: of the calibration, a precision and a guarantee; None for no calibration.
    """

    def __init__(
        self, archive: Archive, ranker: Ranker, k: int, targets: tuple[float | None, float | None] | None
    ) -> None:
        self._archive, self._ranker, self._k, self._targets = archive, ranker, k, targets
        self.guaranteed: float | None = None
        self.prevalence: float | None = None
        self._calibration: Calibration | None = None
        self._calibrate()
        self._retriever = ArchiveRetriever(archive, ranker)

    def search(self, questions: Sequence[Question]) -> Iterator[tuple[Question, list[tuple[SearchHit, float]], float]]:
        """Yield each question with its hits and their scores, and the milliseconds of its search."""
        if self._retriever.stale_reason:
            self._calibrate()
            self._retriever = ArchiveRetriever(self._archive, self._ranker)
        minimum = {"min_probability" if self._is_calibrated else "min_similarity": 0.0}
        self._retriever.search(questions[0].title)  # applies the changes and finds the limits of grades, untimed
        asked = [(q.title, plain_text(q.body, q.markup, links="keep")) for q in questions]  # as bots ask
        requests = [SearchRequest(title, body, self._k, explain=False, **minimum) for title, body in asked]  # type: ignore[arg-type]
        for question, result in zip(questions, self._retriever.search_batch(requests), strict=True):
            yield question, [(hit, self._score(hit)) for hit in result], result.took_ms / len(questions)

    def _score(self, hit: SearchHit) -> float:
        return float((hit.probability if self._is_calibrated else hit.similarity) or 0.0)

    @property
    def _is_calibrated(self) -> bool:
        return self.prevalence is not None

    def _calibrate(self) -> None:
        """Calibrate on all duplicate links of the past, if they suffice; what is refused leaves the one before."""
        if self._targets is None:
            return
        precision, guarantee = self._targets
        view = self._archive.view()
        prevalence = len({link.source for link in view.links()}) / max(len(view), 1)
        found: Calibration | None = None
        with suppress(ArchiveError, SettingsError):
            found = calibrate(
                self._archive, self._ranker, "duplicates", precision=precision, guarantee=guarantee,
                prevalence=prevalence or 1.0,
            ).calibration  # fmt: skip
        if found and found.is_sure:
            self._calibration = found
            self.prevalence = prevalence if self.prevalence is None else self.prevalence
            if self.guaranteed is None and found.threshold:
                self.guaranteed = found.threshold.probability
        elif self._calibration:
            self._calibration = self._calibration.model_copy(update={"state": ArchiveState.from_view(view)})
        if self._calibration:
            self._calibration.save(self._archive.path)


def _copy_vectors(archive: Path, past: Path) -> None:
    """Copy the vectors that encoders have computed, which depend on the texts alone."""
    if (archive / VECTORS_FOLDER).is_dir():
        shutil.copytree(archive / VECTORS_FOLDER, past / VECTORS_FOLDER)


def _first_askings(archive: Archive, clusters: Clusters) -> Mapping[str, str]:
    """Return the name of each duplicate cluster, with the date of its oldest question."""
    names = clusters.visible_names
    dates: dict[str, str] = {}
    for id, question in archive.view().get_questions(names).items():
        if question.created_at:
            dates[names[id]] = min(dates.get(names[id], question.created_at), question.created_at)
    return dates


def _usual_thresholds(questions: Sequence[AskedQuestion]) -> list[float]:
    """Return the scores, to two significant digits, that COMMENTED_SHARES of the best hits reach."""
    best = [max((each.score for each in asked.suggestions), default=0.0) for asked in questions]
    quantiles = np.quantile(best, [1 - share for share in COMMENTED_SHARES])
    return [max(0.001, float(f"{value:.2g}")) for value in quantiles]


def _asked_dict(asked: AskedQuestion) -> dict[str, Any]:
    suggestions = [{"id": s.question.id, "score": round(s.score, 4), "right": s.is_right} for s in asked.suggestions]
    return {"id": asked.question.id, "asked_before": asked.was_asked_before, "suggestions": suggestions}
