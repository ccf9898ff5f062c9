"""askalike tune: which ranker suits this archive best, and what that is worth."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from askalike import registry
from askalike.cli import _ladder
from askalike.cli._options import Directory, FieldsOption, JsonOption, announce_compilation, print_json, progress_bar
from askalike.cli._training import print_remark
from askalike.cli._tuned import NOTES, format_heading, format_rows, format_table_header
from askalike.config import parse_assignments
from askalike.errors import SettingsError
from askalike.experiments.grid_search import lexical_grids
from askalike.experiments.measuring import LEXICAL_TUNING_MEASURE, TUNING_MEASURE, tuning_splits
from askalike.experiments.nested_estimate import FOLDS, SEED, TuningEstimate, estimate_tuning, sample_queries
from askalike.labels.splits import load_split
from askalike.store.archive import Archive
from askalike.tuning.run import tune_archive
from askalike.tuning.state import parse_duration

LEXICAL_RANKERS = ",".join(registry.names("similarity"))


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
        str,
        typer.Option(
            help=f"What to maximise, as ir-measures writes it; default: {TUNING_MEASURE}.", show_default=False
        ),
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting that all rankers have; may be repeated."),
    ] = None,
    fields: FieldsOption = None,
    seed: Annotated[int, typer.Option(help="Decides about parts, folds and samples.")] = SEED,
    rule: Annotated[str, typer.Option(help="trec_eval, semeval, beir or lei.")] = "trec_eval",
    only: Annotated[
        str, typer.Option(help="lexical: only the settings of the lexical rankers, on a finer grid; serves nothing.")
    ] = "",
    dev: Annotated[str | None, typer.Option(metavar="SPLIT", help="With --only: whose queries choose.")] = None,
    test: Annotated[str | None, typer.Option(metavar="SPLIT", help="With --only: whose queries measure, once.")] = None,
    ranker_names: Annotated[
        str, typer.Option("--rankers", help="With --only: which rankers, with commas.", show_default=False)
    ] = LEXICAL_RANKERS,
    sample: Annotated[
        int | None, typer.Option(min=1, help="With --only: choose on so many of the dev queries only.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="With --only: folds, where there is no test split.")] = FOLDS,
    json: JsonOption = False,
) -> None:
    """Find the ranker that suits an archive best, prove it, put it into service, and calibrate it.

    Tries, from the simplest on and as long as the budget lasts: six similarities, each tuned; packaged vectors;
    encoders trained on the archive's own pairs, or taught by a pre-trained one; that one itself; each alone and with
    words, with votes where there are any, with distinct hits where duplicates are known. Serves the simplest that no
    other beats significantly, and never one that does not beat words. The same command goes on where it was
    interrupted.
    """
    fixed = parse_assignments(settings or []) | ({"fields": fields} if fields else {})
    if only:
        _tune_lexical(
            only,
            directory,
            fixed,
            dev,
            test,
            measure or LEXICAL_TUNING_MEASURE,
            ranker_names,
            sample,
            folds,
            seed,
            rule,
            json,
        )
        return
    if dev or test or sample:
        raise SettingsError("--dev, --test and --sample go with --only lexical; tune divides the labels itself")
    limit = parse_duration(budget)
    with Archive.open(directory) as archive:
        announce_compilation()
        shown = _ladder.TuningPrinter(directory, measure or TUNING_MEASURE, quiet=json)
        outcome = tune_archive(
            archive, budget_s=limit, encoder=encoder, measure=measure or TUNING_MEASURE, rule=rule, fixed=fixed, seed=seed,
            on_event=shown, log=print_remark,
        )  # fmt: skip
    if json:
        print_json(_ladder.outcome_as_dict(outcome))
    else:
        print(_ladder.format_outcome(outcome, directory))


def _tune_lexical(
    only: str, directory: Path, fixed: dict[str, Any], dev: str | None, test: str | None, measure: str, names: str,
    sample: int | None, folds: int, seed: int, rule: str, json: bool,
) -> None:  # fmt: skip
    """Tunes lexical rankers alone and measures what that is worth."""
    if only != "lexical":
        raise SettingsError(f"tune --only {only}: expected --only lexical")
    with Archive.open(directory) as archive:
        first, second = tuning_splits(archive, dev, test)
        choosing, measuring = load_split(archive, first), load_split(archive, second) if second else None
        choosing = sample_queries(choosing, sample, seed) if sample else choosing
        spaces = {name: lexical_grids(archive, name, fixed) for name in map(str.strip, names.split(","))}
        announce_compilation()
        what = format_heading(directory, measure, first, second, len(choosing.qrels), folds, seed)
        results: list[TuningEstimate] = []
        if not json:
            print(f"{what}\n\n{format_table_header()}")
        for name, space in spaces.items():
            with progress_bar(f"tuning {name}") as report:
                results.append(
                    estimate_tuning(
                        archive, name, space, choosing, measuring, measure,
                        fixed=fixed, rule=rule, n_folds=folds, seed=seed, progress=report,
                    )
                )  # fmt: skip
            if not json:
                print(format_rows(results[-1]), flush=True)
    _print_results(what, results, json)


def _print_results(heading: str, results: Sequence[TuningEstimate], json: bool) -> None:
    if json:
        print_json({"what": heading, "rankers": [result.as_dict() for result in results]})
    else:
        print(f"\n{NOTES}\n{results[0].tuned['test'].describe}")
