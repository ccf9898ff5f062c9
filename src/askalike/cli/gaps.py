"""askalike gaps: what people ask and the archive does not answer."""

from dataclasses import asdict
from typing import Annotated

import typer

from askalike.cli._options import Directory, JsonOption
from askalike.cli._output import print_json
from askalike.moderation.gaps import find_gaps, get_gap, ignore_gap, restore_gap
from askalike.store import Archive

REASON_LABELS = {"nothing": "found nothing", "none_of_these": "not helped", "posted_anyway": "posted anyway"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gaps")(gaps_command)


def gaps_command(
    directory: Directory,
    k: Annotated[int, typer.Option("-k", min=1, help="How many to show.")] = 20,
    min_probability: Annotated[
        float, typer.Option(min=0, max=1, help="Count what found nothing as probable, too.")
    ] = 0.0,
    ignored: Annotated[bool, typer.Option("--ignored", help="Show those that are ignored instead.")] = False,
    ignore: Annotated[str | None, typer.Option(metavar="ID", help="Ignore a gap from now on.")] = None,
    restore: Annotated[str | None, typer.Option(metavar="ID", help="Show an ignored gap again.")] = None,
    json: JsonOption = False,
) -> None:
    """What was asked over HTTP and found nothing, or nothing that helped: in clusters, the most frequent first."""
    with Archive.open(directory) as archive:
        if ignore:
            ignore_gap(archive, get_gap(archive, ignore, min_probability=min_probability))
        if restore:
            restore_gap(archive, get_gap(archive, restore, min_probability=min_probability))
        gaps = find_gaps(archive, min_probability=min_probability, ignored=ignored)[:k]
    if json:
        print_json({"gaps": [asdict(gap) for gap in gaps]})
        return
    for gap in gaps:
        why = ", ".join(f"{REASON_LABELS[name]} {times}" for name, times in sorted(gap.why.items()))
        print(f"{gap.times:5}  {gap.title}\n       {gap.id}  {gap.last_asked_at[:10]}  {why}")
        for phrasing in gap.examples[1:]:
            print(f"       {phrasing.times:5}  {phrasing.title}")
    if not gaps:
        print("no gaps: nothing that was asked and kept went without an answer")
