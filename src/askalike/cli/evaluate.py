"""askalike evaluate: how well a ranker, or a run from elsewhere, finds what is known to be relevant."""

from pathlib import Path
from typing import Annotated

import typer

from askalike import rankers
from askalike.archive.splits import labelled, split
from askalike.archive.store import Archive
from askalike.cli._options import Fields, Json, RankerName, Settings, chosen, print_json, progress
from askalike.errors import ArchiveError, SettingsError
from askalike.evaluation.measures import evaluate as measure
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.tables import to_text
from askalike.evaluation.trec import read_qrels, read_run

USUAL = "Success@1 Success@5 Success@10 AP RR"


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(evaluate)


def evaluate(
    directory: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="An archive with labels.")] = None,
    run: Annotated[Path | None, typer.Option(help="A run to measure, instead of an archive's ranker.")] = None,
    qrels: Annotated[Path | None, typer.Option(help="What is relevant: TREC, BEIR or SemEval lines.")] = None,
    ranker: RankerName = rankers.DEFAULT,
    settings: Settings = None,
    fields: Fields = None,
    split_name: Annotated[
        str | None, typer.Option("--split", help="Whose queries; default: test, else the first.")
    ] = None,
    measures: Annotated[str, typer.Option(help="Measures, as ir-measures writes them.")] = USUAL,
    rule: Annotated[
        str, typer.Option(help="trec_eval, semeval, beir or lei: ties, self-hits, what counts 0.")
    ] = "trec_eval",
    k: Annotated[int, typer.Option("-k", min=1, help="How deep a ranker ranks.")] = 100,
    json: Json = False,
) -> None:
    """Measure a ranker on an archive's labels, or a run against qrels."""
    if run and qrels:
        result = measure(read_run(run), read_qrels(qrels), measures.split(), rule)
        heading = str(run)
    elif directory and not run and not qrels:
        heading, result = measured(directory, chosen(ranker, settings, fields), split_name, measures.split(), rule, k)
    else:
        raise SettingsError("evaluate: expected an archive's directory, or --run FILE together with --qrels FILE")
    if json:
        print_json({"what": heading, **result.as_dict()})
    else:
        print(heading, to_text(result.table()), result.describe, sep="\n\n")


def measured(
    directory: Path, ranker: rankers.Ranker, name: str | None, measures: list[str], rule: str, k: int
) -> tuple[str, Evaluation]:
    """What was measured, and the measures of a ranker on a split of an archive."""
    with Archive.open(directory) as archive, progress("indexing") as report:
        name = name or default_split(archive)
        labels = split(archive, name)
        run = ranker.index(archive.view(), report).rank(labels.queries, k, candidates=labels.candidates)
    return f"{ranker.name} on {directory}, split {name}", measure(run, labels.qrels, measures, rule)


def default_split(archive: Archive) -> str:
    """test where there is one, else the first that has labels."""
    names = labelled(archive)
    if not names:
        raise ArchiveError(
            f"{archive.path}: nothing to evaluate with: no duplicate links, rephrasings or evaluation set"
        )
    return "test" if "test" in names else names[0]
