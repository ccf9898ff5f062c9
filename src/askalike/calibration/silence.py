"""Silence without labels: from which absolute score on a hit is shown where no calibration has a threshold.

A threshold is what nearly all everyday questions that have nothing to do with the archive stay below. 1,000 of them
come with askalike, in five languages (`off_topic.tsv`, written for this, CC0). It is not a probability.
"""

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from pydantic import ValidationError

from askalike.calibration.calibration import FOLDER, ArchiveState, fingerprint, load_calibration, settings_json
from askalike.calibration.curves import Floats
from askalike.config import Settings
from askalike.files import write_atomically
from askalike.rankers import Ranker, Searcher
from askalike.store import Archive, View
from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.text.language import detect_language
from askalike.types import Question

QUESTIONS_FILE = "off_topic.tsv"
SILENT_SHARES = (0.95, 0.99)
"""The share of off-topic questions that get nothing: at least, and where the archive's own questions allow it."""
OWN_SILENT_SHARE = 0.15
"""The share of the archive's own questions that may get nothing, where more off-topic ones would."""
OWN_QUESTIONS = 200
"""So many of the archive's own questions are searched for, each without itself."""
MIN_CHARACTERS = 2
"""Shorter texts are not questions."""
OTHER_LANGUAGES = ""
"""The key of the threshold for queries in a language that has none of its own."""

Thresholds = Mapping[str, float]
"""Language → the absolute score below which no hit is shown."""


class Silence(Settings):
    """The thresholds of an archive, and what they hold for."""

    thresholds: dict[str, float]
    state: ArchiveState
    fingerprint: str = ""


class SilenceThreshold:
    """The thresholds of a ranker on an archive: found when it is indexed, and saved beside the calibrations."""

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self._view, self._ranker = archive.view(), ranker
        digest = hashlib.sha256(settings_json(ranker.values).encode()).hexdigest()[:12]
        self._path = archive.path / FOLDER / f"{ranker.name}-{digest}.silence.json"
        self._thresholds: Thresholds | None = None  # that hold

    def prepare(self, view: View) -> Thresholds:
        """Return the thresholds: those that were saved, if they still hold, else newly found ones, which are saved.

        Those found while another process commits an index are not saved: not all indexes may have been searched.
        `view`: the archive, as the ranker is opened on it.
        """
        if saved := self.saved_thresholds:
            self._thresholds = saved
            return saved
        changes = self._indexed_changes()
        thresholds = find_thresholds(self._ranker.open(view))
        if all(changes) and changes == self._indexed_changes():
            self._save(thresholds)
            self._thresholds = thresholds
        return thresholds

    def similarity(self, view: View, text: str) -> float:
        """Return the absolute score below which no hit is shown for a text. `view`: see `prepare`."""
        return choose_threshold(self._thresholds or self.prepare(view), text)

    @property
    def saved_thresholds(self) -> Thresholds | None:
        """The thresholds that were saved; None where there are none, or the archive or the ranker has changed."""
        try:
            saved = Silence.model_validate_json(self._path.read_text(encoding="utf-8"))
        except (OSError, ValidationError):
            return None
        holds = saved.fingerprint == fingerprint(self._ranker) and saved.state.stale_reason(self._view) is None
        return saved.thresholds if holds and saved.thresholds.get(OTHER_LANGUAGES) else None

    def _indexed_changes(self) -> Sequence[int]:
        """Return the change up to which each index was committed, 0 where it was not yet."""
        return [index.change for index in self._ranker.indexes(self._view)]

    def _save(self, thresholds: Thresholds) -> None:
        """Save the thresholds, unless the archive cannot be written."""
        state = ArchiveState.from_view(self._view)
        saved = Silence(thresholds=dict(thresholds), state=state, fingerprint=fingerprint(self._ranker))
        try:
            self._path.parent.mkdir(exist_ok=True)
            write_atomically(self._path, saved.model_dump_json(indent=1) + "\n")
        except OSError:
            return


def prepare_silence(archive: Archive, ranker: Ranker) -> None:
    """Find and save the thresholds of a ranker whose index was just built, unless a calibration has one."""
    view, calibration = archive.view(), load_calibration(archive, ranker)
    if len(view) and ranker.indexes(view) and not (calibration and calibration.threshold):
        SilenceThreshold(archive, ranker).prepare(view)


def choose_threshold(thresholds: Thresholds, text: str) -> float:
    """Return the threshold for a text, by its language where the archive has several."""
    languages = sorted(thresholds.keys() - {OTHER_LANGUAGES})
    language = detect_language(text, languages) if len(languages) > 1 else None
    return thresholds[language or OTHER_LANGUAGES]


def find_thresholds(searcher: Searcher) -> Thresholds:
    """Return the thresholds: one for all queries, and one for each language of an archive in several.

    An encoder finds texts of one language more alike than those of another, whatever they say.
    """
    view = searcher.view
    own = _score_firsts(searcher, _own_questions(view))
    topics = off_topic_questions(view)
    scores = {topic: _score_firsts(searcher, [text for _, text in rows]) for topic, rows in topics.items()}
    thresholds = {OTHER_LANGUAGES: _find_threshold(scores, np.array([score for _, score in own]))}
    for language in view.languages:
        by_topic = {
            topic: [pair for pair, (other, _) in zip(scores[topic], rows, strict=True) if other == language]
            for topic, rows in topics.items()
        }
        by_topic = {topic: pairs for topic, pairs in by_topic.items() if pairs}
        if by_topic:
            same = [score for text, score in own if detect_language(text, view.languages) == language]
            thresholds[language] = _find_threshold(by_topic, np.array(same))
    return thresholds


def _find_threshold(scores_by_topic: Mapping[str, Sequence[tuple[str, float]]], own: Floats) -> float:
    """Return the absolute score that 95 to 99 % of off-topic questions stay below, and few of the archive's own.

    The topic that is closest to the archive is left out, as it may be the archive's own. The threshold is never above
    the median of what the archive's own questions find, so that an archive about everything is not silent.
    scores_by_topic: topic → questions with the absolute scores of their first hits.
    """
    firsts = {topic: np.array([score for _, score in pairs]) for topic, pairs in scores_by_topic.items()}
    closest = max(firsts, key=lambda topic: float(np.median(firsts[topic])))
    others = np.concatenate([scores for topic, scores in firsts.items() if topic != closest or len(firsts) == 1])
    lowest, highest = np.quantile(others, SILENT_SHARES)
    if not len(own):
        return float(lowest)
    return float(min(np.clip(np.quantile(own, OWN_SILENT_SHARE), lowest, highest), np.median(own)))


def off_topic_questions(view: View) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return topic → everyday questions with their language: the languages of the archive if possible, else all."""
    languages = {view.language, *view.languages}
    rows = [row for row in _packaged_rows() if row[0] in languages] or _packaged_rows()
    by_topic: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for language, topic, question in rows:
        by_topic[topic].append((language, question))
    return by_topic


def is_too_short(text: str) -> bool:
    """Whether a text has fewer letters and digits than any question."""
    return sum(map(str.isalnum, text)) < MIN_CHARACTERS


def looks_up(query: str, title: str, language: str | None) -> bool:
    """Whether a query is a single word, no function word, that a title has: then it is no everyday question."""
    analyzer = _content_analyzer()
    terms = analyzer.analyze(query, language)
    return len(query.split()) == len(terms) == 1 and terms[0] in analyzer.analyze(title, language)


@cache
def _content_analyzer() -> Analyzer:
    return Analyzer(AnalyzerSettings(stop_words=True))


@cache
def _packaged_rows() -> Sequence[tuple[str, str, str]]:
    """The packaged questions: language, topic, question."""
    text = files("askalike.calibration").joinpath(QUESTIONS_FILE).read_text(encoding="utf-8")
    return [(language, topic, question) for language, topic, question in (row.split("\t") for row in text.splitlines())]


def _own_questions(view: View) -> Mapping[str, str]:
    """Return the ids and titles of some of the archive's own questions."""
    titles = [(id, title) for _, id, title in view.titles()]
    return dict(titles[:: max(1, len(titles) // OWN_QUESTIONS)])


def _score_firsts(searcher: Searcher, texts: Mapping[str, str] | Sequence[str]) -> list[tuple[str, float]]:
    """Return each text with the absolute score of its first hit, 0 where it has none.

    texts: by the ids of the questions that they must not find, or without ids.
    """
    by_id = texts if isinstance(texts, Mapping) else {f"off topic {n}": text for n, text in enumerate(texts)}
    session = searcher.search({id: Question(id, text) for id, text in by_id.items()}, 1)
    firsts = [float(scores[0]) if len(scores) else 0.0 for scores in session.absolute_scores]
    return list(zip(by_id.values(), firsts, strict=True))
