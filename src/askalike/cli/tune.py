"""askalike tune: which ranker suits this archive best, and what that is worth."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from askalike import registry
from askalike.archive.splits import split
from askalike.archive.store import Archive
from askalike.cli import _ladder
from askalike.cli._options import Directory, Fields, Json, print_json, progress, say_compiling
from askalike.cli._training import remark
from askalike.cli._tuned import NOTES, header, heading, row
from askalike.config import assignments
from askalike.errors import SettingsError
from askalike.experiment.estimate import FOLDS, SEED, Estimate, estimate, sampled
from askalike.experiment.measuring import tuning_splits
from askalike.experiment.spaces import lexical
from askalike.tune.budget import seconds
from askalike.tune.run import MEASURE
from askalike.tune.run import tune as climb

LEXICAL = ",".join(registry.names("similarity"))
LEXICAL_MEASURE = "Success@10"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(tune)


def tune(
    directory: Directory,
    budget: Annotated[str, typer.Option(metavar="TIME", help="How long it may take: 90s, 10m, 1.5h.")] = "10m",
    encoder: Annotated[
        str, typer.Option(metavar="MODEL", help="A pre-trained encoder that teaches and competes: a folder or package.")
    ] = "",
    measure: Annotated[
        str, typer.Option(help=f"What to maximise, as ir-measures writes it; default: {MEASURE}.", show_default=False)
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting that all rankers have; may be repeated."),
    ] = None,
    fields: Fields = None,
    seed: Annotated[int, typer.Option(help="Decides about parts, folds and samples.")] = SEED,
    rule: Annotated[str, typer.Option(help="trec_eval, semeval, beir or lei.")] = "trec_eval",
    only: Annotated[
        str, typer.Option(help="lexical: only the settings of the lexical rankers, on a finer grid; serves nothing.")
    ] = "",
    dev: Annotated[str | None, typer.Option(metavar="SPLIT", help="With --only: whose queries choose.")] = None,
    test: Annotated[str | None, typer.Option(metavar="SPLIT", help="With --only: whose queries measure, once.")] = None,
    ranker_names: Annotated[
        str, typer.Option("--rankers", help="With --only: which rankers, with commas.", show_default=False)
    ] = LEXICAL,
    sample: Annotated[
        int | None, typer.Option(min=1, help="With --only: choose on so many of the dev queries only.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="With --only: folds, where there is no test split.")] = FOLDS,
    json: Json = False,
) -> None:
    """Find the ranker that suits an archive best, prove it, put it into service, and calibrate it.

    Tries, from the simplest on and as long as the budget lasts: six similarities, each tuned; packaged vectors;
    encoders trained on the archive's own pairs, or taught by a pre-trained one; that one itself; each alone and with
    words, with votes where there are any, with distinct hits where duplicates are known. Serves the simplest that no
    other beats significantly, and never one that does not beat words. The same command goes on where it was
    interrupted.
    """
    fixed = assignments(settings or []) | ({"fields": fields} if fields else {})
    if only:
        _only(
            only, directory, fixed, dev, test, measure or LEXICAL_MEASURE, ranker_names, sample, folds, seed, rule, json
        )
        return
    if dev or test or sample:
        raise SettingsError("--dev, --test and --sample go with --only lexical; tune divides the labels itself")
    limit = seconds(budget)
    with Archive.open(directory) as archive:
        say_compiling()
        shown = _ladder.Shown(directory, measure or MEASURE, quiet=json)
        outcome = climb(
            archive, budget_s=limit, encoder=encoder, measure=measure or MEASURE, rule=rule, fixed=fixed, seed=seed,
            tell=shown, say=remark,
        )  # fmt: skip
    if json:
        print_json(_ladder.as_dict(outcome))
    else:
        print(_ladder.ending(outcome, directory))


def _only(
    only: str, directory: Path, fixed: dict[str, Any], dev: str | None, test: str | None, measure: str, names: str,
    sample: int | None, folds: int, seed: int, rule: str, json: bool,
) -> None:  # fmt: skip
    """Tunes lexical rankers alone and measures what that is worth."""
    if only != "lexical":
        raise SettingsError(f"tune --only {only}: expected --only lexical")
    with Archive.open(directory) as archive:
        first, second = tuning_splits(archive, dev, test)
        choosing, measuring = split(archive, first), split(archive, second) if second else None
        choosing = sampled(choosing, sample, seed) if sample else choosing
        spaces = {name: lexical(archive, name, fixed) for name in map(str.strip, names.split(","))}
        say_compiling()
        what = heading(directory, measure, first, second, len(choosing.qrels), folds, seed)
        results: list[Estimate] = []
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
    _end(what, results, json)


def _end(what: str, results: Sequence[Estimate], json: bool) -> None:
    if json:
        print_json({"what": what, "rankers": [result.as_dict() for result in results]})
    else:
        print(f"\n{NOTES}\n{results[0].tuned['test'].describe}")
