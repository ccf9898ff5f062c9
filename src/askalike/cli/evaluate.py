"""askalike evaluate, compare, split, experiment, replay: how well rankers find what is known to be relevant."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rich.console import Console
from rich.table import Table
from typer import Argument, Option

from askalike import rankers
from askalike.cli._options import (
    RANKER_NAMES,
    Assignments,
    Directory,
    EngineUrl,
    Fields,
    Json,
    QrelsFile,
    RankerName,
    RayCluster,
    announce_compilation,
    build_ranker,
    checked,
    parse_settings,
    split_list,
)
from askalike.cli._output import print_remark, to_json
from askalike.cli._progress import lines_without_terminal, nested_progress_bars, progress_bar
from askalike.clock import parse_limit
from askalike.config import parse_assignments
from askalike.counts import format_count
from askalike.engines.local import LocalEngine
from askalike.errors import SettingsError
from askalike.evaluation.outcome import Evaluation, MacroEvaluation
from askalike.evaluation.tables import to_csv, to_text
from askalike.experiments.comparing import compare_runs, declared_value, load_judgements, parse_sources
from askalike.experiments.measuring import (
    DEFAULT_MEASURES,
    describe_choice,
    evaluate_files,
    evaluate_ranker,
    evaluation_split,
)
from askalike.labels.partitions import Partition, create_partition
from askalike.labels.splits import load_split
from askalike.pieces import work_on
from askalike.rankers import Ranker
from askalike.replay.replay import WORDING_REMARK, replay
from askalike.replay.report import write_replay
from askalike.store import Archive

if TYPE_CHECKING:
    from askalike.experiments.answer_support import AnswerSupport
    from askalike.experiments.prediction import PredictionReport

MEASURES_HELP = "Measures as ir-measures writes them, with commas or spaces."
RULE_HELP = "trec_eval, semeval, beir or lei: ties, self-hits, what counts 0."
SHARES_HELP = "Of train, dev, test, by cluster, category or tag [default: 0.8,0.1,0.1]."


def evaluate_command(
    directory: Annotated[Path | None, Argument(metavar="DIR", help="An archive with labels.")] = None,
    run: Annotated[Path | None, Option(help="A run to measure, instead of an archive's ranker.")] = None,
    qrels: QrelsFile = None,
    ranker: RankerName = None,
    settings: Assignments = None,
    fields: Fields = None,
    engine: EngineUrl = None,
    split: Annotated[
        str | None, Option(help="The split whose queries are measured; default: test, else the first.")
    ] = None,
    measures: Annotated[str, Option(help=MEASURES_HELP)] = " ".join(DEFAULT_MEASURES),
    rule: Annotated[str, Option(help=RULE_HELP)] = "trec_eval",
    k: Annotated[int, Option("-k", min=1, help="Documents per query.")] = 100,
    per_query: Annotated[
        Path | None, Option(metavar="FILE.csv", help="Write the values of each query to this file.")
    ] = None,
    predict: Annotated[
        bool, Option("--predict", help="Also correlate what predicts a query's first measure without labels.")
    ] = False,
    grounded: Annotated[
        int, Option(min=0, metavar="N", help="Also let --endpoint answer N of the queries; measures support, a proxy.")
    ] = 0,
    endpoint: Annotated[
        str | None, Option(metavar="URL", help="With --grounded: an OpenAI-compatible endpoint.")
    ] = None,
    model: Annotated[str | None, Option(help="With --grounded: the endpoint's model.")] = None,
    json: Json = False,
) -> None:
    """Measure a ranker on an archive's labels, or a run file against qrels.

    Examples:

    ```
    askalike evaluate DIR
    askalike evaluate DIR --ranker bm25 --split test --measures 'nDCG@10 RR'
    askalike evaluate --run run.trec --qrels qrels.txt --per-query values.csv
    ```
    """
    result: Evaluation | MacroEvaluation
    support = prediction = None
    if run and qrels:
        result, heading = evaluate_files(run, qrels, split_list(measures), rule), str(run)
        if result.unjudged:
            print_remark(
                f"askalike: {run}: {format_count(result.unjudged, 'query')} not judged in {qrels}, and not counted"
            )
    elif directory and not run and not qrels:
        with Archive.open(directory, engine) as archive, progress_bar("indexing") as report:
            built = build_ranker(archive, ranker, settings, fields)
            name = split or evaluation_split(archive, built)
            result = evaluate_ranker(archive, built, name, split_list(measures), rule=rule, k=k, progress=report)
            remark = describe_choice(archive, built, name)
            if predict:
                prediction = _measure_prediction(archive, built, name, result)
            if grounded:
                support = _measure_grounded(archive, built, name, grounded, endpoint, model)
        heading = (
            f"{built.name} on {directory}, split {name}; the ranker never lists the query itself, "
            "ties in the archive's order"
        )
        heading += f"; {remark}" if remark else ""
    else:
        raise SettingsError("evaluate: expected an archive's directory, or --run FILE together with --qrels FILE")
    if per_query:
        from askalike.experiments.reporting.page import write_file

        write_file(per_query, to_csv(result.per_query_table()))
    if json:
        more = {"grounded": support.as_dict()} if support else {}
        more |= {"prediction": prediction.as_dict()} if prediction else {}
        print(to_json({"what": heading, **result.as_dict(), **more}))
        return
    print(f"{heading}\n\n{to_text(result.table()).rstrip()}")
    if prediction:
        print(f"\n{to_text(prediction.table()).rstrip()}")
    if support:
        print(f"\n{support}")


def _measure_prediction(
    archive: Archive, ranker: Ranker, split: str, result: Evaluation | MacroEvaluation
) -> "PredictionReport":
    from askalike.experiments.prediction import measure_prediction

    of_queries = result.as_evaluation() if isinstance(result, MacroEvaluation) else result
    measure = next(iter(of_queries.values))
    return measure_prediction(archive, ranker, split, measure, of_queries.values[measure])


def _measure_grounded(
    archive: Archive, ranker: Ranker, split: str, n: int, endpoint: str | None, model: str | None
) -> "AnswerSupport":
    from askalike.answering.chat_endpoint import named_endpoint
    from askalike.experiments.answer_support import measure_support

    writer, queries = named_endpoint(endpoint, model), list(load_split(archive, split).queries.values())
    return measure_support(LocalEngine(archive, ranker), queries[:n], writer)


def compare_command(
    runs: Annotated[
        list[str], Argument(metavar="RUN", help="Run files, or folders of experiments; NAME=PATH names one.")
    ],
    qrels: QrelsFile = None,
    archive: Annotated[Path | None, Option(help="The archive that judges, and has the texts.")] = None,
    split: Annotated[str | None, Option(help="Its split; default: the experiment's, else test.")] = None,
    measures: Annotated[str | None, Option(help="Default: the experiments', else the usual ones.")] = None,
    rule: Annotated[str | None, Option(help="Default: the experiments' rule, else trec_eval.")] = None,
    common_only: Annotated[bool, Option("--common-only", help="Only queries that every run has.")] = False,
    format: Annotated[str, Option(help="text, html, latex, csv or json.")] = "text",
    output: Annotated[Path | None, Option("-o", "--output", help="A file to write to.")] = None,
) -> None:
    """Compare runs query by query, with intervals and significance.

    Also lists the queries that differ most.

    Examples:

    ```
    askalike compare bm25.trec dirichlet.trec --qrels qrels.txt
    askalike compare runs/two --format html -o comparison.html
    ```
    """
    from askalike.experiments.reporting.comparison_formats import format_comparison
    from askalike.experiments.reporting.page import write_file

    sources = parse_sources(runs)
    names = split_list(measures) if measures is not None else declared_value(sources, "measures") or DEFAULT_MEASURES
    rule = rule or declared_value(sources, "rule") or "trec_eval"
    judgements = load_judgements(sources, qrels, archive, split)
    text = format_comparison(compare_runs(sources, judgements, names, rule, common_only=common_only), format)
    if output:
        print_remark(str(write_file(output, text)))
    else:
        sys.stdout.write(text)


def split_command(
    directory: Directory,
    by: Annotated[Literal["cluster", "category", "tag", "time", "folds"], Option(help="What separates the parts.")],
    source_split: Annotated[
        str | None, Option("--of", metavar="SPLIT", help="The split to divide; default: the first.")
    ] = None,
    shares: Annotated[str | None, Option(help=SHARES_HELP)] = None,
    before: Annotated[
        str | None, Option(metavar="DATE", callback=checked(parse_limit), help="By time: train ends before it.")
    ] = None,
    after: Annotated[
        str | None, Option(metavar="DATE", callback=checked(parse_limit), help="By time: test begins at it.")
    ] = None,
    folds: Annotated[int | None, Option(help="How many folds [default: 5].")] = None,
    seed: Annotated[int | None, Option(help="Seed of the order of clusters [default: 0].")] = None,
    name: Annotated[str | None, Option(help="The parts are called NAME/PART; default: as --by.")] = None,
    replace: Annotated[bool, Option("--replace", help="Replace the parts of that name.")] = False,
    json: Json = False,
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
    options = {"shares": _parse_shares(shares), "before": before, "after": after, "folds": folds, "seed": seed}
    settings = {key: value for key, value in options.items() if value is not None}
    with Archive.open(directory) as archive:
        partition = create_partition(archive, by, settings, source_split=source_split, name=name, replace=replace)
    if json:
        print(to_json(asdict(partition)))
    else:
        _print_partition(partition)


def _print_partition(partition: Partition) -> None:
    """Print a line for each part, and how the partition was made."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    table.add_column("part")
    for column in ("queries", "clusters", "largest", "links"):
        table.add_column(column, justify="right")
    for part in partition.parts:
        figures = (part.queries, part.clusters, part.largest, part.links)
        table.add_row(part.split, *(f"{figure:,}" for figure in figures))
    console = Console(highlight=False)
    console.print(table)
    left_out = f"; {format_count(partition.left_out, 'query')} in no part" if partition.left_out else ""
    console.print(f"{partition.description}{left_out}", soft_wrap=True)


def _parse_shares(text: str | None) -> list[float] | None:
    try:
        return [float(part) for part in text.split(",")] if text is not None else None
    except ValueError:
        raise SettingsError(f"--shares {text!r}: expected numbers with commas between, as in 0.8,0.1,0.1") from None


def experiment_command(
    file: Annotated[Path, Argument(metavar="FILE.toml", help="Data, rankers and measures.")],
    output: Annotated[
        Path | None, Option("-o", "--output", metavar="DIR", help="The folder; default: runs/ and FILE's name.")
    ] = None,
    changes: Annotated[
        list[str] | None, Option("--set", metavar="KEY=VALUE", help="Change a key of FILE; may be repeated.")
    ] = None,
    force: Annotated[bool, Option("--force", help="Discard the experiment that is in the folder.")] = False,
    cluster: RayCluster = None,
    json: Json = False,
) -> None:
    """Run the experiment that a TOML file declares, into a folder that reproduces it.

    An interrupted experiment resumes with the same command.

    Examples:

    ```
    askalike experiment two.toml
    askalike experiment two.toml --set k=10 -o runs/shallow
    ```
    """
    from askalike.experiments.declaration import read_experiment
    from askalike.experiments.outcome import describe_findings, summary_table
    from askalike.experiments.run import run_experiment

    experiment = read_experiment(file, parse_assignments(changes or []))
    folder = output or Path("runs") / file.stem
    announce_compilation()
    log = lines_without_terminal()
    with work_on(cluster), nested_progress_bars() as watch:
        outcome = run_experiment(
            experiment, folder, resume=True, force=force, open_bar=watch, log=log,
            command=_experiment_command_line(file, output, changes or []),
        )  # fmt: skip
    if json:
        print(to_json(outcome.as_dict()))
    else:
        print(f"{to_text(summary_table(outcome))}{describe_findings(outcome.findings)}")
        print(f"{folder}: report.html, report.json, runs/")


def _experiment_command_line(file: Path, output: Path | None, changes: Sequence[str]) -> str:
    """Return the command that was given, for the report."""
    given = [part for change in changes for part in ("--set", change)] + (["-o", str(output)] if output else [])
    return shlex.join(["askalike", "experiment", str(file), *given])


def replay_command(
    directory: Directory,
    since: Annotated[str, Option(metavar="DATE", help="Replay the questions from this date on.")],
    until: Annotated[str | None, Option(metavar="DATE", help="Replay the questions before this date.")] = None,
    ranker: Annotated[
        list[str] | None, Option("--ranker", "-r", help=f"May be repeated. One of: {RANKER_NAMES}.")
    ] = None,
    settings: Assignments = None,
    fields: Fields = None,
    k: Annotated[int, Option("-k", min=1, help="Hits among which the original counts as found.")] = 5,
    output: Annotated[Path | None, Option("-o", "--output", help="A folder for results, runs and plot.")] = None,
    json: Json = False,
) -> None:
    """Ask every known duplicate again, as of the moment it was asked.

    Each is ranked against what existed then: texts, statistics, and what a ranker had learned.

    Examples:

    ```
    askalike replay DIR --since 2023-01-01
    askalike replay DIR --since 2023-01-01 --ranker bm25 --ranker hybrid -o replay
    ```
    """
    values = parse_settings(settings, fields)
    with Archive.open(directory) as archive, progress_bar("replaying") as report:
        announce_compilation()
        active, active_settings = rankers.active_ranker(archive)
        settings_by_ranker = dict.fromkeys(ranker, values) if ranker else {active: {**active_settings, **values}}
        result = replay(archive, settings_by_ranker, since, until, k, report)
    paths = write_replay(result, output) if output else []
    if json:
        print(to_json(result.as_dict()))
        return
    selection = result.selection
    print(
        *(f"{each.ranker}: {each.describe()}" for each in result.results),
        f"not counted: {format_count(selection.newer_links, 'link')} to a question that is not older, "
        f"{format_count(selection.undated_links, 'link')} with an end that has no date",
        WORDING_REMARK,
        *paths,
        sep="\n",
    )
