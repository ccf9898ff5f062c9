"""Gaps: what people ask and the archive does not answer, in clusters of phrasings, the most frequent first."""

import hashlib
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from askalike.errors import ArchiveError
from askalike.moderation.grouping import cluster_pairs
from askalike.moderation.neighbours import PairProbabilities
from askalike.store.archive import Archive
from askalike.store.query_log import (
    UnhelpedQuery,
    ignore_phrasings,
    ignored_phrasings,
    ignored_phrasings_version,
    read_unhelped_queries,
    restore_phrasings,
)
from askalike.text.analyzer import Analyzer, AnalyzerSettings

MIN_COSINE = 0.5
"""Phrasings are one where the cosine of their words, the rarer the heavier, is as high."""
MAX_COMPARED = 2_000
"""So many of the most frequent phrasings are compared with each other; the others stand alone."""
MAX_PHRASINGS_PER_WORD = 200
"""A word of more phrasings than this brings no two of them together by itself."""
MAX_EXAMPLES = 5
MAX_TIME_SHARE = 0.05
"""Of the time, what `Latest` takes at most."""


class GapNotFoundError(ArchiveError):
    """Nothing that was asked is in such a gap."""


@dataclass(frozen=True, slots=True)
class PhrasingFrequency:
    """A question as people put it, and how often."""

    title: str
    times: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A cluster of questions asked in vain: its most frequent phrasing, how often it was asked in all, and when last.

    `why`: how often `nothing` was found, `none_of_these` helped, or it was `posted_anyway`.
    `members`: a digest of each phrasing's words, which name the gap; `id` is the first.
    """

    id: str
    title: str
    times: int
    last_asked_at: str
    why: Mapping[str, int]
    examples: Sequence[PhrasingFrequency]
    ignored: bool
    members: Sequence[str]


@dataclass(slots=True)
class _PhrasingGroup:
    """The same words, however they were put."""

    titles: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    last_asked_at: str = ""

    @property
    def times(self) -> int:
        return self.titles.total()


WordKey = tuple[str, ...]


def find_gaps(archive: Archive, *, min_probability: float = 0.0, ignored: bool = False) -> list[Gap]:
    """What was asked and found nothing as probable, or nothing that helped: the most frequent first, then the latest.

    `ignored`: those that somebody wants to hear no more of, instead of the others. What comes into a cluster with one
    of them is ignored, too.
    """
    return [gap for gap in _find_all_gaps(archive, min_probability) if gap.ignored == ignored]


def get_gap(archive: Archive, id: str, *, min_probability: float = 0.0) -> Gap:
    """The gap with that id, ignored or not; traffic may have given it another since. Raises NoGapError."""
    found = next((gap for gap in _find_all_gaps(archive, min_probability) if id in gap.members), None)
    if found is None:
        raise GapNotFoundError(f"there is no gap {id!r}; it may have been deleted with the questions that were asked")
    return found


class GapCache:
    """The gaps as they are, or were not long ago: finding them takes no more than a twentieth of the time.

    What somebody ignores, or wants to hear of again, counts at once. For one thread.
    """

    def __init__(self) -> None:
        self._gaps: list[Gap] = []
        self._ignored_state: object = None
        self._fresh_until = 0.0

    def get(self, archive: Archive, *, ignored: bool = False) -> list[Gap]:
        """See `gaps`."""
        told = ignored_phrasings_version(archive)
        started = time.monotonic()
        if told != self._ignored_state or started >= self._fresh_until:
            self._gaps, self._ignored_state = _find_all_gaps(archive, 0.0), told
            self._fresh_until = started + (time.monotonic() - started) / MAX_TIME_SHARE
        return [gap for gap in self._gaps if gap.ignored == ignored]


def ignore_gap(archive: Archive, gap: Gap, ignored_by: str = "") -> None:
    """Leaves a gap out from now on. Kept are digests of its words, not the texts."""
    ignore_phrasings(archive, gap.members, ignored_by)


def restore_gap(archive: Archive, gap: Gap) -> None:
    """Shows a gap again that was ignored."""
    restore_phrasings(archive, gap.members)


def _find_all_gaps(archive: Archive, min_probability: float) -> list[Gap]:
    """All gaps, the most frequent first."""
    asked = _group_by_words(read_unhelped_queries(archive, min_probability), _build_word_extractor(archive))
    told = ignored_phrasings(archive)
    found = sorted((_build_gap(members, asked, told) for members in _cluster_phrasings(asked)), key=lambda gap: gap.id)
    found.sort(key=lambda gap: (gap.times, gap.last_asked_at), reverse=True)
    return found


def _build_word_extractor(archive: Archive) -> Callable[[str], WordKey]:
    """From a title to its words: stems without function words, sorted, each once; all words where that leaves none."""
    language = archive.view().language
    telling, all_words = Analyzer(AnalyzerSettings(stop_words=True)), Analyzer()

    def read(title: str) -> WordKey:
        found = telling.analyze(title, language) or all_words.analyze(title, language) or [title.strip()]
        return tuple(sorted(set(found)))

    return read


def _group_by_words(
    unhelped_queries: Iterable[UnhelpedQuery], extract_words: Callable[[str], WordKey]
) -> dict[WordKey, _PhrasingGroup]:
    asked: dict[WordKey, _PhrasingGroup] = defaultdict(_PhrasingGroup)
    for title, at, why in unhelped_queries:
        same = asked[extract_words(title)]
        same.titles[title.strip()] += 1
        same.reasons[why] += 1
        same.last_asked_at = max(same.last_asked_at, at)
    return dict(asked)


def _cluster_phrasings(phrasing_groups: Mapping[WordKey, _PhrasingGroup]) -> list[list[WordKey]]:
    """Phrasings that are alike, the most frequent first; every other one by itself."""
    order = sorted(phrasing_groups, key=lambda words: (-phrasing_groups[words].times, words))
    names = {words: f"{place:08}" for place, words in enumerate(order)}
    joined = cluster_pairs(_similar_pairs(order[:MAX_COMPARED], names), MIN_COSINE)
    together = [[order[int(name)] for name in sorted(group)] for group in joined]
    taken = {words for cluster in together for words in cluster}
    return together + [[words] for words in order if words not in taken]


def _similar_pairs(phrasings: Sequence[WordKey], ids: Mapping[WordKey, str]) -> PairProbabilities:
    """The pairs with a word in common that is not too common, and the cosine of their words' weights."""
    having: dict[str, list[WordKey]] = defaultdict(list)
    for words in phrasings:
        for word in words:
            having[word].append(words)
    weight = {word: math.log(1 + len(phrasings) / len(having[word])) ** 2 for word in having}
    length = {words: math.sqrt(sum(weight[word] for word in words)) for words in phrasings}
    pairs: PairProbabilities = {}
    for own in having.values():
        for one, other in combinations(own, 2) if len(own) <= MAX_PHRASINGS_PER_WORD else ():
            pair = (ids[one], ids[other])
            if pair not in pairs:
                shared = sum(weight[word] for word in set(one) & set(other))
                pairs[pair] = shared / (length[one] * length[other])
    return pairs


def _build_gap(
    members: Sequence[WordKey], phrasing_groups: Mapping[WordKey, _PhrasingGroup], ignored_digests: set[str]
) -> Gap:
    digests = tuple(map(_digest, members))
    own = [phrasing_groups[words] for words in members]
    titles = sum((a.titles for a in own), Counter[str]())
    examples = [PhrasingFrequency(title, times) for title, times in titles.most_common(MAX_EXAMPLES)]
    return Gap(
        id=digests[0],
        title=own[0].titles.most_common(1)[0][0],
        times=titles.total(),
        last_asked_at=max(a.last_asked_at for a in own),
        why=dict(sum((a.reasons for a in own), Counter[str]())),
        examples=examples,
        ignored=not ignored_digests.isdisjoint(digests),
        members=digests,
    )


def _digest(words: WordKey) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
