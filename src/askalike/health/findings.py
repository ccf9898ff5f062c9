"""The input and the result of a check of an archive."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from askalike.core.iteration import ProgressTracker, skip_tracking
from askalike.core.records import Question
from askalike.store import Archive, View
from askalike.text.analyzer import Analyzer, AnalyzerSettings

MAX_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check: `count` of `n` things have the fault, 0 if the archive is clean.

    unit: what the things are. meaning: a sentence on why the fault matters and what to do. examples: at most five
    ids. details: at most five lines about the fault. serious: whether the finding is serious.
    """

    name: str
    count: int
    n: int
    unit: str
    meaning: str
    examples: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    serious: bool = False


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The archive to check, with the analyzer used to index it."""

    archive: Archive
    view: View
    language: str | None = None
    """The archive's own language, for questions without one."""
    analyzer: Analyzer = field(default_factory=lambda: Analyzer(AnalyzerSettings()))
    track: ProgressTracker = skip_tracking

    def titles(self, description: str) -> Iterable[tuple[int, str, str]]:
        """Return docid, id and title of every question, by docid."""
        return self.track(self.view.titles(), total=len(self.view), description=description)

    def questions(self, description: str) -> Iterable[tuple[int, Question]]:
        """Return every question with its docid, by docid."""
        return self.track(self.view.questions(), total=len(self.view), description=description)

    def tokens(self, question: Question) -> Iterator[list[str]]:
        """Yield the tokens of a question's title, then those of its body."""
        language = question.language or self.language
        yield self.analyzer.analyze(question.title, language)
        yield self.analyzer.analyze(self.analyzer.plain_text(question.body, question.markup), language)


def count_with_examples(ids: Iterable[str]) -> tuple[int, tuple[str, ...]]:
    """Return the number of ids, and the first five. Reads them once."""
    rest = iter(ids)
    first = tuple(islice(rest, MAX_EXAMPLES))
    return len(first) + sum(1 for _ in rest), first


Check = Callable[[CheckContext], Finding]
"""A check streams the archive, with only a few numbers per question in memory."""
