"""`askalike check`: is this archive fit to be searched and measured?"""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from askalike.cli._options import Directory, JsonOption
from askalike.cli._output import print_json
from askalike.cli._progress import progress_tracker
from askalike.health.checks import run_checks
from askalike.health.findings import Finding
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("check")(check_command)


def check_command(
    directory: Directory,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if anything was found.")] = False,
    ignore: Annotated[list[str] | None, typer.Option(metavar="CHECK", help="Leave a check out; repeatable.")] = None,
    json: JsonOption = False,
) -> None:
    """Report the health of an archive: titles, templates, label leaks, languages, references."""
    with Archive.open(directory) as archive, progress_tracker() as track:
        findings = run_checks(archive, ignored=ignore or (), track=track)
    count = sum(finding.count > 0 for finding in findings)
    if json:
        print_json({"found": count, "findings": [asdict(finding) for finding in findings]})
    else:
        print_findings(findings, Console(highlight=False))
    raise typer.Exit(1 if strict and count else 0)


def print_findings(findings: Sequence[Finding], console: Console) -> None:
    """Print the count of every check, the meaning of each that found something, loud ones first, and the verdict."""
    console.print(_findings_table(findings), "")
    hits = sorted((finding for finding in findings if finding.count), key=lambda finding: not finding.loud)
    for finding in hits:
        console.print(_format_name(finding), style="bold red" if finding.loud else "bold")
        console.print(Padding(escape(_format_details(finding)), (0, 0, 1, 2)))
    verdict = f"{len(hits)} of {len(findings)} checks found something" if hits else "nothing found: healthy"
    console.print(verdict, style="bold")


def _findings_table(findings: Sequence[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    table.add_column("check")
    table.add_column("found", justify="right")
    table.add_column("of")
    for finding in findings:
        style = ("bold red" if finding.loud else "bold") if finding.count else None
        table.add_row(_format_name(finding), f"{finding.count:,}", f"{finding.n:,} {finding.of}", style=style)
    return table


def _format_name(finding: Finding) -> str:
    words = finding.name.replace("_", " ")
    return words.upper() if finding.loud and finding.count else words


def _format_details(finding: Finding) -> str:
    lines = [finding.meaning, *finding.details]
    return "\n".join([*lines, f"e.g. {', '.join(finding.examples)}"] if finding.examples else lines)
