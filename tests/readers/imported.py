"""What the readers' tests look at: an archive just imported."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from askalike.core.types import Question
from askalike.store import Archive
from askalike.store.statistics import ArchiveSummary


@dataclass
class Imported:
    """An archive just imported, and the summary of that."""

    archive: Archive
    summary: ArchiveSummary

    @property
    def questions(self) -> dict[str, Question]:
        return {q.id: q for _, q in self.archive.view().questions()}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.archive._connection.execute(sql).fetchall()


Importing = Callable[..., Imported]
Refusing = Callable[..., None]
