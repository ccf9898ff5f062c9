"""askalike evaluate: how well a ranker, or a run from elsewhere, finds what is known to be relevant."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import (
    FieldsOption,
    JsonOption,
    RankerOption,
    SettingsOption,
    announce_compilation,
    build_ranker,
    split_list,
)
from askalike.cli._output import print_json
from askalike.cli._progress import progress_bar
from askalike.errors import SettingsError
from askalike.evaluation.outcome import Evaluation, MacroEvaluation
from askalike.evaluation.tables import to_text
from askalike.experiments.measuring import DEFAULT_MEASURES, evaluate_files, evaluate_ranker, evaluation_split
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(evaluate)


def evaluate(
    directory: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="An archive with labels.")] = None,
    run: Annotated[Path | None, typer.Option(help="A run to measure, instead of an archive's ranker.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="What is relevant: TREC, BEIR or SemEval lines.")] = None,
    ranker: RankerOption = None,
    settings: SettingsOption = None,
    fields: FieldsOption = None,
    split_name: Annotated[
        str | None, typer.Option("--split", help="Whose queries; default: test, else the first.")
    ] = None,
    measures: Annotated[
        str, typer.Option(help="Measures as ir-measures writes them, with commas or spaces.")
    ] = " ".join(DEFAULT_MEASURES),
    rule: Annotated[
        str, typer.Option(help="trec_eval, semeval, beir or lei: ties, self-hits, what counts 0.")
    ] = "trec_eval",
    k: Annotated[int, typer.Option("-k", min=1, help="How deep a ranker ranks.")] = 100,
    json: JsonOption = False,
) -> None:
    """Measure a ranker on an archive's labels, or a run against qrels."""
    if run and qrels:
        measured = evaluate_files(run, qrels, split_list(measures), rule)
        result: Evaluation | MacroEvaluation = measured
        heading = str(run)
        if measured.unjudged:
            remark = f"{measured.unjudged} queries are not judged in {qrels} and do not count"
            print(f"askalike: {run}: {remark}", file=sys.stderr)
    elif directory and not run and not qrels:
        with Archive.open(directory) as archive, progress_bar("indexing") as report:
            name = split_name or evaluation_split(archive)
            built = build_ranker(archive, ranker, settings, fields)
            announce_compilation()
            result = evaluate_ranker(archive, built, name, split_list(measures), rule=rule, k=k, progress=report)
        heading = f"{built.name} on {directory}, split {name}; no query finds itself, ties in the archive's order"
    else:
        raise SettingsError("evaluate: expected an archive's directory, or --run FILE together with --qrels FILE")
    if json:
        print_json({"what": heading, **result.as_dict()})
    else:
        print(f"{heading}\n\n{to_text(result.table())}", end="")
