"""`askalike info`: what is in this archive?"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from askalike.cli._options import Directory, JsonOption
from askalike.cli._output import print_json
from askalike.health.statistics import ArchiveStatistics, LengthStatistics, compute_statistics
from askalike.store import Archive, storage_errors


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("info")(info)


def info(
    directory: Directory,
    json: JsonOption = False,
) -> None:
    """Say what is in an archive: counts, lengths, dates, tags, languages, evaluation sets, sizes."""
    with Archive.open(directory) as archive, storage_errors(directory):
        statistics = compute_statistics(archive)
    if json:
        values = asdict(statistics)
        print_json(values.pop("summary") | values)
    else:
        print_statistics(statistics, Console(highlight=False))


def print_statistics(stats: ArchiveStatistics, console: Console) -> None:
    """Print the statistics as two columns, the counts first."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for name, value in _statistics_rows(stats):
        table.add_row(name, escape(value))
    console.print(table)


def _statistics_rows(stats: ArchiveStatistics) -> Iterator[tuple[str, str]]:
    if stats.unfinished_import is not None:
        source = stats.unfinished_import
        yield "warning", f"the import of {source} has not finished: it was interrupted or still runs; import again"
    counts = stats.summary
    yield "questions", f"{counts.questions:,}"
    yield "answers", f"{counts.answers:,} to {stats.answered_questions:,} questions"
    yield "duplicate links", f"{counts.duplicate_links:,} with both ends present"
    yield "related links", f"{stats.related_links:,} with both ends present"
    yield "rejected", f"{counts.rejected:,} rows of the last import"
    for what, n in counts.notes.items():
        yield "", f"{n:,} {what}"
    yield "rephrasings", f"{stats.rephrasings:,}"
    yield from _length_rows("question", stats.question_lengths)
    yield from _length_rows("answer", stats.answer_lengths)
    yield "asked", f"{stats.first_date} to {stats.last_date}" if stats.first_date else "no dates"
    yield f"tags ({stats.distinct_tags:,})", _format_counts(stats.tags)
    yield "categories", _format_counts(stats.categories)
    yield "languages", _format_counts(stats.languages)
    yield "licences", _format_counts(stats.licenses)
    for split in stats.splits:
        judged = f"{split.judged:,} judged pairs ({split.relevant:,} relevant), {split.candidates:,} candidates"
        yield f"split {split.split}", f"{split.queries:,} queries, {judged}"
    for partition in stats.partitions:
        yield f"cut {partition.name}", partition.description
        for part in partition.parts:
            figures = f"{part.queries:,} queries in {part.clusters:,} clusters, {part.links:,} relevant pairs"
            yield f"split {part.split}", figures
    yield "on disk", ", ".join(f"{name} {decimal(size)}" for name, size in stats.size_bytes.items())


def _length_rows(text_kind: str, lengths: LengthStatistics) -> Iterator[tuple[str, str]]:
    if lengths.n:
        sample = f"a sample of {lengths.n:,}" if lengths.sampled else f"all {lengths.n:,}"
        for unit, spread in (("words", lengths.words), ("sentences", lengths.sentences)):
            figures = f"median {spread.median:g}, mean {spread.mean:g}, 90 % at most {spread.p90:g}"
            yield f"{unit} per {text_kind}", f"{figures} ({sample})"


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items()) or "none"
