"""askalike index, search, rank: from words to similar questions."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from askalike import rankers
from askalike.cli._options import (
    Directory,
    FieldsOption,
    JsonOption,
    RankerOption,
    SettingsOption,
    announce_compilation,
    build_ranker,
)
from askalike.cli._output import print_json
from askalike.cli._progress import progress_bar
from askalike.cli._queries import load_candidates, load_queries, require_searchable
from askalike.cli._results import matches_as_json, print_matches
from askalike.engines.local import LocalEngine
from askalike.evaluation.trec import write_run
from askalike.store import Archive
from askalike.types import Filter


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(index)
    app.command()(search)
    app.command()(rank)


def index(
    directory: Directory,
    ranker: RankerOption = None,
    settings: SettingsOption = None,
    fields: FieldsOption = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Throw the old index away first.")] = False,
) -> None:
    """Build the index of a ranker, or bring it up to date."""
    with Archive.open(directory) as archive, progress_bar("indexing") as report:
        chosen_ranker = build_ranker(archive, ranker, settings, fields)
        started = time.perf_counter()
        if rebuild:
            rankers.delete_indexes(chosen_ranker, archive.view())
        rankers.open_current(chosen_ranker, archive.view(), report)
        took_s, n = time.perf_counter() - started, len(archive.view())
    print(f"{n} questions indexed for {chosen_ranker.name} in {took_s:.1f} s")


def search(
    directory: Directory,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The question, as a person would type it.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many to show.")] = 5,
    ranker: RankerOption = None,
    settings: SettingsOption = None,
    body: Annotated[str, typer.Option(help="The question's body.")] = "",
    tag: Annotated[list[str] | None, typer.Option(help="Only questions with this tag; may be repeated.")] = None,
    before: Annotated[
        str | None,
        typer.Option(help="Only questions asked before this date; words still weigh as they do today (see replay)."),
    ] = None,
    after: Annotated[str | None, typer.Option(help="Only questions asked on or after this date.")] = None,
    prefix: Annotated[bool, typer.Option("--prefix", help="The last word may be unfinished.")] = False,
    min_probability: Annotated[
        float | None, typer.Option(help="Only hits that ask the same with this probability; needs a calibration.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which words matched and how much each counted.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Find the questions most similar to one."""
    with Archive.open(directory) as archive, LocalEngine(archive, build_ranker(archive, ranker, settings)) as engine:
        announce_compilation()
        started = time.perf_counter()
        filter = Filter(tuple(tag or ()), after, before)
        matches = engine.search(text, k, body=body, filter=filter, prefix=prefix, min_probability=min_probability)
        took_ms = (time.perf_counter() - started) * 1000
        explained = matches if explain else ()
        precedents = {m.id: engine.find_precedents(text, m.question, 1, body=body) for m in explained}
        calibrated, stale_reason = engine.calibration is not None, engine.stale_reason
        if not matches:
            require_searchable(engine.archive, text + body)
    if stale_reason:
        remark = f"the calibration of {engine.ranker.name} is not used: {stale_reason}; run: askalike calibrate"
        print(f"askalike: {remark}", file=sys.stderr)
    if json:
        print_json(matches_as_json(matches, engine.ranker.name, took_ms))
    else:
        print_matches(Console(), matches, explain, calibrated, precedents)


def rank(
    directory: Directory,
    queries: Annotated[str, typer.Option(help="A file of JSON lines, or split:NAME for one of the archive's own.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the run goes, in TREC's format.")],
    ranker: RankerOption = None,
    settings: SettingsOption = None,
    fields: FieldsOption = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many documents a query gets.")] = 100,
    candidates: Annotated[Path | None, typer.Option(help="JSON lines with each query's documents to rank.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only questions with this tag; may be repeated.")] = None,
    before: Annotated[str | None, typer.Option(help="Only questions asked before this date.")] = None,
) -> None:
    """Rank the archive's questions for many queries."""
    with Archive.open(directory) as archive, progress_bar("indexing") as report:
        questions = load_queries(archive, queries)
        pools = load_candidates(archive, queries, candidates)
        announce_compilation()
        searcher = rankers.open_current(build_ranker(archive, ranker, settings, fields), archive.view(), report)
        run = searcher.rank(questions, k, candidates=pools, filter=Filter(tuple(tag or ()), None, before) or None)
    write_run(run, output, searcher.name)
    print(f"{len(run)} queries ranked by {searcher.name}: {output}")
