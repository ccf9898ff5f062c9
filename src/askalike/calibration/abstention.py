"""Abstention without labels: the minimum absolute score of a hit that is shown if no calibration has a threshold.

A share of the query's similarity to everyday questions, which have nothing to do with the archive, is subtracted from
the score. The rest must be above what nearly all of these questions reach. 1,000 of them come with askalike, in five
languages (`off_topic.tsv`, written for this, CC0). The result is not a probability.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from askalike.calibration.calibration import ABSTENTION_SUFFIX, FOLDER, ArchiveState, load_calibration, settings_json
from askalike.core.arrays import Bools, Floats
from askalike.core.config import Settings
from askalike.core.errors import ArchiveError, IndexBusyError, ReadOnlyIndexError, UnwritableIndexError
from askalike.core.files import replace_file, write_atomically
from askalike.core.records import Question
from askalike.rankers import Ranker, Retrieved, Searcher, add_absolute, open_committed, search
from askalike.store import Archive, Snapshot, View
from askalike.text.analyzer import content_analyzer

QUESTIONS_FILE = "off_topic.tsv"
BACKGROUND_WEIGHT = 0.5
"""Weight of the similarity to everyday questions; a score has weight 1."""
ABSTENTION_SHARE, ABSTENTION_SHARE_UNKNOWN = 0.93, 0.8
"""Minimum share of everyday questions that get nothing; and in languages that the encoder does not know, in which
rephrasings score little more than they do."""
OWN_ABSTENTION_SHARES = (0.15, 0.36, 0.6)
"""Share of the archive's own questions that get nothing, where everyday questions allow it: as unfinished titles or
whole questions, and as titles in an archive of LARGE questions; and the maximum share.

An own question, searched without itself, is on the archive's topics and mostly new: what scores less is new, too."""
NEAR_SCORE = 0.34
"""The threshold of titles is at most the geometric mean of this score and the median of own questions. In a large
archive they score higher, as fewer of them are new; so do questions of a sister site, but less."""
MAX_EVERYDAY_SHARE = 0.99
"""Own questions raise the lenient threshold up to the score that this share of everyday questions stays below."""
SMALL, LARGE = 100, 400
"""Questions of a small archive, and of a large one. In a small one, few questions resemble new ones by chance."""
MIN_LANGUAGE_TITLES = 20
"""Minimum number of own questions in a language for a threshold of its own."""
MAX_TITLES = 200
"""Number of the archive's own questions that are used as queries, each without itself as a hit."""
NEAREST = 3
"""Number of nearest everyday questions with which a query is compared."""
MIN_CHARACTERS = 2
"""Minimum number of letters and digits of a question."""


class SavedAbstention(Settings):
    """A rule without its everyday questions, and the state for which it is valid."""

    threshold: float
    typical: float
    state: ArchiveState
    fingerprint: str = ""
    lenient: float | None = None
    languages: dict[str, tuple[float, float]] = Field(default_factory=dict)


class BackgroundSimilarity:
    """The similarity of queries to everyday questions that have nothing to do with the archive, by the encoder.

    With an encoder, short or vague texts, and all texts in some languages, are similar to many others. So this shows
    what a score would be with nothing in common. vectors: of the everyday questions, (questions, dim), of length 1; no
    rows for a ranker without an encoder.
    """

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self.vectors = vectors

    @classmethod
    def from_queries(cls, retrieved: Retrieved) -> "BackgroundSimilarity":
        """Return the everyday questions that were the queries of a search."""
        return cls(np.empty((0, 0), np.float32) if retrieved.vectors is None else retrieved.vectors)

    def select(self, mask: Bools) -> "BackgroundSimilarity":
        """Return some of the questions."""
        return BackgroundSimilarity(self.vectors[mask] if len(self.vectors) else self.vectors)

    def measure(self, retrieved: Retrieved) -> Floats:
        """Return the mean similarity of each query to the everyday questions nearest to it; 0 without an encoder."""
        if not len(self.vectors) or retrieved.vectors is None:
            return np.zeros(len(retrieved.queries))
        return _mean_of_nearest(retrieved.vectors @ self.vectors.T)

    def measure_across_topics(self, topics: Sequence[str]) -> Floats:
        """Return the same for the everyday questions themselves, each compared with those on other topics."""
        if not len(self.vectors):
            return np.zeros(len(topics))
        names = np.array(topics)
        return _mean_of_nearest(np.where(names[:, None] == names, 0, self.vectors @ self.vectors.T))


def _mean_of_nearest(similarities: NDArray[np.float32]) -> Floats:
    nearest = min(NEAREST, similarities.shape[1])
    return np.asarray(np.partition(similarities, -nearest, axis=1)[:, -nearest:].mean(1), np.float64)


class AbstentionRule(NamedTuple):
    """The minimum score of a hit that is shown.

    threshold: the minimum score of titles, without the share of the query's background similarity. lenient: that of
    unfinished titles and of whole questions, which score less. typical: the median minimum score of the archive's own
    questions, if they are whole. languages: language of a query → both thresholds, in an archive of several.
    """

    threshold: float
    lenient: float
    typical: float
    background: BackgroundSimilarity
    languages: Mapping[str, tuple[float, float]]

    def min_scores(self, retrieved: Retrieved) -> Floats:
        """Return the absolute score below which no hit is shown, for each query."""
        default = self.threshold, self.lenient
        of_languages = [self.languages.get(one.language or "", default) for one in retrieved.queries]
        is_lenient = [one.prefix or bool(one.query.body) for one in retrieved.queries]
        thresholds = [own[lenient] for own, lenient in zip(of_languages, is_lenient, strict=True)]
        return np.array(thresholds) + BACKGROUND_WEIGHT * self.background.measure(retrieved)


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

    @property
    def saved_rule(self) -> AbstentionRule | None:
        """The rule that was saved; None if there is none, or the archive or the ranker has changed."""
        try:
            saved = SavedAbstention.model_validate_json(self._path.read_text(encoding="utf-8"))
            vectors = np.load(self._vectors_path)
        except (OSError, ValueError, EOFError):  # pydantic's errors, too
            return None
        holds = saved.fingerprint == self._ranker.fingerprint and saved.state.stale_reason(self._view) is None
        if not holds or saved.lenient is None:
            return None
        background = BackgroundSimilarity(vectors)
        return AbstentionRule(saved.threshold, saved.lenient, saved.typical, background, saved.languages)

    def current_rule(self, view: View) -> AbstentionRule:
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
        saved = SavedAbstention(
            threshold=rule.threshold, lenient=rule.lenient, typical=rule.typical, languages=dict(rule.languages),
            state=state, fingerprint=described,
        )  # fmt: skip
        try:
            self._view.require_in_place()
            self._path.parent.mkdir(exist_ok=True)
            with replace_file(self._vectors_path) as partial, open(partial, "wb") as file:
                np.save(file, rule.background.vectors)
            write_atomically(self._path, saved.model_dump_json(indent=1) + "\n")
        except (OSError, ArchiveError):
            return


def abstention_rule(archive: Archive, ranker: Ranker) -> AbstentionRule | None:
    """Return the rule of a ranker on the archive as it is; None if nothing is indexed, and nothing can be now."""
    view = archive.view()
    try:
        open_committed(ranker, view)
    except (IndexBusyError, ReadOnlyIndexError, UnwritableIndexError):
        return None
    return AbstentionThreshold(archive, ranker).prepare(view)


def fit_abstention(archive: Archive, ranker: Ranker) -> None:
    """Find and save the rule of a ranker whose index was just built, unless a calibration has a threshold."""
    view, calibration = archive.view(), load_calibration(archive, ranker)
    if any(view.titles()) and ranker.indexes(view) and not (calibration and calibration.threshold):
        AbstentionThreshold(archive, ranker).prepare(view)


def find_rule(searcher: Searcher) -> AbstentionRule:
    """Return the rule with which nearly all off-topic questions get nothing, and few that were asked before.

    The topic closest to the archive is left out, as it may be the archive's own. The rule hides little in an archive
    about everything, as most of its own questions must find something.
    """
    rows = off_topic_questions(searcher.view)
    off_languages, topics = (np.array([row[column] for row in rows]) for column in range(2))
    everyday = [Question(f"off topic {n}", row.text, language=row.language) for n, row in enumerate(rows)]
    off_topic = _search_first(searcher, everyday)
    firsts = _first_scores(off_topic)
    closest = max(dict.fromkeys(topics.tolist()), key=lambda topic: float(np.median(firsts[topics == topic])))
    others = topics != closest
    background = BackgroundSimilarity.from_queries(off_topic).select(others)
    scores = firsts[others] - BACKGROUND_WEIGHT * background.measure_across_topics(topics[others])
    own = _search_first(searcher, _sample_questions(searcher.view))
    backgrounds = BACKGROUND_WEIGHT * background.measure(own)
    own_scores, own_languages = _first_scores(own) - backgrounds, np.array([one.language or "" for one in own.queries])
    languages = {}
    for code in searcher.view.languages:
        in_code = scores[off_languages[others] == code], own_scores[own_languages == code]
        if len(in_code[0]) and len(in_code[1]) >= MIN_LANGUAGE_TITLES:
            languages[code] = choose_thresholds(*in_code, _is_known(searcher, code), len(searcher.view))
    is_known = _is_known(searcher, searcher.view.language)
    threshold, lenient = choose_thresholds(scores, own_scores, is_known, len(searcher.view))
    typical = lenient + (float(np.median(backgrounds)) if len(backgrounds) else 0.0)
    return AbstentionRule(threshold, lenient, typical, background, languages)


def choose_thresholds(everyday: Floats, own: Floats, is_known: bool, size: int) -> tuple[float, float]:
    """Return the threshold of titles and the lenient one, by scores without their background similarity.

    everyday, own: of everyday questions and of the archive's own. is_known: whether the encoder knows their language.
    size: of the archive.
    """
    shares = (ABSTENTION_SHARE if is_known else ABSTENTION_SHARE_UNKNOWN, MAX_EVERYDAY_SHARE)
    lowest, highest = np.quantile(everyday, shares).tolist()
    if not len(own):
        return lowest, lowest
    few, near, most = np.quantile(own, OWN_ABSTENTION_SHARES).tolist()
    lenient = max(lowest, min(few, highest))
    growth = float(np.clip(np.log(max(size, 1) / SMALL) / np.log(LARGE / SMALL), 0, 1))
    near = max(lenient, min(near, float(np.sqrt(NEAR_SCORE * max(np.median(own), 0)))))
    return min(lenient + growth * (near - lenient), most), min(lenient, most)


def _is_known(searcher: Searcher, language: str | None) -> bool:
    """Return whether the ranker's encoder knows a language, or has to."""
    return not language or searcher.languages is None or language in searcher.languages


class EverydayQuestion(NamedTuple):
    """A question that has nothing to do with most archives."""

    language: str
    topic: str
    text: str


def off_topic_questions(view: Snapshot) -> Sequence[EverydayQuestion]:
    """Return everyday questions: in the languages of the archive if possible, else all."""
    languages = {view.language, *view.languages}
    return [row for row in _packaged_rows() if row.language in languages] or _packaged_rows()


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
def _packaged_rows() -> Sequence[EverydayQuestion]:
    """Return the packaged questions."""
    text = files("askalike.calibration").joinpath(QUESTIONS_FILE).read_text(encoding="utf-8")
    return [EverydayQuestion(*row.split("\t")) for row in text.splitlines()]


def _sample_questions(view: Snapshot) -> Sequence[Question]:
    """Return some of the archive's own questions, without their bodies."""
    docids = np.fromiter((docid for docid, _, _ in view.titles()), np.int64)  # a list has five times the size
    sample = view.questions_by_docid(docids[:: max(1, len(docids) // MAX_TITLES)].tolist())
    return [replace(question, body="") for question in sample.values()]


def _search_first(searcher: Searcher, queries: Sequence[Question]) -> Retrieved:
    """Search for the first hit of each query. A question of the archive does not find itself."""
    return add_absolute(searcher, search(searcher, {query.id: query for query in queries}, 1))


def _first_scores(retrieved: Retrieved) -> Floats:
    """Return the absolute score of each query's first hit, 0 if it has none."""
    return np.array([float(scores[0]) if len(scores) else 0.0 for scores in retrieved.absolute or ()])
