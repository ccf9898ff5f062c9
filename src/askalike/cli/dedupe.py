"""askalike dedupe: the duplicate clusters of a whole archive."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.archive.store import Archive
from askalike.cli._options import Directory, Fields, RankerName, Settings, chosen, progress, say_compiling
from askalike.curation.dedupe import dedupe as deduped
from askalike.curation.thresholds import Share


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(dedupe)


def dedupe(
    directory: Directory,
    output: Annotated[Path, typer.Option("-o", "--output", help="The CSV file of clusters.")],
    ranker: RankerName = None,
    settings: Settings = None,
    fields: Fields = None,
    min_probability: Annotated[float, typer.Option(help="How probable it has to be that a pair asks the same.")] = 0.5,
) -> None:
    """Propose clusters of questions that ask the same, each with an original and why it is that.

    Needs a calibration. Interrupted, the same command goes on where it was.
    """
    with Archive.open(directory) as archive, progress("looking for duplicates") as report:
        say_compiling()
        built = chosen(archive, ranker, settings, fields)
        result = deduped(archive, built, output, min_probability=min_probability, progress=report)
    members = sum(len(p.members) for p in result.proposals)
    print(f"of {result.share:.1%} of the questions the first hit is estimated to ask the same")
    print(f"{len(result.proposals):,} clusters of {members:,} questions at a probability of {result.line}: {output}")
    _print(result.known, "pairs between labelled questions are known duplicates")
    _print(result.found, "duplicate links lie within a cluster")


def _print(share: Share, what: str) -> None:
    if share.n:
        low, high = share.interval
        print(f"{share.value:.3f} [{low:.3f}, {high:.3f}] of {share.n:,} {what}")
