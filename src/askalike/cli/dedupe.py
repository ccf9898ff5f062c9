"""askalike dedupe: the duplicate clusters of a whole archive."""

from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import (
    Directory,
    FieldsOption,
    RankerOption,
    SettingsOption,
    announce_compilation,
    build_ranker,
)
from askalike.cli._output import format_proportion
from askalike.cli._progress import progress_bar
from askalike.evaluation.proportion import BinomialProportion
from askalike.moderation.dedupe import dedupe
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("dedupe")(dedupe_command)


def dedupe_command(
    directory: Directory,
    output: Annotated[Path, typer.Option("-o", "--output", help="The CSV file of clusters.")],
    ranker: RankerOption = None,
    settings: SettingsOption = None,
    fields: FieldsOption = None,
    min_probability: Annotated[float, typer.Option(help="How probable it has to be that a pair asks the same.")] = 0.5,
) -> None:
    """Propose clusters of questions that ask the same, each with an original and why it is that.

    Needs a calibration. Interrupted, the same command goes on where it was.
    """
    with Archive.open(directory) as archive, progress_bar("looking for duplicates") as report:
        announce_compilation()
        built = build_ranker(archive, ranker, settings, fields)
        result = dedupe(archive, built, output, min_probability=min_probability, progress=report)
    members = sum(len(p.members) for p in result.proposals)
    print(f"of {result.duplicate_rate:.1%} of the questions the first hit is estimated to ask the same")
    print(
        f"{len(result.proposals):,} clusters of {members:,} questions at a probability of {result.threshold}: {output}"
    )
    _print_proportion(result.pair_precision, "pairs between labelled questions are known duplicates")
    _print_proportion(result.link_recall, "duplicate links lie within a cluster")


def _print_proportion(proportion: BinomialProportion, description: str) -> None:
    if proportion.n:
        print(f"{format_proportion(proportion)} of {proportion.n:,} {description}")
