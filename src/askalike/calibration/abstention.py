"""Grades of hits without labels: `same`, `related`, or not shown.

An absolute score alone says little: with an encoder, short texts and all texts in some languages are similar to many
others, and in a large archive something resembles everything. So it is compared with the level that everyday questions,
which have nothing to do with the archive, reach here: the margin is (score − level) / (1 − level), 1 for the same text.
The margin that is needed depends on the query: the less, the further its vector lies on the way from the mean of
everyday questions to that of the archive's own. `experiments/silence.py` fits how much. 1,060 everyday questions come
with askalike, in six languages (`off_topic.tsv`, written for this, CC0). Who writes a whole question to an archive is
near to its topics, so that its own questions set the limit of `same` then. A grade is not a probability.
"""

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import NamedTuple, Self

import numpy as np
from pydantic import Field

from askalike.calibration.calibration import ABSTENTION_SUFFIX, FOLDER, ArchiveState, settings_json
from askalike.core.arrays import Floats, Floats32
from askalike.core.config import Settings
from askalike.core.errors import ArchiveError, IndexBusyError, ReadOnlyIndexError, UnwritableIndexError
from askalike.core.files import write_atomically
from askalike.core.records import Question
from askalike.rankers import Ranker, ResolvedQuery, Retrieved, Searcher, add_absolute, open_committed, search
from askalike.store import Archive, Snapshot, View
from askalike.text.analyzer import content_analyzer
from askalike.text.typos import has_one_slip
from askalike.text.words import fold_title

QUESTIONS_FILE = "off_topic.tsv"
LEVEL_SHARE = 0.9
"""Share of everyday questions whose best hit scores less than the level."""
NEEDED_MARGIN = 0.35
"""How much more margin a related hit needs if the query lies at the everyday questions than at the archive's own.
Halfway, a hit is related from the level on."""
SHORT_WAY = 0.05
"""The squared length of a way from everyday questions to the archive's own below which places count less."""
SAME_MARGIN = 0.3
"""Minimum margin of hits that probably ask the same: 95 % of the titles of sister sites, but of sites on the same
topics, are not called the same."""
LISTED_MARGIN = 0.1
"""How much less margin the other hits need once the best one is related."""
UNKNOWN_RELATED_MARGIN = 0.0
"""Minimum margin of related hits where no encoder knows the language: rephrasings score little more there."""
UNPACKAGED_LEVEL = 0.1
"""Margin over the levels of other languages that everyday questions reach in a language that none are packaged in."""
UNPLACED_RELATED_MARGIN, FOREIGN_RELATED_MARGIN = 0.06, 0.1
"""Minimum margins of related hits where there are no everyday questions in the archive's languages, and between
languages, where languages would be what vectors differ in most; at each 95 % of everyday questions get nothing."""
FOREIGN_QUESTIONS = 200
"""About the number of everyday questions asked in other languages."""
MAX_TITLES = 200
"""Number of the archive's own questions that are used as queries, each without itself as a hit."""
COMMENTED_SHARE = 0.05
"""Share of the archive's own whole questions that have one like them, which asks the same; a bot comments on it."""
MIN_CHARACTERS = 2
"""Minimum number of letters and digits of a question."""


class EverydayQuestion(NamedTuple):
    """A question that has nothing to do with most archives."""

    language: str
    topic: str
    text: str


class GradeLimits(NamedTuple):
    """The minimum absolute scores of a hit that is related, of what asks the same, and of what is listed with others.

    listed: that of related hits if the first one is related.
    """

    related: float
    same: float
    listed: float

    @classmethod
    def above(cls, level: float, related_margin: float) -> Self:
        """Return the limits over the level of everyday questions."""
        margins = related_margin, SAME_MARGIN, related_margin - LISTED_MARGIN
        return cls(*(level + margin * (1 - level) for margin in margins))


class LanguageRule(Settings):
    """The limits of queries in a language, and how far each query's vector lowers them.

    direction: what a vector and 1 are multiplied by for that, (dim + 1); empty if limits do not depend on the vector.
    """

    limits: GradeLimits
    direction: Sequence[float] = ()


class AbstentionRule(Settings):
    """The rules of a ranker on an archive: the usual one, and those of queries in each of several languages.

    foreign: that of queries in other languages than the archive's; None for a ranker that compares no languages.
    whole: a minimum of what asks the same as a query with a body; 0 where no question has one.
    """

    usual: LanguageRule
    languages: dict[str, LanguageRule] = Field(default_factory=dict)
    foreign: LanguageRule | None = None
    whole: float

    def limits(self, retrieved: Retrieved) -> Sequence[GradeLimits]:
        """Return the limits for the hits of each query."""
        found = []
        for row, query in enumerate(retrieved.queries):
            rule = self.languages.get(query.language or "", self.usual)
            rule = self.foreign if query.is_foreign and self.foreign else rule
            related, same, listed = rule.limits
            lower = 0.0
            if rule.direction and retrieved.vectors is not None:
                lower = float(retrieved.vectors[row] @ rule.direction[:-1]) + rule.direction[-1]
            same = max(same, related - lower, self.whole if query.query.body else 0.0)
            found.append(GradeLimits(related - lower, same, listed - lower))
        return found


NO_RULE = AbstentionRule(usual=LanguageRule(limits=GradeLimits(*[sys.float_info.max] * 3)), whole=0)
"""Nothing has a grade by its score, where no rule is known."""


class SavedAbstention(Settings):
    """A rule, and the state for which it is valid."""

    rule: AbstentionRule
    state: ArchiveState
    fingerprint: str = ""


class AbstentionThreshold:
    """The rule of a ranker on an archive, found at indexing and saved with the calibrations."""

    def __init__(self, archive: Archive, ranker: Ranker) -> None:
        self._view = archive.view()
        self._ranker = ranker
        digest = hashlib.sha256(settings_json(ranker.values).encode()).hexdigest()[:12]
        self._path = archive.path / FOLDER / f"{ranker.name}-{digest}{ABSTENTION_SUFFIX}"
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
        except (OSError, ValueError):  # pydantic's errors, too
            return None
        holds = saved.fingerprint == self._ranker.fingerprint and saved.state.stale_reason(self._view) is None
        return saved.rule if holds else None

    @property
    def known_rule(self) -> AbstentionRule | None:
        """The rule that was used last, or saved; None if none was found yet."""
        self._rule = self._rule or self.saved_rule
        return self._rule

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
        state = ArchiveState.from_view(self._view)
        saved = SavedAbstention(rule=rule, state=state, fingerprint=self._ranker.fingerprint)
        try:
            self._view.require_in_place()
            self._path.parent.mkdir(exist_ok=True)
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
    """Find and save the rule of a ranker whose index was just built, so that no search has to."""
    view = archive.view()
    if any(view.titles()) and ranker.indexes(view):
        AbstentionThreshold(archive, ranker).prepare(view)


def find_rule(searcher: Searcher) -> AbstentionRule:
    """Return the rule by the first hits of everyday questions, in the archive's languages as far as there are any.

    Some in other languages are asked, too, if the ranker compares languages.
    """
    view, rows, texts_in = searcher.view, everyday_questions(), searcher.own_languages
    packaged = {row.language for row in rows}
    spoken = packaged.intersection(texts_in)
    sample = _sample_questions(view)
    titles = _search_first(searcher, [replace(question, body="") for question in sample])
    own = _first_scores(titles)
    whole = _first_scores(_search_first(searcher, [question for question in sample if question.body]))
    rules = {}
    for code in sorted(spoken or packaged):
        asked = [row for row in rows if row.language == code]
        found = _ask(searcher, asked, code if spoken or not texts_in else texts_in[0])
        scores, topics = _first_scores(found), [row.topic for row in asked]
        level = find_level(scores, topics, own)
        if not spoken:
            level += UNPACKAGED_LEVEL * (1 - level)
        is_known = found.vectors is not None and (searcher.languages is None or code in searcher.languages)
        limits = GradeLimits.above(level, UNPLACED_RELATED_MARGIN if is_known else UNKNOWN_RELATED_MARGIN)
        rules[code] = LanguageRule(limits=limits)
        speaking = [n for n, query in enumerate(titles.queries) if query.language in (code, None)]
        if speaking and is_known and spoken and found.vectors is not None and titles.vectors is not None:
            is_other = np.array(topics) != find_closest_topic(scores, topics)
            rules[code] = make_placed_rule(level, found.vectors[is_other], titles.vectors[speaking])
    usual = rules.get(view.language or "") or max(rules.values(), key=lambda rule: rule.limits)
    others = [row for row in rows if row.language not in spoken]
    foreign = _find_foreign_rule(searcher, others) if searcher.bridges_languages and texts_in else None
    whole_limit = float(np.quantile(whole, 1 - COMMENTED_SHARE)) if len(whole) else 0.0
    return AbstentionRule(usual=usual, languages=rules if len(spoken) > 1 else {}, foreign=foreign, whole=whole_limit)


def make_placed_rule(level: float, everyday: Floats32, own: Floats32) -> LanguageRule:
    """Return the rule in which a query's place counts: on the way from everyday questions to the archive's own.

    level: see find_level. everyday, own: the vectors of these questions, of which the way leads from mean to mean.
    """
    ends = everyday.mean(axis=0), own.mean(axis=0)
    way = ends[1] - ends[0]
    way *= NEEDED_MARGIN * (1 - level) / max(float(way @ way), SHORT_WAY)
    direction = [*way.tolist(), -float(way @ (ends[0] + ends[1]) / 2)]
    return LanguageRule(limits=GradeLimits.above(level, 0), direction=[round(value, 6) for value in direction])


def _find_foreign_rule(searcher: Searcher, rows: Sequence[EverydayQuestion]) -> LanguageRule:
    """Return the rule of queries in other languages than the archive's. rows: questions in such languages."""
    asked = rows[:: max(1, len(rows) // FOREIGN_QUESTIONS)]
    level = find_level(_first_scores(_ask(searcher, asked)), [row.topic for row in asked], np.empty(0))
    return LanguageRule(limits=GradeLimits.above(level, FOREIGN_RELATED_MARGIN))


def _ask(searcher: Searcher, rows: Sequence[EverydayQuestion], language: str | None = None) -> Retrieved:
    """Search for the first hits of everyday questions. language: as which all are read; None for the own of each."""
    questions = [Question(f"off topic {n}", row.text, language=language or row.language) for n, row in enumerate(rows)]
    return _search_first(searcher, questions)


def find_level(scores: Floats, topics: Sequence[str], own: Floats) -> float:
    """Return the level of everyday questions.

    The topic that is closest to the archive is left out, as it may be the archive's own. In an archive about
    everything, the level is the median score of its own questions. scores, topics: of the everyday questions' first
    hits. own: the first scores of the archive's questions without themselves.
    """
    is_other = np.array(topics) != find_closest_topic(scores, topics)
    level = float(np.quantile(scores[is_other], LEVEL_SHARE))
    return min(level, float(np.median(own))) if len(own) else level


def find_closest_topic(scores: Floats, topics: Sequence[str]) -> str:
    """Return the topic with the highest median of scores; "" without any."""
    names = np.array(topics)
    return max(dict.fromkeys(topics), key=lambda topic: float(np.median(scores[names == topic])), default="")


def is_stopwords_only(text: str, language: str | None) -> bool:
    """Return whether a text has fewer letters and digits than any question, or only function words.

    Curves are fitted on questions, and no question consists only of function words.
    """
    return sum(map(str.isalnum, text)) < MIN_CHARACTERS or not content_analyzer().analyze(text, language)


def is_titled(question: Question, query: ResolvedQuery) -> bool:
    """Return whether a question has a query's title, or has it as a rephrasing, but for a slip in one word."""
    typed = fold_title(query.query.title).split()
    titles = [fold_title(title).split() for title in (question.title, *question.rephrasings)]
    return bool(typed) and any(len(typed) == len(one) and (typed == one or has_one_slip(typed, one)) for one in titles)


def is_keyword(word: str, title: str, language: str | None) -> bool:
    """Return whether a word, but no function word, is in a title."""
    analyzer = content_analyzer()
    terms = analyzer.analyze(word, language)
    return len(terms) == 1 and terms[0] in analyzer.analyze(title, language)


@cache
def everyday_questions() -> Sequence[EverydayQuestion]:
    """Return the packaged questions, all languages."""
    text = files("askalike.calibration").joinpath(QUESTIONS_FILE).read_text(encoding="utf-8")
    return [EverydayQuestion(*row.split("\t")) for row in text.splitlines()]


def _sample_questions(view: Snapshot) -> Sequence[Question]:
    """Return some of the archive's own questions."""
    docids = np.fromiter((docid for docid, _, _ in view.titles()), np.int64)  # a list has five times the size
    return list(view.questions_by_docid(docids[:: max(1, len(docids) // MAX_TITLES)].tolist()).values())


def _search_first(searcher: Searcher, queries: Sequence[Question]) -> Retrieved:
    """Search for the first hit of each query. A question of the archive does not find itself."""
    return add_absolute(searcher, search(searcher, {query.id: query for query in queries}, 1))


def _first_scores(retrieved: Retrieved) -> Floats:
    """Return the absolute score of each query's first hit, 0 if it has none."""
    return np.array([float(scores[0]) if len(scores) else 0.0 for scores in retrieved.absolute or ()])
