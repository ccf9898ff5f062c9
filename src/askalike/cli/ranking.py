"""askalike rank: the hits of many queries, as a run."""

from pathlib import Path
from typing import Annotated

import askalike.cli.options as options
from askalike import rankers
from askalike.cli.output import progress_bar
from askalike.core.filters import Filter
from askalike.core.values import format_count
from askalike.evaluation.trec import write_run
from askalike.labels.splits import identify_queries, load_split
from askalike.readers import read_candidates, read_queries
from askalike.store import Archive
from askalike.store.records import require_tags

SPLIT_PREFIX = "split:"


def rank_command(
    directory: options.Directory,
    queries: Annotated[str, options.value("FILE", "A file of JSON lines, or split:NAME for a split of the archive.")],
    output: Annotated[Path, options.output("FILE", "The run to write, in TREC's format.")],
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    k: options.Depth = 100,
    candidates: Annotated[
        Path | None, options.value("FILE", "JSON lines with the documents to rank for each query.")
    ] = None,
    tag: options.Tags = None,
    before: options.Before = None,
    after: options.After = None,
    without: options.Without = None,
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
        searcher = rankers.open_current(options.build_ranker(archive, ranker, settings, fields), archive.view(), report)
        require_tags(archive, tag or ())
        run = rankers.rank(searcher, questions, k, candidates=pools, filter=filter or None)
    write_run(run, output, searcher.name)
    print(f"{format_count(len(run), 'query')} ranked by {searcher.name}: {output}")
