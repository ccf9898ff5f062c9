"""askalike tune: which ranker suits this archive best, and what that is worth."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from askalike import registry
from askalike.cli._options import Directory, FieldsOption, JsonOption, announce_compilation, parse_settings, split_list
from askalike.cli._output import print_json
from askalike.cli._progress import progress_bar
from askalike.cli._training import print_remark
from askalike.cli._tuning import (
    ESTIMATE_NOTES,
    TuningPrinter,
    format_estimate,
    format_estimate_header,
    format_estimate_heading,
    format_outcome,
    outcome_as_dict,
)
from askalike.errors import SettingsError
from askalike.experiments.grid_search import FOLDS, SEED, TuningEstimate, estimate_tuning, lexical_grids, sample_queries
from askalike.experiments.measuring import LEXICAL_TUNING_MEASURE, TUNING_MEASURE, tuning_splits
from askalike.labels.splits import load_split
from askalike.store import Archive
from askalike.tuning.run import tune_archive
from askalike.tuning.state import parse_duration


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("tune")(tune_command)


def tune_command(
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
        str,
        typer.Option("--rankers", help="With --only: which rankers, with commas; default: all.", show_default=False),
    ] = "",
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
    fixed = parse_settings(settings, fields)
    if only:
        _tune_lexical(
            only, directory, fixed, dev, test, measure or LEXICAL_TUNING_MEASURE, ranker_names, sample, folds, seed,
            rule, json,
        )  # fmt: skip
        return
    if dev or test or sample:
        raise SettingsError("--dev, --test and --sample go with --only lexical; tune divides the labels itself")
    limit = parse_duration(budget)
    with Archive.open(directory) as archive:
        announce_compilation()
        printer = TuningPrinter(directory, measure or TUNING_MEASURE, quiet=json)
        outcome = tune_archive(
            archive, budget_s=limit, encoder=encoder, measure=measure or TUNING_MEASURE, rule=rule, fixed=fixed,
            seed=seed, on_event=printer, log=print_remark,
        )  # fmt: skip
    if json:
        print_json(outcome_as_dict(outcome))
    else:
        print(format_outcome(outcome, directory))


def _tune_lexical(
    only: str, directory: Path, fixed: dict[str, Any], dev: str | None, test: str | None, measure: str, names: str,
    sample: int | None, folds: int, seed: int, rule: str, json: bool,
) -> None:  # fmt: skip
    """Tune lexical rankers alone, and measure what that is worth."""
    if only != "lexical":
        raise SettingsError(f"tune --only {only}: expected --only lexical")
    with Archive.open(directory) as archive:
        first, second = tuning_splits(archive, dev, test)
        choosing, measuring = load_split(archive, first), load_split(archive, second) if second else None
        choosing = sample_queries(choosing, sample, seed) if sample else choosing
        rankers = split_list(names) or registry.names("similarity")
        spaces = {name: lexical_grids(archive, name, fixed) for name in rankers}
        announce_compilation()
        heading = format_estimate_heading(directory, measure, first, second, len(choosing.qrels), folds, seed)
        results: list[TuningEstimate] = []
        if not json:
            print(f"{heading}\n\n{format_estimate_header()}")
        for name, space in spaces.items():
            with progress_bar(f"tuning {name}") as report:
                results.append(
                    estimate_tuning(
                        archive, name, space, choosing, measuring, measure,
                        fixed=fixed, rule=rule, n_folds=folds, seed=seed, progress=report,
                    )
                )  # fmt: skip
            if not json:
                print(format_estimate(results[-1]), flush=True)
    _print_results(heading, results, json)


def _print_results(heading: str, results: Sequence[TuningEstimate], json: bool) -> None:
    if json:
        print_json({"what": heading, "rankers": [result.as_dict() for result in results]})
    else:
        print(f"\n{ESTIMATE_NOTES}\n{results[0].tuned['test'].describe}")
