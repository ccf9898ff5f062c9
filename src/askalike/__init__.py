"""askalike finds the questions in a Q&A archive that ask the same thing.

import askalike

retriever = askalike.Retriever(["how do I reset my password", "where is my order"])
for hit in retriever.search("forgot my password"):
    print(hit.score, hit.title)

The names here are the public API; docs/python.md names the modules of what is used more rarely. A name is imported on
first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from askalike.calibration.calibrate import calibrate
    from askalike.core.arrays import VectorPart, Vectors
    from askalike.core.config import Settings, validate_settings
    from askalike.core.errors import (
        ArchiveError,
        AskalikeError,
        InputError,
        NotFittedError,
        SettingsError,
        TrainingError,
    )
    from askalike.core.filters import AllowedDocs, Filter
    from askalike.core.hits import Collection, Contribution, Explanation, Run, SearchHit, TopDocs
    from askalike.core.iteration import Progress
    from askalike.core.records import (
        Answer,
        EvaluationQuery,
        Judgement,
        Link,
        LocatedRecord,
        Place,
        Question,
        RejectedRow,
    )
    from askalike.core.relevance import Split
    from askalike.encoders import Encoder, encode_texts
    from askalike.evaluation.evaluate import evaluate
    from askalike.evaluation.significance import compare
    from askalike.evaluation.trec import read_qrels, read_run, write_run
    from askalike.export import export_archive
    from askalike.health import run_checks
    from askalike.health.statistics import compute_statistics
    from askalike.index.lexical.index import LexicalIndex
    from askalike.index.vectors.index import VectorIndex
    from askalike.labels.splits import load_split
    from askalike.measuring import evaluate_ranker
    from askalike.moderation.dedupe import dedupe
    from askalike.rankers import Ranker, ResolvedQuery, Retrieved, Searcher, explain_ids, rank
    from askalike.rankers import create as build
    from askalike.readers import Reader, SourceFiles, import_archive, read_queries
    from askalike.search.answering.replies import Reply
    from askalike.search.engine import LocalEngine, SearchRequest, SearchResult
    from askalike.search.retriever import Retriever
    from askalike.service.processes.supervisor import supervise as serve
    from askalike.similarities import Similarity
    from askalike.store import Archive, TrainingView, View
    from askalike.tuning.models import distil, train
    from askalike.tuning.run import tune_archive as tune

__version__ = "0.1.0"

# fmt: off
__all__ = [
    "AllowedDocs", "Answer", "Archive", "ArchiveError", "AskalikeError", "Collection", "Contribution", "Encoder",
    "EvaluationQuery", "Explanation", "Filter", "InputError", "Judgement", "LexicalIndex", "Link", "LocalEngine",
    "LocatedRecord", "NotFittedError", "Place", "Progress", "Question", "Ranker", "Reader", "RejectedRow", "Reply",
    "ResolvedQuery", "Retrieved", "Retriever", "Run", "SearchHit", "SearchRequest", "SearchResult", "Searcher",
    "Settings", "SettingsError", "Similarity", "SourceFiles", "Split", "TopDocs", "TrainingError", "TrainingView",
    "VectorIndex", "VectorPart", "Vectors", "View", "build", "calibrate", "compare", "compute_statistics", "dedupe",
    "distil", "encode_texts", "evaluate", "evaluate_ranker", "explain_ids", "export_archive",
    "import_archive", "load", "load_split", "rank", "read_qrels", "read_queries", "read_run", "run_checks", "serve",
    "train", "tune", "validate_settings", "write_run",
]
_NAMES = {
    "calibration.calibrate": ("calibrate",),
    "core.arrays": ("VectorPart", "Vectors"),
    "core.config": ("Settings", "validate_settings"),
    "core.errors": ("ArchiveError", "AskalikeError", "InputError", "NotFittedError", "SettingsError", "TrainingError"),
    "core.filters": ("AllowedDocs", "Filter"),
    "core.hits": ("Collection", "Contribution", "Explanation", "Run", "SearchHit", "TopDocs"),
    "core.iteration": ("Progress",),
    "core.records": (
        "Answer", "EvaluationQuery", "Judgement", "Link", "LocatedRecord", "Place", "Question", "RejectedRow",
    ),
    "core.relevance": ("Split",),
    "encoders": ("Encoder", "encode_texts"),
    "evaluation.evaluate": ("evaluate",),
    "evaluation.significance": ("compare",),
    "evaluation.trec": ("read_qrels", "read_run", "write_run"),
    "measuring": ("evaluate_ranker",),
    "tuning.models": ("distil", "train"),
    "export": ("export_archive",),
    "health": ("run_checks",),
    "health.statistics": ("compute_statistics",),
    "index.lexical.index": ("LexicalIndex",),
    "index.vectors.index": ("VectorIndex",),
    "labels.splits": ("load_split",),
    "moderation.dedupe": ("dedupe",),
    "rankers": ("Ranker", "ResolvedQuery", "Retrieved", "Searcher", "create:build", "explain_ids", "rank"),
    "readers": ("Reader", "SourceFiles", "import_archive", "read_queries"),
    "search.answering.replies": ("Reply",),
    "search.engine": ("LocalEngine", "SearchRequest", "SearchResult"),
    "search.retriever": ("Retriever",),
    "service.processes.supervisor": ("supervise:serve",),
    "similarities": ("Similarity",),
    "store": ("Archive", "TrainingView", "View"),
    "tuning.run": ("tune_archive:tune",),
}
# fmt: on
"""Module → the public names in it, `NAME:PUBLIC_NAME` where they differ; the same as the imports above."""
_PLACES = {
    name.rpartition(":")[2]: (f"askalike.{module}", name.partition(":")[0])
    for module, names in _NAMES.items()
    for name in names
}


def load(
    path: "str | Path", ranker: "str | Ranker | None" = None, *, engine: str | None = None, **settings: Any
) -> "LocalEngine":
    """Return the engine that searches the archive in a directory: `load("riverside").search("my card is lost")`.

    ranker: or its name; None for the one that `tune` or `promote` chose. engine: the address of the engine that
    holds the indexes, `NAME+URL`; None if they are in the directory. settings: the ranker's settings.
    Raises ArchiveError if there is no archive, SettingsError for an unknown ranker or setting, EngineError if the
    engine cannot be reached.
    """
    from askalike.search.engine import LocalEngine

    return LocalEngine.open(path, ranker, settings, engine)


if not TYPE_CHECKING:  # else a type checker would accept any name

    def __getattr__(name: str) -> Any:
        """Return a public name, imported now and remembered."""
        if name not in _PLACES:
            raise AttributeError(f"module 'askalike' has no attribute {name!r}")
        module, attribute = _PLACES[name]
        value = globals()[name] = getattr(importlib.import_module(module), attribute)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
