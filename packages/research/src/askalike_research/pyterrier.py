"""An archive in PyTerrier: `ArchiveTransformer("archives/cs", "bm25") % 10 >> …` (the extra `pyterrier`)."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import pyterrier as pt  # type: ignore[import-untyped, import-not-found, unused-ignore]
from pandas import DataFrame  # type: ignore[import-untyped, import-not-found, unused-ignore]

from askalike import Archive, Question, SettingsError, build, rank
from askalike.plugin.measuring import identify_queries
from askalike.plugin.rankers import open_current
from askalike.plugin.readers import Markup, guess_markup

DEFAULT_RESULTS = 1_000
"""Number of documents that PyTerrier's own retrievers return for a query."""


class ArchiveTransformer(pt.Transformer):  # type: ignore[misc, unused-ignore]
    """Retrieves an archive's questions, or ranks those that an earlier stage has retrieved.

    A frame of queries (qid, query, and optionally body and its markup, text or html) becomes a frame of results: the
    same columns with docno, rank from 0, and score. If the frame already has docnos, only these are ranked. A query
    that is a question of the archive, by id and title, does not find itself.
    """

    def __init__(
        self, archive: Archive | Path | str, ranker: str | None = None, *, num_results: int = DEFAULT_RESULTS,
        **settings: Any,
    ) -> None:  # fmt: skip
        """Open an archive, or take an open one, with a ranker by name; None for the archive's own.

        num_results: the number of documents per query. settings: the ranker's settings. Raises ArchiveError if there is
        no archive, SettingsError for an unknown ranker or setting.
        """
        self.archive = archive if isinstance(archive, Archive) else Archive.open(archive)
        self.ranker = build(ranker, settings, self.archive)
        self.num_results = num_results

    def transform(self, frame: DataFrame) -> DataFrame:
        """Return the results of a frame of queries, or a frame of results ranked again."""
        with pt.validate.any(frame) as shape:
            shape.result_frame(extra_columns=["query"], mode="rank again")
            shape.query_frame(extra_columns=["query"], mode="retrieve")
        again = shape.mode == "rank again"
        of_result = ["docno", "rank", "score"]
        of_query = frame.drop(columns=of_result, errors="ignore").drop_duplicates("qid")
        candidates = {str(qid): list(map(str, rows)) for qid, rows in frame.groupby("qid").docno} if again else None
        k = max(map(len, candidates.values()), default=1) if candidates is not None else self.num_results
        view = self.archive.view()
        queries = identify_queries(view, _read_queries(of_query))
        found = rank(open_current(self.ranker, view), queries, k, candidates=candidates).to_frame()
        results: DataFrame = of_query.assign(qid=of_query.qid.astype(str)).merge(found.astype({"qid": str}), on="qid")
        return results


def _read_queries(frame: DataFrame) -> Mapping[str, Question]:
    """Return the queries of a frame by qid. Raises SettingsError for markup other than text and html."""
    bodies = [str(body) for body in frame.body] if "body" in frame else [""] * len(frame)
    if "markup" in frame:
        markups = list(frame.markup)
        if unknown := sorted({str(markup) for markup in markups} - set(get_args(Markup))):
            raise SettingsError(f"column markup: {', '.join(unknown)}; expected text or html")
    else:
        markups = [guess_markup(body) for body in bodies]
        if found := markups.count("html"):
            warnings.warn(
                f"{found} of {len(bodies)} bodies look like HTML and are read so (else: a column markup)", stacklevel=3
            )
    return {
        str(qid): Question(str(qid), query, body, markup)
        for qid, query, body, markup in zip(frame.qid, frame["query"], bodies, markups, strict=True)
    }
