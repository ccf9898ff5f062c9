"""askalike evaluate, split: how well rankers find the relevant questions."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from typer import Option

import askalike.cli.options as options
from askalike.cli.command import Excludes, rules
from askalike.cli.output import open_console, plain_table, print_remark, progress_bar, to_json
from askalike.core.errors import SettingsError
from askalike.core.files import write_output
from askalike.core.values import format_count, parse_limit
from askalike.evaluation.outcome import Evaluation, MacroEvaluation
from askalike.evaluation.tables import to_csv, to_text
from askalike.labels.partitions import Partition, create_partition, create_splitter
from askalike.labels.splits import KNOWN_SEED, document_kind, load_split
from askalike.measuring import (
    DEFAULT_MEASURES,
    as_evaluation,
    describe_choice,
    evaluate_files,
    evaluate_ranker,
    evaluate_run,
    evaluation_split,
)
from askalike.rankers import Ranker
from askalike.store import Archive

SPLIT_HELP = "The split with the queries; :title and @60 cut them, as in known@60."
KNOWN_REMARK = f"each title, drawn with seed {KNOWN_SEED}, is to find its own question"
SHARES_HELP = "Shares of train, dev and test, by cluster, category or tag."


@rules(Excludes("ranker settings fields engine k", "run"), Excludes("directory split", "qrels"))
def evaluate_command(
    directory: options.LabelledArchive = None,
    run: Annotated[Path | None, options.value("FILE", "A run to measure, instead of a ranker.")] = None,
    qrels: options.QrelsFile = None,
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    split: Annotated[str | None, options.value("SPLIT", SPLIT_HELP, "test, else the first")] = None,
    measures: Annotated[str, options.value("MEASURES", options.MEASURES_HELP, parse=options.check_measures)] = " ".join(
        DEFAULT_MEASURES
    ),
    rule: Annotated[options.RuleName, Option(help=options.RULE_HELP)] = "trec_eval",
    k: options.Depth = 100,
    per_query: Annotated[Path | None, options.value("FILE", "Write the values of each query to this CSV file.")] = None,
    json: options.Json = False,
) -> None:
    """Measure a ranker on an archive's labels, or a run file against qrels.

    With DIR and --run, the run is measured on the archive's labels, and needs no qrels.

    Examples:

    ```
    askalike evaluate DIR --split known@60
    askalike evaluate DIR --ranker bm25 --split test --measures 'nDCG@10 RR'
    askalike evaluate --run run.trec --qrels qrels.txt --per-query values.csv
    ```
    """
    wanted = options.split_list(measures)
    result: Evaluation | MacroEvaluation
    if run and qrels:
        heading, judgements = str(run), str(qrels)
        result = evaluate_files(run, qrels, wanted, rule)
    elif run and directory:
        with Archive.open(directory) as archive:
            name = split or evaluation_split(archive)
            result = evaluate_run(archive, run, name, wanted, rule)
        judgements = f"{directory}, split {name}"
        heading = f"{run} on {judgements}"
    elif directory and not qrels:
        with Archive.open(directory, engine) as archive, progress_bar("evaluating") as report:
            built = options.build_ranker(archive, ranker, settings, fields)
            name = split or evaluation_split(archive, built)
            result = evaluate_ranker(archive, built, name, wanted, rule=rule, k=k, progress=report, resume=True)
            heading = _describe_ranking(archive, directory, built, name)
    else:
        raise SettingsError("evaluate: expected an archive's directory, or --run FILE with it or with --qrels FILE")
    if run and (unjudged := as_evaluation(result).unjudged):
        print_remark(f"askalike: {run}: {format_count(unjudged, 'query')} not judged in {judgements}, and not counted")
    if per_query:
        write_output(per_query, to_csv(result.per_query_table()))
    if json:
        print(to_json({"heading": heading, **result.as_dict()}))
    else:
        print(f"{heading}\n\n{to_text(result.table()).rstrip()}")


def _describe_ranking(archive: Archive, directory: Path, ranker: Ranker, split: str) -> str:
    labels = load_split(archive, split, document_kind(archive, split))
    found = "the ranker never lists the query itself" if labels.has_labels else KNOWN_REMARK
    remark = describe_choice(archive, ranker, split)
    heading = f"{ranker.label} on {directory}, split {split}; {found}, ties in the archive's order"
    return heading + (f"; {remark}" if remark else "")


def _parse_shares(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise SettingsError(f"--shares {text!r}: expected numbers with commas between, as in 0.8,0.1,0.1") from None


def split_command(
    directory: options.Directory,
    by: Annotated[Literal["cluster", "category", "tag", "time", "folds"], Option(help="What separates the parts.")],
    source_split: Annotated[
        str | None, Option("--of", metavar="SPLIT", help="The split to divide.", show_default="the first")
    ] = None,
    shares: Annotated[str | None, options.value("SHARES", SHARES_HELP, "0.8,0.1,0.1", parse=_parse_shares)] = None,
    before: Annotated[
        str | None, options.value("DATE", "By time: train ends before this date.", parse=parse_limit)
    ] = None,
    after: Annotated[str | None, options.value("DATE", "By time: test begins on this date.", parse=parse_limit)] = None,
    folds: Annotated[int | None, Option(min=2, help="Number of folds.", show_default="5")] = None,
    seed: Annotated[int | None, Option(min=0, help="Seed of the order of clusters.", show_default="0")] = None,
    name: Annotated[
        str | None, options.value("NAME", "Name of the parts, as in NAME/dev.", "the value of --by")
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace earlier parts of that name.")] = False,
    json: options.Json = False,
) -> None:
    """Divide a split into train, dev and test, or folds.

    No duplicate cluster spans two parts. The archive stores the parts; other commands take them by name.

    Examples:

    ```
    askalike split DIR --by cluster
    askalike split DIR --by time --before 2023-01-01 --after 2023-07-01
    askalike evaluate DIR --split cluster/dev
    ```
    """
    given = {"shares": shares, "before": before, "after": after, "folds": folds, "seed": seed}
    settings = {key: value for key, value in given.items() if value is not None}
    create_splitter(by, settings)
    with Archive.open(directory) as archive:
        partition = create_partition(archive, by, settings, source_split=source_split, name=name, replace=force)
    if json:
        print(to_json(asdict(partition)))
    else:
        _print_partition(partition)


def _print_partition(partition: Partition) -> None:
    table = plain_table("part", ">queries", ">clusters", ">largest", ">links")
    for part in partition.parts:
        figures = (part.queries, part.clusters, part.largest, part.links)
        table.add_row(part.split, *(f"{figure:,}" for figure in figures))
    console = open_console(highlight=False)
    console.print(table)
    left_out = f"; {format_count(partition.left_out, 'query')} in no part" if partition.left_out else ""
    console.print(f"{partition.description}{left_out}", soft_wrap=True)
    if partition.remark_on_training:
        console.print(partition.remark_on_training, soft_wrap=True)
