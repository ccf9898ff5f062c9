"""askalike index, search, rank."""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from askalike import rankers
from askalike.archive.store import Archive
from askalike.cli._options import (
    Directory,
    Fields,
    Json,
    RankerName,
    Settings,
    chosen,
    print_json,
    progress,
    say_compiling,
)
from askalike.cli._queries import candidates_of, queries_of, refuse_nothing
from askalike.cli._results import as_json, print_matches
from askalike.engines.local import Local
from askalike.evaluation.trec import write_run
from askalike.types import Filter


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command()(index)
    app.command()(search)
    app.command()(rank)


def index(
    directory: Directory,
    ranker: RankerName = None,
    settings: Settings = None,
    fields: Fields = None,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Throw the old index away first.")] = False,
) -> None:
    """Build the index of a ranker, or bring it up to date."""
    with Archive.open(directory) as archive, progress("indexing") as report:
        chosen_ranker = chosen(archive, ranker, settings, fields)
        started = time.perf_counter()
        if rebuild:
            rankers.forget(chosen_ranker, archive.view())
        rankers.caught_up(chosen_ranker, archive.view(), report)
        took_s, n = time.perf_counter() - started, len(archive.view())
    print(f"{n} questions indexed for {chosen_ranker.name} in {took_s:.1f} s")


def search(
    directory: Directory,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The question, as a person would type it.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many to show.")] = 5,
    ranker: RankerName = None,
    settings: Settings = None,
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
    json: Json = False,
) -> None:
    """Find the questions most similar to one."""
    with Archive.open(directory) as archive, Local(archive, chosen(archive, ranker, settings)) as engine:
        say_compiling()
        started = time.perf_counter()
        where = Filter(tuple(tag or ()), after, before)
        matches = engine.search(text, k, body=body, where=where, prefix=prefix, min_probability=min_probability)
        took_ms = (time.perf_counter() - started) * 1000
        like = {m.question.id: engine.precedents(text, m.question, 1, body=body) for m in matches} if explain else {}
        calibrated, refused = engine.calibration is not None, engine.uncalibrated
        if not matches:
            refuse_nothing(engine.archive, text + body)
    if refused:
        print(
            f"askalike: the calibration of {engine.ranker.name} is not used: {refused}; run: askalike calibrate",
            file=sys.stderr,
        )
    if json:
        print_json(as_json(matches, engine.ranker.name, took_ms))
    else:
        print_matches(Console(), matches, explain, calibrated, like)


def rank(
    directory: Directory,
    queries: Annotated[str, typer.Option(help="A file of JSON lines, or split:NAME for one of the archive's own.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the run goes, in TREC's format.")],
    ranker: RankerName = None,
    settings: Settings = None,
    fields: Fields = None,
    k: Annotated[int, typer.Option("-k", min=1, help="How many documents a query gets.")] = 100,
    candidates: Annotated[Path | None, typer.Option(help="JSON lines with each query's documents to rank.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only questions with this tag; may be repeated.")] = None,
    before: Annotated[str | None, typer.Option(help="Only questions asked before this date.")] = None,
) -> None:
    """Rank the archive's questions for many queries."""
    with Archive.open(directory) as archive, progress("indexing") as report:
        asked = queries_of(archive, queries)
        pools = candidates_of(archive, queries, candidates)
        say_compiling()
        built = rankers.caught_up(chosen(archive, ranker, settings, fields), archive.view(), report)
        run = built.rank(asked, k, candidates=pools, where=Filter(tuple(tag or ()), None, before) or None)
    write_run(run, output, built.name)
    print(f"{len(run)} queries ranked by {built.name}: {output}")
