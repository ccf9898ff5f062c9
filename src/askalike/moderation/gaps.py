"""Gaps: questions that people ask and the archive does not answer, as groups of phrasings, by frequency."""

import hashlib
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from askalike.calibration.calibration import Calibrator
from askalike.core.errors import ArchiveError
from askalike.moderation.pairs import PairValues, cluster_pairs
from askalike.rankers import Ranker, create
from askalike.store import Archive, query_log
from askalike.text.analyzer import Analyzer, content_analyzer

MIN_COSINE = 0.5
"""Minimum cosine of two phrasings' words, weighted by rarity, to link them."""
MAX_COMPARED = 2_000
"""Maximum number of phrasings, the most frequent, that are compared with each other; the others are not clustered."""
MAX_PHRASINGS_PER_WORD = 200
"""Phrasings are not compared because of a word that is in more phrasings than this."""
MAX_EXAMPLES = 5
REASON_LABELS = {"nothing": "found nothing", "none_of_these": "no helpful hit", "posted_anyway": "asked anyway"}
"""Reason in `Gap.reasons` → its label for people."""
MAX_TIME_SHARE = 0.05
"""Maximum share of time that GapCache spends on finding gaps."""


class GapNotFoundError(ArchiveError):
    """No gap has a phrasing with the id."""


@dataclass(frozen=True, slots=True)
class PhrasingFrequency:
    """A phrasing of a question, and how often it was asked."""

    title: str
    count: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A group of queries without a helpful hit.

    title: the most frequent phrasing. count: number of queries over all phrasings. last_asked_at: ISO 8601 in UTC.
    reasons: how often `nothing` was found, `none_of_these` helped, or a question was `posted_anyway`.
    members: a digest of the words of each phrasing; `id` is the first of them.
    """

    id: str
    title: str
    count: int
    last_asked_at: str
    reasons: Mapping[str, int]
    examples: Sequence[PhrasingFrequency]
    ignored: bool
    members: Sequence[str]


@dataclass(slots=True)
class _PhrasingGroup:
    """All phrasings with the same words."""

    titles: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    last_asked_at: str = ""

    @property
    def count(self) -> int:
        return self.titles.total()


WordKey = tuple[str, ...]


def find_gaps(
    archive: Archive, *, min_probability: float = 0.0, ignored: bool = False, ranker: Ranker | None = None
) -> list[Gap]:
    """Return the gaps, the most frequent first, ties by the latest query.

    min_probability: also count queries whose best hit is less probable. ignored: return the ignored gaps instead of
    the others. A phrasing in a cluster with an ignored one is ignored, too. ranker: by default the archive's active
    one. Raises UncalibratedError if nothing has a probability.
    """
    return [gap for gap in _find_all_gaps(archive, min_probability, ranker) if gap.ignored == ignored]


def get_gap(archive: Archive, id: str, *, min_probability: float = 0.0, ranker: Ranker | None = None) -> Gap:
    """Return the gap with an id, ignored or not, even if its id has changed since; see `find_gaps`.

    Raises GapNotFoundError, UncalibratedError.
    """
    gap = next((gap for gap in _find_all_gaps(archive, min_probability, ranker) if id in gap.members), None)
    if gap is None:
        raise GapNotFoundError(f"no gap {id!r}; its queries may have been deleted")
    return gap


class GapCache:
    """Recent gaps, ignored or not, updated in at most MAX_TIME_SHARE of the time. Not thread-safe."""

    def __init__(self) -> None:
        self._gaps: list[Gap] = []
        self._ignored_version: object = None
        self._fresh_until = 0.0

    def get(self, archive: Archive, *, ignored: bool = False) -> list[Gap]:
        """Return the gaps; see `find_gaps`."""
        ignored_version = query_log.ignored_phrasings_version(archive)
        started = time.monotonic()
        if ignored_version != self._ignored_version or started >= self._fresh_until:
            self._gaps = _find_all_gaps(archive, 0.0)
            self._ignored_version = ignored_version
            self._fresh_until = started + (time.monotonic() - started) / MAX_TIME_SHARE
        return [gap for gap in self._gaps if gap.ignored == ignored]


def ignore_gap(archive: Archive, gap: Gap, ignored_by: str = "") -> None:
    """Ignore a gap from now on. Only digests of its words are stored, not its texts."""
    query_log.ignore_phrasings(archive, gap.members, ignored_by)


def restore_gap(archive: Archive, gap: Gap) -> None:
    """Stop ignoring a gap."""
    query_log.restore_phrasings(archive, gap.members)


def _find_all_gaps(archive: Archive, min_probability: float, ranker: Ranker | None = None) -> list[Gap]:
    if min_probability and not query_log.has_probabilities(archive):
        Calibrator.open(archive, ranker or create(None, {}, archive)).check_minimum(0.0)
    groups = _group_by_words(query_log.read_unhelped_queries(archive, min_probability), _build_word_extractor(archive))
    ignored = query_log.ignored_phrasings(archive)
    found = (_build_gap(members, groups, ignored) for members in _cluster_phrasings(groups))
    gaps = sorted(found, key=lambda gap: gap.id)
    gaps.sort(key=lambda gap: (gap.count, gap.last_asked_at), reverse=True)
    return gaps


def _build_word_extractor(archive: Archive) -> Callable[[str], WordKey]:
    """Return a function from a title to its sorted distinct stems, without stop words unless there are no others."""
    language = archive.view().language
    content_words = content_analyzer()
    all_words = Analyzer()

    def extract(title: str) -> WordKey:
        words = content_words.analyze(title, language) or all_words.analyze(title, language) or [title.strip()]
        return tuple(sorted(set(words)))

    return extract


def _group_by_words(
    unhelped_queries: Iterable[query_log.UnhelpedQuery], extract_words: Callable[[str], WordKey]
) -> dict[WordKey, _PhrasingGroup]:
    groups: dict[WordKey, _PhrasingGroup] = defaultdict(_PhrasingGroup)
    for title, asked_at, reason in unhelped_queries:
        group = groups[extract_words(title)]
        group.titles[title.strip()] += 1
        group.reasons[reason] += 1
        group.last_asked_at = max(group.last_asked_at, asked_at)
    return dict(groups)


def _cluster_phrasings(groups: Mapping[WordKey, _PhrasingGroup]) -> list[list[WordKey]]:
    """Return clusters of similar phrasings, the most frequent first in each; others are clusters of one."""
    order = sorted(groups, key=lambda words: (-groups[words].count, words))
    ids = {words: f"{position:08}" for position, words in enumerate(order)}
    id_clusters = cluster_pairs(_similar_pairs(order[:MAX_COMPARED], ids), MIN_COSINE)
    clusters = [[order[int(id)] for id in sorted(members)] for members in id_clusters]
    clustered = {words for cluster in clusters for words in cluster}
    return clusters + [[words] for words in order if words not in clustered]


def _similar_pairs(phrasings: Sequence[WordKey], ids: Mapping[WordKey, str]) -> PairValues:
    """Return the cosine, with words weighted by rarity, of each pair of phrasings that share a rare enough word."""
    phrasings_with: dict[str, list[WordKey]] = defaultdict(list)
    for words in phrasings:
        for word in words:
            phrasings_with[word].append(words)
    weight = {word: math.log(1 + len(phrasings) / len(phrasings_with[word])) ** 2 for word in phrasings_with}
    length = {words: math.sqrt(sum(weight[word] for word in words)) for words in phrasings}
    pairs: PairValues = {}
    for candidates in phrasings_with.values():
        for one, other in combinations(candidates, 2) if len(candidates) <= MAX_PHRASINGS_PER_WORD else ():
            pair = (ids[one], ids[other])
            if pair not in pairs:
                shared = sum(weight[word] for word in set(one) & set(other))
                pairs[pair] = shared / (length[one] * length[other])
    return pairs


def _build_gap(members: Sequence[WordKey], groups: Mapping[WordKey, _PhrasingGroup], ignored: set[str]) -> Gap:
    digests = tuple(map(_digest, members))
    member_groups = [groups[words] for words in members]
    titles = sum((group.titles for group in member_groups), Counter[str]())
    title = member_groups[0].titles.most_common(1)[0][0]
    times = titles.total()
    last_asked_at = max(group.last_asked_at for group in member_groups)
    why = dict(sum((group.reasons for group in member_groups), Counter[str]()))
    examples = [PhrasingFrequency(title, times) for title, times in titles.most_common(MAX_EXAMPLES)]
    is_ignored = not ignored.isdisjoint(digests)
    return Gap(digests[0], title, times, last_asked_at, why, examples, is_ignored, digests)


def _digest(words: WordKey) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
