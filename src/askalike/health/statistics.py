"""What is in an archive: counts, dates, lengths, labels, and what it takes on disk."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from askalike.health.lengths import LengthStatistics, answer_lengths, question_lengths
from askalike.labels.partitions import Partition, list_partitions
from askalike.store.archive import DATABASE_FILE, Archive
from askalike.store.importing import ArchiveSummary, summarise_archive
from askalike.text.analyzer import Analyzer, AnalyzerSettings

TOP_COUNT = 10


@dataclass(frozen=True, slots=True)
class SplitSize:
    """A given evaluation set: queries, judged and relevant pairs, and candidates offered, in one split."""

    split: str
    queries: int
    judged: int
    relevant: int
    candidates: int


@dataclass(frozen=True, slots=True)
class ArchiveStatistics:
    """All that `askalike info` prints. Tables of names are the ten commonest, with their counts, falling."""

    summary: ArchiveSummary
    unfinished_import: str | None
    """The source of the last import where it was interrupted or is still running."""
    answered_questions: int
    related_links: int
    rephrasings: int
    first_date: str | None
    last_date: str | None
    tags: Mapping[str, int]
    distinct_tags: int
    categories: Mapping[str, int]
    languages: Mapping[str, int]
    licenses: Mapping[str, int]
    question_lengths: LengthStatistics
    answer_lengths: LengthStatistics
    splits: tuple[SplitSize, ...]
    partitions: tuple[Partition, ...]
    size_bytes: Mapping[str, int]
    """Bytes on disk of `archive`, `index/NAME` and `models/NAME`."""


def compute_statistics(archive: Archive, analyzer: Analyzer | None = None) -> ArchiveStatistics:
    """Everything at once. Lengths are taken on a seeded sample of at most 20,000 questions and as many answers."""
    analyzer = analyzer or Analyzer(AnalyzerSettings())
    first, last = archive.connection.execute("SELECT MIN(created_at), MAX(created_at) FROM questions").fetchone()
    return ArchiveStatistics(
        summary=summarise_archive(archive),
        unfinished_import=_unfinished_source(archive),
        answered_questions=_fetch_int(archive, "SELECT COUNT(DISTINCT question_id) FROM answers"),
        related_links=_count_links(archive, "related"),
        rephrasings=_fetch_int(
            archive, "SELECT SUM(json_array_length(rephrasings)) FROM questions WHERE rephrasings != '[]'"
        ),
        first_date=first,
        last_date=last,
        tags=_top_counts(archive, "SELECT tag, COUNT(*) FROM question_tags GROUP BY tag"),
        distinct_tags=_fetch_int(archive, "SELECT COUNT(DISTINCT tag) FROM question_tags"),
        categories=_top_counts(archive, _group_by_sql("category")),
        languages=_top_counts(archive, _group_by_sql("COALESCE(language, ?1)"), archive.view().language),
        licenses=_top_counts(archive, _group_by_sql("license")),
        question_lengths=question_lengths(archive, analyzer),
        answer_lengths=answer_lengths(archive, analyzer),
        splits=tuple(_split_sizes(archive)),
        partitions=tuple(list_partitions(archive)),
        size_bytes=disk_sizes(archive.path),
    )


def disk_sizes(path: Path) -> dict[str, int]:
    """Bytes on disk of an archive's database, and of each of its indexes and models."""
    found = {"archive": sum(f.stat().st_size for f in path.glob(f"{DATABASE_FILE}*"))}
    for folder in ("index", "models"):
        for child in sorted((path / folder).glob("*")):
            found[f"{folder}/{child.name}"] = sum(_file_sizes(child))
    return found


def _file_sizes(folder: Path) -> Iterator[int]:
    for where, _, names in os.walk(folder):
        yield from (os.lstat(os.path.join(where, name)).st_size for name in names)


def _split_sizes(archive: Archive) -> Iterator[SplitSize]:
    sql = (
        "SELECT s.split, (SELECT COUNT(*) FROM queries q WHERE q.split = s.split), COUNT(j.relevance), "
        "COALESCE(SUM(j.relevance > 0), 0), COUNT(j.position) "
        "FROM (SELECT split FROM queries UNION SELECT split FROM judgements) s "
        "LEFT JOIN judgements j ON j.split = s.split GROUP BY s.split ORDER BY s.split"
    )
    for row in archive.connection.execute(sql):
        yield SplitSize(*row)


def _unfinished_source(archive: Archive) -> str | None:
    row = archive.connection.execute("SELECT source, finished_at FROM imports ORDER BY number DESC LIMIT 1").fetchone()
    return str(row[0]) if row and row[1] is None else None


def _count_links(archive: Archive, kind: str) -> int:
    sql = (
        "SELECT COUNT(*) FROM links l JOIN questions s ON s.id = l.source JOIN questions t ON t.id = l.target "
        "WHERE l.kind = ?"
    )
    return _fetch_int(archive, sql, kind)


def _group_by_sql(column: str) -> str:
    return f"SELECT {column}, COUNT(*) FROM questions WHERE {column} IS NOT NULL GROUP BY 1"


def _top_counts(archive: Archive, sql: str, *values: str | None) -> dict[str, int]:
    return dict(archive.connection.execute(f"{sql} ORDER BY 2 DESC, 1 LIMIT {TOP_COUNT}", values).fetchall())


def _fetch_int(archive: Archive, sql: str, *values: str) -> int:
    return int(archive.connection.execute(sql, values).fetchone()[0] or 0)
