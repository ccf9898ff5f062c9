"""askalike compare: runs side by side."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Option

from askalike.plugin import commands as options
from askalike.plugin.commands import print_remark, write_output
from askalike.plugin.measuring import DEFAULT_MEASURES
from askalike_research.comparing.comparison import compare_runs, format_comparison
from askalike_research.comparing.run_sources import declared_value, load_judgements, parse_sources


def compare_command(
    runs: Annotated[
        list[str], Argument(metavar="RUN", help="Run files, or folders of experiments; NAME=PATH names one.")
    ],
    qrels: options.QrelsFile = None,
    archive: Annotated[Path | None, options.value("DIR", "The archive with the judgements and texts.")] = None,
    split: Annotated[str | None, options.value("SPLIT", "The archive's split.", "the experiment's, else test")] = None,
    measures: Annotated[
        str | None,
        options.value(
            "MEASURES", options.MEASURES_HELP, "the experiment's, else the usual ones", parse=options.check_measures
        ),
    ] = None,
    rule: Annotated[
        options.RuleName | None, Option(help=options.RULE_HELP, show_default="the experiment's, else trec_eval")
    ] = None,
    common_only: Annotated[bool, Option("--common-only", help="Only queries that every run has.")] = False,
    agreement: Annotated[
        bool, Option("--agreement", help="Also how similar the runs rank: rank-biased overlap, Kendall's tau.")
    ] = False,
    format: Annotated[
        Literal["text", "html", "latex", "csv", "json"], Option(help="The format of the comparison.")
    ] = "text",
    output: Annotated[Path | None, options.output("FILE", "The file to write.", "stdout")] = None,
) -> None:
    """Compare runs query by query, with intervals and significance.

    Also lists the queries that differ most.

    Examples:

    ```
    askalike compare bm25.trec dirichlet.trec --qrels qrels.txt
    askalike compare runs/two --format html -o comparison.html
    ```
    """
    sources = parse_sources(runs)
    names = (
        options.split_list(measures)
        if measures is not None
        else declared_value(sources, "measures") or DEFAULT_MEASURES
    )
    judged_by = rule or declared_value(sources, "rule") or "trec_eval"
    judgements = load_judgements(sources, qrels, archive, split)
    compared = compare_runs(sources, judgements, names, judged_by, common_only=common_only, agreement=agreement)
    text = format_comparison(compared, format)
    if output:
        print_remark(str(write_output(output, text)))
    else:
        sys.stdout.write(text)
