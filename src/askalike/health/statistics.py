"""The contents of an archive: counts, dates, lengths, labels, and its size on disk."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from askalike.core.files import measure_folder
from askalike.labels.partitions import Partition, list_partitions
from askalike.store import (
    Archive,
    ArchiveSummary,
    View,
    contents,
    count_questions_by,
    sample_answers,
    sample_questions,
    takes_archive,
)
from askalike.store.contents import SplitSize
from askalike.store.database import DATABASE_FILE
from askalike.store.deployments import ArchiveEncoder, get_archive_encoder
from askalike.store.encoding_progress import EncodingProgress, read_encoding
from askalike.store.labels import count_links
from askalike.store.sources import SourceSummary, summarise_sources
from askalike.text.analyzer import Analyzer
from askalike.text.passages import split_sentences

TOP_COUNT = 10


@dataclass(frozen=True, slots=True)
class LengthDistribution:
    """The distribution of a length; all values are 0 if there are no texts."""

    median: float
    mean: float
    p90: float


@dataclass(frozen=True, slots=True)
class LengthStatistics:
    """Words (the analyzer's tokens) and sentences per text, of `n` texts: all, or a sample of at most 20,000."""

    n: int
    sampled: bool
    words: LengthDistribution
    sentences: LengthDistribution


@dataclass(frozen=True, slots=True)
class ArchiveStatistics:
    """The output of `askalike info`. Tables have the ten most frequent values with their counts, descending."""

    summary: ArchiveSummary
    unfinished_import: str | None
    """The source of the last import, if it was interrupted or is still running."""
    answered_questions: int
    related_links: int
    untuned_duplicates: int
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
    sources: tuple[SourceSummary, ...]
    splits: tuple[SplitSize, ...]
    partitions: tuple[Partition, ...]
    encoder: ArchiveEncoder | None
    """The archive's pre-trained encoder."""
    encoding: EncodingProgress | None
    """The progress of its vectors; None if none are missing."""
    size_bytes: Mapping[str, int]
    """Size on disk of `archive`, `index/NAME` and `models/NAME`, in bytes."""


@takes_archive
def compute_statistics(archive: Archive) -> ArchiveStatistics:
    """Compute all statistics; lengths are from a seeded sample of at most 20,000 questions and 20,000 answers.

    archive: or its directory.
    """
    view = archive.view()
    encoder = get_archive_encoder(archive)
    analyzer = Analyzer()
    questions = (([q.title, analyzer.plain_text(q.body, q.markup)], q.language) for q in sample_questions(view))
    answers = (([analyzer.plain_text(a.body, a.markup)], None) for a in sample_answers(view))
    return ArchiveStatistics(
        **contents.count_content(view)._asdict(),
        summary=contents.summarise_archive(view),
        unfinished_import=contents.unfinished_import(view),
        related_links=count_links(view, "related"),
        untuned_duplicates=contents.count_untuned(view),
        tags=count_questions_by(view, "tag", TOP_COUNT),
        categories=count_questions_by(view, "category", TOP_COUNT),
        languages=count_questions_by(view, "language", TOP_COUNT, default=view.language),
        licenses=count_questions_by(view, "license", TOP_COUNT),
        question_lengths=_measure_lengths(questions, view, analyzer),
        answer_lengths=_measure_lengths(answers, archive.view("answers"), analyzer),
        sources=tuple(summarise_sources(view)),
        splits=tuple(contents.split_sizes(view)),
        partitions=tuple(list_partitions(archive)),
        encoder=encoder,
        encoding=read_encoding(archive.path, encoder.name) if encoder else None,
        size_bytes=disk_sizes(archive.path),
    )


def disk_sizes(path: Path) -> dict[str, int]:
    """Return the size on disk of an archive's database, each of its indexes and models, and saved work, in bytes."""
    sizes = {"archive": sum(f.stat().st_size for f in path.glob(f"{DATABASE_FILE}*"))}
    for folder in ("index", "models"):
        for child in sorted((path / folder).glob("*")):
            sizes[f"{folder}/{child.name}"] = child.stat().st_size if child.is_file() else measure_folder(child)
    return sizes


def _measure_lengths(
    texts: Iterable[tuple[Sequence[str], str | None]], view: View, analyzer: Analyzer
) -> LengthStatistics:
    """Measure the texts of a view, or a sample of them, each given by its fields and its own language."""
    words: list[int] = []
    sentences: list[int] = []
    language = view.language
    for fields, text_language in texts:
        words.append(sum(len(analyzer.analyze(field, text_language or language)) for field in fields))
        sentences.append(sum(len(split_sentences(field)) for field in fields))
    is_sampled = len(words) < len(view)
    return LengthStatistics(len(words), is_sampled, _summarise(words), _summarise(sentences))


def _summarise(values: Sequence[int]) -> LengthDistribution:
    if not values:
        return LengthDistribution(0.0, 0.0, 0.0)
    median, mean, p90 = float(np.median(values)), float(np.mean(values)), float(np.quantile(values, 0.9))
    return LengthDistribution(median, round(mean, 2), round(p90, 2))
