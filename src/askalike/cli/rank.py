"""askalike rank: ranks questions for many queries, as a TREC run."""

from pathlib import Path
from typing import Annotated

from typer import Option

from askalike import rankers
from askalike.cli._options import (
    After,
    Assignments,
    Before,
    Directory,
    Engine,
    Fields,
    RankerName,
    Tags,
    Without,
    build_ranker,
)
from askalike.cli._progress import progress_bar
from askalike.core.counts import format_count
from askalike.core.filters import Filter
from askalike.evaluation.trec import write_run
from askalike.labels.splits import identify_queries, load_split
from askalike.readers import read_candidates, read_queries
from askalike.store import Archive

SPLIT_PREFIX = "split:"


def rank_command(
    directory: Directory,
    queries: Annotated[
        str, Option(metavar="FILE", help="A file of JSON lines, or split:NAME for a split of the archive.")
    ],
    output: Annotated[Path, Option("-o", "--output", metavar="FILE", help="The run to write, in TREC's format.")],
    ranker: RankerName = None,
    settings: Assignments = None,
    fields: Fields = None,
    engine: Engine = None,
    k: Annotated[int, Option("-k", min=1, help="Documents per query.")] = 100,
    candidates: Annotated[
        Path | None, Option(metavar="FILE", help="JSON lines with the documents to rank for each query.")
    ] = None,
    tag: Tags = None,
    before: Before = None,
    after: After = None,
    without: Without = None,
) -> None:
    """Rank the archive's questions for many queries, as a TREC run.

    Examples:

    ```
    askalike rank DIR --queries split:test -o run.trec
    askalike rank DIR --queries queries.jsonl -o bm25.trec --ranker bm25 -k 1000
    ```
    """
    filter = Filter(tuple(tag or ()), after, before, tuple(without or ()))  # type: ignore[arg-type]
    with Archive.open(directory, engine) as archive, progress_bar("indexing") as report:
        is_split = queries.startswith(SPLIT_PREFIX)
        split = load_split(archive, queries.removeprefix(SPLIT_PREFIX)) if is_split else None
        questions = split.queries if split else identify_queries(archive.view(), read_queries(Path(queries)))
        pools = read_candidates(candidates) if candidates else split.candidates if split else None
        searcher = rankers.open_current(build_ranker(archive, ranker, settings, fields), archive.view(), report)
        archive.view().require_tags(tag or ())
        run = searcher.rank(questions, k, candidates=pools, filter=filter or None)
    write_run(run, output, searcher.name)
    print(f"{format_count(len(run), 'query')} ranked by {searcher.name}: {output}")
