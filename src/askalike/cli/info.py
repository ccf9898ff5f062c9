"""`askalike info`: what is in this archive?"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Table

from askalike.archive.lengths import Lengths
from askalike.archive.statistics import Statistics, statistics
from askalike.archive.store import Archive, storage_errors


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("info")(info)


def info(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The archive.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what is in an archive: counts, lengths, dates, tags, languages, evaluation sets, sizes."""
    with Archive.open(directory) as archive, storage_errors(directory):
        known = statistics(archive)
    if as_json:
        values = asdict(known)
        print(json.dumps(values.pop("summary") | values, ensure_ascii=False))
    else:
        report(known, Console(highlight=False))


def report(known: Statistics, console: Console) -> None:
    """Prints the statistics as two columns, the counts first."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for name, value in _lines(known):
        table.add_row(name, escape(value))
    console.print(table)


def _lines(known: Statistics) -> Iterator[tuple[str, str]]:
    if known.unfinished_import is not None:
        source = known.unfinished_import
        yield "warning", f"the import of {source} has not finished: it was interrupted or still runs; import again"
    counts = known.summary
    yield "questions", f"{counts.questions:,}"
    yield "answers", f"{counts.answers:,} to {known.answered_questions:,} questions"
    yield "duplicate links", f"{counts.duplicate_links:,} with both ends present"
    yield "related links", f"{known.related_links:,} with both ends present"
    yield "rejected", f"{counts.rejected:,} rows of the last import"
    for what, n in counts.notes.items():
        yield "", f"{n:,} {what}"
    yield "rephrasings", f"{known.rephrasings:,}"
    yield from _lengths("question", known.question_lengths)
    yield from _lengths("answer", known.answer_lengths)
    yield "asked", f"{known.first_date} to {known.last_date}" if known.first_date else "no dates"
    yield f"tags ({known.distinct_tags:,})", _named(known.tags)
    yield "categories", _named(known.categories)
    yield "languages", _named(known.languages)
    yield "licences", _named(known.licenses)
    for split in known.splits:
        judged = f"{split.judged:,} judged pairs ({split.relevant:,} relevant), {split.candidates:,} candidates"
        yield f"split {split.split}", f"{split.queries:,} queries, {judged}"
    for partition in known.partitions:
        yield f"cut {partition.name}", partition.made
        for part in partition.parts:
            figures = f"{part.queries:,} queries in {part.clusters:,} clusters, {part.links:,} relevant pairs"
            yield f"split {part.split}", figures
    yield "on disk", ", ".join(f"{name} {decimal(size)}" for name, size in known.size_bytes.items())


def _lengths(what: str, lengths: Lengths) -> Iterator[tuple[str, str]]:
    if lengths.n:
        of = f"a sample of {lengths.n:,}" if lengths.sampled else f"all {lengths.n:,}"
        for unit, spread in (("words", lengths.words), ("sentences", lengths.sentences)):
            figures = f"median {spread.median:g}, mean {spread.mean:g}, 90 % at most {spread.p90:g}"
            yield f"{unit} per {what}", f"{figures} ({of})"


def _named(table: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in table.items()) or "none"
