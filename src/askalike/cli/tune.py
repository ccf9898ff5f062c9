"""askalike tune: which settings suit this archive best, and what that is worth."""

from typing import Annotated

import typer

from askalike import registry
from askalike.archive.splits import split
from askalike.archive.store import Archive
from askalike.cli._options import Directory, Fields, Json, print_json, progress, say_compiling
from askalike.cli._tuned import NOTES, header, heading, row
from askalike.config import assignments
from askalike.errors import SettingsError
from askalike.experiment.estimate import FOLDS, SEED, estimate, sampled
from askalike.experiment.measuring import tuning_splits
from askalike.experiment.spaces import lexical

LEXICAL = ",".join(registry.names("similarity"))


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(tune)


def tune(
    directory: Directory,
    only: Annotated[str, typer.Option(help="What to tune: lexical, the settings of the lexical rankers.")] = "",
    dev: Annotated[str | None, typer.Option(metavar="SPLIT", help="Whose queries choose the settings.")] = None,
    test: Annotated[str | None, typer.Option(metavar="SPLIT", help="Whose queries measure them, once.")] = None,
    measure: Annotated[str, typer.Option(help="What to maximise, as ir-measures writes it.")] = "Success@10",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting to leave as given; may be repeated."),
    ] = None,
    fields: Fields = None,
    ranker_names: Annotated[str, typer.Option("--rankers", help="Which rankers, with commas.")] = LEXICAL,
    sample: Annotated[int | None, typer.Option(min=1, help="Choose on so many of the dev queries only.")] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds, where there is no test split.")] = FOLDS,
    seed: Annotated[int, typer.Option(help="Decides about folds and sample.")] = SEED,
    rule: Annotated[str, typer.Option(help="trec_eval, semeval, beir or lei.")] = "trec_eval",
    json: Json = False,
) -> None:
    """Find the settings that suit an archive best, and measure what that is worth.

    With a dev and a test split, settings are chosen on dev and measured once on test. With labels of one kind, nested
    cross-validation: each fold is measured with the settings that the others choose; duplicate clusters stay whole.
    """
    if only != "lexical":
        raise SettingsError(f"tune --only {only or '…'}: expected --only lexical; nothing else can be tuned yet")
    fixed = assignments(settings or []) | ({"fields": fields} if fields else {})
    with Archive.open(directory) as archive:
        first, second = tuning_splits(archive, dev, test)
        choosing, measuring = split(archive, first), split(archive, second) if second else None
        choosing = sampled(choosing, sample, seed) if sample else choosing
        spaces = {name: lexical(archive, name, fixed) for name in map(str.strip, ranker_names.split(","))}
        say_compiling()
        what, results = heading(directory, measure, first, second, len(choosing.qrels), folds, seed), []
        if not json:
            print(f"{what}\n\n{header()}")
        for name, space in spaces.items():
            with progress(f"tuning {name}") as report:
                results.append(
                    estimate(
                        archive, name, space, choosing, measuring, measure,
                        fixed=fixed, rule=rule, parts=folds, seed=seed, progress=report,
                    )
                )  # fmt: skip
            if not json:
                print(row(results[-1]), flush=True)
    if json:
        print_json({"what": what, "rankers": [result.as_dict() for result in results]})
    else:
        print(f"\n{NOTES}\n{results[0].tuned['test'].describe}")
