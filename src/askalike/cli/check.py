"""`askalike check`: is this archive fit to be searched and measured?"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from askalike.archive.check import check
from askalike.archive.findings import Finding
from askalike.archive.store import Archive
from askalike.cli._progress import progress


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("check")(check_command)


def check_command(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The archive.")],
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if anything was found.")] = False,
    ignore: Annotated[list[str] | None, typer.Option(metavar="CHECK", help="Leave a check out; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Report the health of an archive: titles, templates, label leaks, languages, references."""
    with Archive.open(directory) as archive, progress() as track:
        findings = check(archive, ignore=ignore or (), track=track)
    found = sum(finding.count > 0 for finding in findings)
    if as_json:
        print(json.dumps({"found": found, "findings": [asdict(f) for f in findings]}, ensure_ascii=False))
    else:
        report(findings, Console(highlight=False))
    raise typer.Exit(1 if strict and found else 0)


def report(findings: Sequence[Finding], console: Console) -> None:
    """Prints every check's count, then what those that found something mean, the loud ones first, and the verdict."""
    console.print(_table(findings), "")
    found = sorted((finding for finding in findings if finding.count), key=lambda finding: not finding.loud)
    for finding in found:
        console.print(_name(finding), style="bold red" if finding.loud else "bold")
        console.print(Padding(escape(_explained(finding)), (0, 0, 1, 2)))
    verdict = f"{len(found)} of {len(findings)} checks found something" if found else "nothing found: healthy"
    console.print(verdict, style="bold")


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    table.add_column("check")
    table.add_column("found", justify="right")
    table.add_column("of")
    for finding in findings:
        style = ("bold red" if finding.loud else "bold") if finding.count else None
        table.add_row(_name(finding), f"{finding.count:,}", f"{finding.n:,} {finding.of}", style=style)
    return table


def _name(finding: Finding) -> str:
    words = finding.name.replace("_", " ")
    return words.upper() if finding.loud and finding.count else words


def _explained(finding: Finding) -> str:
    lines = [finding.meaning, *finding.details]
    return "\n".join([*lines, f"e.g. {', '.join(finding.examples)}"] if finding.examples else lines)
