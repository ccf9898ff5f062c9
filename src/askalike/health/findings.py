"""What a check of an archive is given and what it says."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from askalike.store.tracking import ProgressTracker, skip_tracking
from askalike.store.view import View
from askalike.text.analyzer import Analyzer, AnalyzerSettings
from askalike.types import Question

MAX_EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Finding:
    """`count` of `n` things (`of` says which) have what the check looks for; 0 is a clean bill.

    `meaning` is a sentence on why it matters and what to do. `examples` are at most five ids; `details` are
    at most five lines that show what was found. What is `loud` must not be overlooked.
    """

    name: str
    count: int
    n: int
    of: str
    meaning: str
    examples: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    loud: bool = False


@dataclass(frozen=True, slots=True)
class CheckContext:
    """The archive under examination, with the analyzer it would be indexed with."""

    view: View
    language: str | None = None
    """The archive's own language, for questions that do not have one."""
    analyzer: Analyzer = field(default_factory=lambda: Analyzer(AnalyzerSettings()))
    track: ProgressTracker = skip_tracking

    def titles(self, description: str) -> Iterable[tuple[int, str, str]]:
        """Number, id and title of every question, in the archive's order."""
        rows = self.view.connection.execute("SELECT number, id, title FROM questions ORDER BY number")
        return self.track(rows, total=len(self.view), description=description)

    def questions(self, description: str) -> Iterable[tuple[int, Question]]:
        """Every question with its number, in the archive's order."""
        return self.track(self.view.questions(), total=len(self.view), description=description)

    def tokens(self, question: Question) -> Iterator[list[str]]:
        """The tokens of a question's title, then those of its body, each made when asked for."""
        language = question.language or self.language
        yield self.analyzer.analyze(question.title, language)
        yield self.analyzer.analyze(self.analyzer.plain_text(question.body, question.markup), language)

    def fetch_int(self, sql: str, *values: Any) -> int:
        """The single number that a query gives; NULL is 0."""
        return int(self.view.connection.execute(sql, values).fetchone()[0] or 0)

    def fetch_examples(self, sql: str, *values: Any) -> tuple[str, ...]:
        """The first column of a query's first five rows."""
        rows = self.view.connection.execute(f"{sql} LIMIT {MAX_EXAMPLES}", values)
        return tuple(str(row[0]) for row in rows)


def count_with_examples(ids: Iterable[str]) -> tuple[int, tuple[str, ...]]:
    """How many ids there are, and the first five. Reads them once."""
    rest = iter(ids)
    first = tuple(islice(rest, MAX_EXAMPLES))
    return len(first) + sum(1 for _ in rest), first


Check = Callable[[CheckContext], Finding]
"""One question put to an archive. It streams, and holds no more than a few numbers per question."""
