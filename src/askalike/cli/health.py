"""askalike check, info: whether an archive is fit for search and evaluation, and what it contains."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Annotated

from rich.filesize import decimal
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from typer import Exit, Option

import askalike.cli.options as options
from askalike.cli.output import describe_untuned, open_console, plain_table, progress_tracker, to_json
from askalike.core.values import format_count
from askalike.health import require_check, run_checks
from askalike.health.findings import Finding
from askalike.health.statistics import ArchiveStatistics, LengthStatistics, compute_statistics
from askalike.store import Archive, storage_errors


def check_command(
    directory: options.Directory,
    strict: Annotated[bool, Option("--strict", help="Exit with 1 if a check finds anything.")] = False,
    skip: Annotated[
        list[str] | None, options.value("CHECK", "Skip this check; may be repeated.", parse=require_check)
    ] = None,
    json: options.Json = False,
) -> None:
    """Check an archive: titles, templates, label leaks, languages, references.

    Examples:

    ```
    askalike check DIR
    askalike check DIR --strict --skip unknown_languages
    ```
    """
    with Archive.open(directory) as archive, progress_tracker() as track:
        findings = run_checks(archive, ignored=skip or (), track=track)
    hits = sorted((finding for finding in findings if finding.count), key=lambda finding: not finding.serious)
    if json:
        print(to_json({"count": len(hits), "findings": [asdict(finding) for finding in findings]}))
    else:
        console = open_console(highlight=False)
        console.print(_findings_table(findings), "")
        for finding in hits:
            console.print(_format_name(finding), style=_style(finding))
            examples = [f"e.g. {', '.join(finding.examples)}"] if finding.examples else []
            details = "\n".join([finding.meaning, *finding.details, *examples])
            console.print(Padding(escape(details), (0, 0, 1, 2)))
        verdict = f"{len(hits)} of {len(findings)} checks found something" if hits else "nothing found: healthy"
        console.print(verdict, style="bold")
    raise Exit(1 if strict and hits else 0)


def _findings_table(findings: list[Finding]) -> Table:
    table = plain_table("check", ">found", "of")
    for finding in findings:
        row = (_format_name(finding), f"{finding.count:,}", f"{finding.n:,} {finding.unit}")
        table.add_row(*row, style=_style(finding) if finding.count else None)
    return table


def _style(finding: Finding) -> str:
    return "bold red" if finding.serious else "bold"


def _format_name(finding: Finding) -> str:
    words = finding.name.replace("_", " ")
    return words.upper() if finding.serious and finding.count else words


def info_command(directory: options.Directory, json: options.Json = False) -> None:
    """Show what an archive holds: counts, lengths, dates, tags, splits, sizes.

    Examples:

    ```
    askalike info DIR
    askalike info DIR --json
    ```
    """
    with Archive.open(directory) as archive, storage_errors(directory):
        statistics = compute_statistics(archive)
    if json:
        values = asdict(statistics)
        print(to_json(values.pop("summary") | values))
        return
    table = plain_table()
    for name, value in _statistics_rows(statistics):
        table.add_row(name, escape(value))
    open_console(highlight=False).print(table)


def _statistics_rows(stats: ArchiveStatistics) -> Iterator[tuple[str, str]]:
    if stats.unfinished_import is not None:
        source = stats.unfinished_import
        yield "warning", f"the import of {source} has not finished: it was interrupted or still runs; import again"
    counts = stats.summary
    yield "questions", f"{counts.questions:,}"
    yield "answers", f"{counts.answers:,} to {format_count(stats.answered_questions, 'question')}"
    yield "duplicate links", f"{counts.duplicate_links:,} with both ends present"
    if stats.untuned_duplicates:
        yield "", describe_untuned(stats.untuned_duplicates, "DIR")
    yield "related links", f"{stats.related_links:,} with both ends present"
    yield "rejected", f"{format_count(counts.rejected, 'row')} of the last import"
    for what, n in counts.notes.items():
        yield "", f"{what}: {n:,}"
    yield "rephrasings", f"{stats.rephrasings:,}"
    yield from _length_rows("question", stats.question_lengths)
    yield from _length_rows("answer", stats.answer_lengths)
    yield "asked", f"{stats.first_date} to {stats.last_date}" if stats.first_date else "no dates"
    yield f"tags ({stats.distinct_tags:,})", _format_counts(stats.tags)
    yield "categories", _format_counts(stats.categories)
    yield "languages", _format_counts(stats.languages)
    yield "licences", _format_counts(stats.licenses)
    for brought in stats.sources:
        name = f"source {brought.name}" if brought.name is not None else "written here"
        imported = f", imported {brought.imported_at[:10]}" if brought.imported_at else ""
        contents = f"{format_count(brought.questions, 'question')}, {format_count(brought.answers, 'answer')}"
        yield name, contents + imported
    yield from _split_rows(stats)
    if stats.encoder:
        revision = f" at {stats.encoder.revision}" if stats.encoder.revision else ""
        progress = f"; {stats.encoding.describe()}" if stats.encoding else ""
        yield "encoder", f"{stats.encoder.name}, from {stats.encoder.source}{revision}{progress}"
    yield "on disk", ", ".join(f"{name} {decimal(size)}" for name, size in stats.size_bytes.items())


def _split_rows(stats: ArchiveStatistics) -> Iterator[tuple[str, str]]:
    for split in stats.splits:
        judged = f"{format_count(split.judged, 'judged pair')} ({split.relevant:,} relevant)"
        figures = format_count(split.queries, "query"), judged, format_count(split.candidates, "candidate")
        yield f"split {split.split}", ", ".join(figures)
    for partition in stats.partitions:
        yield f"cut {partition.name}", partition.description
        for part in partition.parts:
            queries = f"{format_count(part.queries, 'query')} in {format_count(part.clusters, 'cluster')}"
            yield f"split {part.split}", f"{queries}, {format_count(part.links, 'relevant pair')}"


def _length_rows(text_kind: str, lengths: LengthStatistics) -> Iterator[tuple[str, str]]:
    if lengths.n:
        sample = f"a sample of {lengths.n:,}" if lengths.sampled else f"all {lengths.n:,}"
        for unit, spread in (("words", lengths.words), ("sentences", lengths.sentences)):
            figures = f"median {spread.median:g}, mean {spread.mean:g}, 90 % at most {spread.p90:g}"
            yield f"{unit} per {text_kind}", f"{figures} ({sample})"


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in counts.items()) or "none"
