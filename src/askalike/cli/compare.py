"""askalike compare: is the difference between runs real, and on which queries do they differ?"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import split_list
from askalike.experiments.measuring import DEFAULT_MEASURES


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Run files, or folders of experiments; NAME=PATH names one.")
    ],
    qrels: Annotated[Path | None, typer.Option(help="What is relevant: TREC, BEIR or SemEval lines.")] = None,
    archive: Annotated[Path | None, typer.Option(help="The archive that judges, and has the texts.")] = None,
    split: Annotated[str | None, typer.Option(help="Its split; default: the experiment's, else test.")] = None,
    measures: Annotated[str | None, typer.Option(help="Default: the experiments', else the usual ones.")] = None,
    rule: Annotated[str | None, typer.Option(help="Default: the experiments' rule, else trec_eval.")] = None,
    common_only: Annotated[bool, typer.Option("--common-only", help="Only queries that every run has.")] = False,
    format: Annotated[str, typer.Option(help="text, html, latex, csv or json.")] = "text",
    output: Annotated[Path | None, typer.Option("-o", "--output", help="A file to write to.")] = None,
) -> None:
    """Compare runs query by query: differences with intervals and p, and the queries that differ most."""
    from askalike.experiments.comparing import compare_runs, declared_value, load_judgements, parse_sources
    from askalike.experiments.reporting.comparison_formats import format_comparison
    from askalike.experiments.reporting.page import write_file

    sources = parse_sources(runs)
    names = split_list(measures) if measures is not None else declared_value(sources, "measures") or DEFAULT_MEASURES
    rule = rule or declared_value(sources, "rule") or "trec_eval"
    comparison = compare_runs(
        sources, load_judgements(sources, qrels, archive, split), names, rule, common_only=common_only
    )
    text = format_comparison(comparison, format)
    if output:
        print(write_file(output, text), file=sys.stderr)
    else:
        sys.stdout.write(text)
