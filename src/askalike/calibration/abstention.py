"""Abstention without labels: the minimum absolute score of a hit that is shown if no calibration has a threshold.

A share of the query's similarity to everyday questions, which have nothing to do with the archive, is subtracted from
the score. The rest must be above what nearly all of these questions reach. 1,000 of them come with askalike, in five
languages (`off_topic.tsv`, written for this, CC0). The result is not a probability.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from askalike.calibration.background import BackgroundSimilarity
from askalike.calibration.calibration import (
    ABSTENTION_SUFFIX,
    FOLDER,
    ArchiveState,
    load_calibration,
    settings_json,
)
from askalike.core.config import Settings
from askalike.core.files import replace_file, write_atomically
from askalike.core.types import Floats, Question
from askalike.rankers import Ranker, Retrieved, Searcher, add_absolute, search
from askalike.store import Archive, View
from askalike.text.analyzer import content_analyzer

QUESTIONS_FILE = "off_topic.tsv"
BACKGROUND_WEIGHT = 0.5
"""Weight of the similarity to everyday questions; a score has weight 1."""
ABSTENTION_SHARES = (0.93, 0.99)
"""Share of off-topic questions that get nothing: the minimum, and the target if the archive's own questions allow."""
ARCHIVE_ABSTENTION_SHARES = (0.15, 0.6)
"""Maximum share of the archive's own questions that get nothing: to reach the target off topic, and in any case."""
MAX_TITLES = 200
"""Number of the archive's own questions that are used as queries, each without itself as a hit."""
MIN_CHARACTERS = 2
"""Minimum number of letters and digits of a question."""


class SavedAbstention(Settings):
    """A rule without its everyday questions, and the state for which it is valid."""

    threshold: float
    typical: float
    state: ArchiveState
    fingerprint: str = ""


class AbstentionRule(NamedTuple):
    """The minimum score of a hit that is shown.

    threshold: the minimum score, without the share of the query's background similarity. typical: the median minimum
    score of the archive's own questions.
    """

    threshold: float
    typical: float
    background: BackgroundSimilarity

    def min_scores(self, retrieved: Retrieved) -> Floats:
        """Return the absolute score below which no hit is shown, for each query."""
        return self.threshold + BACKGROUND_WEIGHT * self.background.measure(retrieved)


class AbstentionThreshold:
    """The rule of a ranker on an archive, found at indexing and saved with the calibrations."""

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self._view, self._ranker = archive.view(), ranker
        digest = hashlib.sha256(settings_json(ranker.values).encode()).hexdigest()[:12]
        self._path = archive.path / FOLDER / f"{ranker.name}-{digest}{ABSTENTION_SUFFIX}"
        self._vectors_path = self._path.with_suffix(".npy")
        self._rule: AbstentionRule | None = None  # valid at the archive's change that was last checked
        self._checked_change: int | None = None

    def prepare(self, view: View) -> AbstentionRule:
        """Return the saved rule if it is still valid, else find and save a new one.

        A rule found while another process commits an index is not saved, as not all indexes may have been searched.
        view: the view on which the ranker is opened.
        """
        if saved := self.saved_rule:
            self._rule = saved
            return saved
        changes = self._indexed_changes()
        rule = find_rule(self._ranker.open(view))
        if all(changes) and changes == self._indexed_changes():
            self._save(rule)
            self._rule = rule
        return rule

    def min_scores(self, view: View, retrieved: Retrieved) -> Floats:
        """Return the absolute score below which no hit is shown, for each query of a search."""
        return self._current_rule(view).min_scores(retrieved)

    @property
    def saved_rule(self) -> AbstentionRule | None:
        """The rule that was saved; None if there is none, or the archive or the ranker has changed."""
        try:
            saved = SavedAbstention.model_validate_json(self._path.read_text(encoding="utf-8"))
            vectors = np.load(self._vectors_path)
        except (OSError, ValueError, EOFError):  # pydantic's errors, too
            return None
        holds = saved.fingerprint == self._ranker.fingerprint and saved.state.stale_reason(self._view) is None
        return AbstentionRule(saved.threshold, saved.typical, BackgroundSimilarity(vectors)) if holds else None

    def _current_rule(self, view: View) -> AbstentionRule:
        """Return the rule, prepared again once the archive has changed and all of it is indexed."""
        change = self._view.change
        if self._rule and (change == self._checked_change or min(self._indexed_changes(), default=change) < change):
            return self._rule
        self._checked_change = change  # set first: other threads use the old rule while this one finds a new one
        return self.prepare(view)

    def _indexed_changes(self) -> Sequence[int]:
        """Return the change up to which each index was committed, 0 if it never was."""
        return [index.change for index in self._ranker.indexes(self._view)]

    def _save(self, rule: AbstentionRule) -> None:
        """Save the rule, unless the archive cannot be written."""
        state, described = ArchiveState.from_view(self._view), self._ranker.fingerprint
        saved = SavedAbstention(threshold=rule.threshold, typical=rule.typical, state=state, fingerprint=described)
        try:
            self._path.parent.mkdir(exist_ok=True)
            with replace_file(self._vectors_path) as partial, open(partial, "wb") as file:
                np.save(file, rule.background.vectors)
            write_atomically(self._path, saved.model_dump_json(indent=1) + "\n")
        except OSError:
            return


def fit_abstention(archive: Archive, ranker: Ranker) -> None:
    """Find and save the rule of a ranker whose index was just built, unless a calibration has a threshold."""
    view, calibration = archive.view(), load_calibration(archive, ranker)
    if len(view) and ranker.indexes(view) and not (calibration and calibration.threshold):
        AbstentionThreshold(archive, ranker).prepare(view)


def find_rule(searcher: Searcher) -> AbstentionRule:
    """Return the rule with which 93 to 99 % of off-topic questions get nothing, and few of the archive's own.

    The topic closest to the archive is left out, as it may be the archive's own. The rule hides little in an archive
    about everything, as most of its own questions must find something.
    """
    questions = off_topic_questions(searcher.view)
    topics = np.array([topic for topic, _ in questions])
    off_topic = _search_first(searcher, {f"off topic {n}": text for n, (_, text) in enumerate(questions)})
    firsts = _first_scores(off_topic)
    closest = max(dict.fromkeys(topics.tolist()), key=lambda topic: float(np.median(firsts[topics == topic])))
    others = topics != closest
    background = BackgroundSimilarity.from_queries(off_topic).select(others)
    scores = firsts[others] - BACKGROUND_WEIGHT * background.measure_across_topics(topics[others])
    lowest, highest = np.quantile(scores, ABSTENTION_SHARES)
    if not (titles := _sample_titles(searcher.view)):
        return AbstentionRule(float(lowest), float(lowest), background)
    own = _search_first(searcher, titles)
    title_backgrounds = BACKGROUND_WEIGHT * background.measure(own)
    few, most = np.quantile(_first_scores(own) - title_backgrounds, ARCHIVE_ABSTENTION_SHARES)
    threshold = min(float(np.clip(few, lowest, highest)), float(most))
    return AbstentionRule(threshold, threshold + float(np.median(title_backgrounds)), background)


def off_topic_questions(view: View) -> Sequence[tuple[str, str]]:
    """Return everyday questions with their topics: in the languages of the archive if possible, else all."""
    languages = {view.language, *view.languages}
    rows = [row for row in _packaged_rows() if row[0] in languages] or _packaged_rows()
    return [(topic, question) for _, topic, question in rows]


def is_stopwords_only(text: str, language: str | None) -> bool:
    """Return whether a text has fewer letters and digits than any question, or only function words.

    Curves are fitted on questions, and no question consists only of function words.
    """
    return sum(map(str.isalnum, text)) < MIN_CHARACTERS or not content_analyzer().analyze(text, language)


def is_keyword_query(query: str, title: str, language: str | None) -> bool:
    """Return whether a query is a single word, but no function word, in a title: a keyword and not a question."""
    if len(query.split()) != 1:
        return False
    analyzer = content_analyzer()
    terms = analyzer.analyze(query, language)
    return len(terms) == 1 and terms[0] in analyzer.analyze(title, language)


@cache
def _packaged_rows() -> Sequence[tuple[str, str, str]]:
    """Return the packaged questions: language, topic, question."""
    text = files("askalike.calibration").joinpath(QUESTIONS_FILE).read_text(encoding="utf-8")
    return [(language, topic, question) for language, topic, question in (row.split("\t") for row in text.splitlines())]


def _sample_titles(view: View) -> Mapping[str, str]:
    """Return the ids and titles of some of the archive's own questions."""
    titles = [(id, title) for _, id, title in view.titles()]
    return dict(titles[:: max(1, len(titles) // MAX_TITLES)])


def _search_first(searcher: Searcher, texts: Mapping[str, str]) -> Retrieved:
    """Search for texts. texts: id of the question that must not be found → query."""
    retrieved = search(searcher, {id: Question(id, text) for id, text in texts.items()}, 1)
    return add_absolute(searcher, retrieved)


def _first_scores(retrieved: Retrieved) -> Floats:
    """Return the absolute score of each query's first hit, 0 if it has none."""
    return np.array([float(scores[0]) if len(scores) else 0.0 for scores in retrieved.absolute or ()])
