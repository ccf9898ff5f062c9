"""Gaps: what people ask and the archive does not answer, in clusters of phrasings, the most frequent first."""

import hashlib
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from askalike.archive.asked import Unhelped, unhelped
from askalike.archive.store import Archive, storage_errors
from askalike.archive.writer import atomic
from askalike.clock import now
from askalike.curation.grouping import groups
from askalike.curation.neighbours import Pairs
from askalike.errors import ArchiveError
from askalike.text.analyzer import Analyzer, AnalyzerSettings

ALIKE = 0.5
"""Phrasings are one where the cosine of their words, the rarer the heavier, is as high."""
LARGEST = 2_000
"""So many of the most frequent phrasings are compared with each other; the others stand alone."""
COMMON = 200
"""A word of more phrasings than this brings no two of them together by itself."""
EXAMPLES = 5
SHARE = 0.05
"""Of the time, what `Latest` takes at most."""


class NoGapError(ArchiveError):
    """Nothing that was asked is in such a gap."""


@dataclass(frozen=True, slots=True)
class Phrasing:
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
    examples: Sequence[Phrasing]
    ignored: bool
    members: Sequence[str]


@dataclass(slots=True)
class _Asked:
    """The same words, however they were put."""

    titles: Counter[str] = field(default_factory=Counter)
    why: Counter[str] = field(default_factory=Counter)
    last: str = ""

    @property
    def times(self) -> int:
        return self.titles.total()


Words = tuple[str, ...]


def gaps(archive: Archive, *, min_probability: float = 0.0, ignored: bool = False) -> list[Gap]:
    """What was asked and found nothing as probable, or nothing that helped: the most frequent first, then the latest.

    `ignored`: those that somebody wants to hear no more of, instead of the others. What comes into a cluster with one
    of them is ignored, too.
    """
    return [gap for gap in _everything(archive, min_probability) if gap.ignored == ignored]


def named(archive: Archive, id: str, *, min_probability: float = 0.0) -> Gap:
    """The gap with that id, ignored or not; traffic may have given it another since. Raises NoGapError."""
    found = next((gap for gap in _everything(archive, min_probability) if id in gap.members), None)
    if found is None:
        raise NoGapError(f"there is no gap {id!r}; it may have been deleted with the questions that were asked")
    return found


class Latest:
    """The gaps as they are, or were not long ago: finding them takes no more than a twentieth of the time.

    What somebody ignores, or wants to hear of again, counts at once. For one thread.
    """

    def __init__(self) -> None:
        self._found: list[Gap] = []
        self._told: object = None
        self._until = 0.0

    def gaps(self, archive: Archive, *, ignored: bool = False) -> list[Gap]:
        """See `gaps`."""
        told = archive.connection.execute("SELECT COUNT(*), MAX(ignored_at) FROM ignored_gaps").fetchone()
        started = time.monotonic()
        if told != self._told or started >= self._until:
            self._found, self._told = _everything(archive, 0.0), told
            self._until = started + (time.monotonic() - started) / SHARE
        return [gap for gap in self._found if gap.ignored == ignored]


def ignore(archive: Archive, gap: Gap, by: str = "") -> None:
    """Leaves a gap out from now on. Kept are digests of its words, not the texts."""
    at = now("milliseconds")
    rows = [(digest, at, by) for digest in gap.members]
    with storage_errors(archive.path), atomic(archive.connection):
        archive.connection.executemany("INSERT OR IGNORE INTO ignored_gaps VALUES (?, ?, ?)", rows)


def restore(archive: Archive, gap: Gap) -> None:
    """Shows a gap again that was ignored."""
    rows = [(digest,) for digest in gap.members]
    with storage_errors(archive.path), atomic(archive.connection):
        archive.connection.executemany("DELETE FROM ignored_gaps WHERE words = ?", rows)


def _everything(archive: Archive, min_probability: float) -> list[Gap]:
    """All gaps, the most frequent first."""
    asked = _by_words(unhelped(archive, min_probability), _reader(archive))
    told = {digest for (digest,) in archive.connection.execute("SELECT words FROM ignored_gaps")}
    found = sorted((_gap(members, asked, told) for members in _clusters(asked)), key=lambda gap: gap.id)
    found.sort(key=lambda gap: (gap.times, gap.last_asked_at), reverse=True)
    return found


def _reader(archive: Archive) -> Callable[[str], Words]:
    """From a title to its words: stems without function words, sorted, each once; all words where that leaves none."""
    language = archive.view().language
    telling, all_words = Analyzer(AnalyzerSettings(stop_words=True)), Analyzer()

    def read(title: str) -> Words:
        found = telling.tokens(title, language) or all_words.tokens(title, language) or [title.strip()]
        return tuple(sorted(set(found)))

    return read


def _by_words(rows: Iterable[Unhelped], read: Callable[[str], Words]) -> dict[Words, _Asked]:
    asked: dict[Words, _Asked] = defaultdict(_Asked)
    for title, at, why in rows:
        same = asked[read(title)]
        same.titles[title.strip()] += 1
        same.why[why] += 1
        same.last = max(same.last, at)
    return dict(asked)


def _clusters(asked: Mapping[Words, _Asked]) -> list[list[Words]]:
    """Phrasings that are alike, the most frequent first; every other one by itself."""
    order = sorted(asked, key=lambda words: (-asked[words].times, words))
    names = {words: f"{place:08}" for place, words in enumerate(order)}
    joined = groups(_alike(order[:LARGEST], names), ALIKE)
    together = [[order[int(name)] for name in sorted(group)] for group in joined]
    taken = {words for cluster in together for words in cluster}
    return together + [[words] for words in order if words not in taken]


def _alike(phrasings: Sequence[Words], names: Mapping[Words, str]) -> Pairs:
    """The pairs with a word in common that is not too common, and the cosine of their words' weights."""
    having: dict[str, list[Words]] = defaultdict(list)
    for words in phrasings:
        for word in words:
            having[word].append(words)
    weight = {word: math.log(1 + len(phrasings) / len(having[word])) ** 2 for word in having}
    length = {words: math.sqrt(sum(weight[word] for word in words)) for words in phrasings}
    pairs: Pairs = {}
    for own in having.values():
        for one, other in combinations(own, 2) if len(own) <= COMMON else ():
            pair = (names[one], names[other])
            if pair not in pairs:
                shared = sum(weight[word] for word in set(one) & set(other))
                pairs[pair] = shared / (length[one] * length[other])
    return pairs


def _gap(members: Sequence[Words], asked: Mapping[Words, _Asked], told: set[str]) -> Gap:
    digests = tuple(map(_digest, members))
    own = [asked[words] for words in members]
    titles = sum((a.titles for a in own), Counter[str]())
    examples = [Phrasing(title, times) for title, times in titles.most_common(EXAMPLES)]
    return Gap(
        id=digests[0],
        title=own[0].titles.most_common(1)[0][0],
        times=titles.total(),
        last_asked_at=max(a.last for a in own),
        why=dict(sum((a.why for a in own), Counter[str]())),
        examples=examples,
        ignored=not told.isdisjoint(digests),
        members=digests,
    )


def _digest(words: Words) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
