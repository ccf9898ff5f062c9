"""askalike finds the questions in a Q&A archive that ask the same thing.

import askalike

retriever = askalike.Retriever(["how do I reset my password", "where is my order"])
for hit in retriever.search("forgot my password"):
    print(hit.score, hit.title)

The whole public API is in this module. A name is imported on first use, from the module given by the imports under
TYPE_CHECKING, which both type checkers and `__getattr__` read.
"""

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from askalike.calibration.calibrate import CalibrationReport, calibrate, measure_abstention
    from askalike.calibration.samples import load_off_topic_queries
    from askalike.core.config import Settings, validate_settings
    from askalike.core.errors import (
        ArchiveError,
        AskalikeError,
        InputError,
        NotFittedError,
        SettingsError,
        TrainingError,
    )
    from askalike.core.filters import Filter
    from askalike.encoders import Encoder, encode_texts
    from askalike.evaluation.evaluate import evaluate
    from askalike.evaluation.outcome import Evaluation
    from askalike.evaluation.significance import compare
    from askalike.evaluation.trec import read_qrels, read_run, write_run
    from askalike.experiments.comparing import compare_runs
    from askalike.experiments.grid_search import tune_ranker
    from askalike.experiments.measuring import evaluate_files, evaluate_ranker
    from askalike.experiments.models import distil, list_models, train
    from askalike.experiments.outcome import ExperimentResult
    from askalike.export.exporting import export_archive
    from askalike.health.checks import run_checks
    from askalike.health.statistics import compute_statistics
    from askalike.integrations.mcp.tools import ArchiveTools
    from askalike.labels.partitions import create_partition
    from askalike.labels.splits import identify_queries, load_split, splits_to_hold_out
    from askalike.labels.training_pairs import count_pairs, training_pairs
    from askalike.learning.loss import Loss as Loss
    from askalike.learning.networks import Network as Network
    from askalike.learning.recipes import load_recipe
    from askalike.moderation.dedupe import dedupe
    from askalike.moderation.drafts import find_drafts
    from askalike.moderation.gaps import find_gaps, get_gap, ignore_gap, restore_gap
    from askalike.moderation.tags import evaluate_suggestions, suggest_tags
    from askalike.rankers import Ranker, ResolvedQuery, Searcher, delete_indexes
    from askalike.rankers import create as build
    from askalike.readers import Reader, SourceFiles, import_archive, parse_rows, read_candidates, read_queries, reject
    from askalike.replay.replay import replay as replay_archive
    from askalike.search import Engine, SearchRequest, SearchResult
    from askalike.search.answering.reply import Reply
    from askalike.search.local import LocalEngine
    from askalike.search.opensearch import OpenSearchEngine, cluster_status, drop_indexes, init_cluster, merge_indexes
    from askalike.search.retriever import Retriever
    from askalike.service.processes.supervisor import supervise as serve
    from askalike.service.settings import ServiceSettings
    from askalike.similarities import Similarity
    from askalike.store import Archive, TrainingView, View, withdraw_ranker
    from askalike.store.backup import backup, restore
    from askalike.store.drafts import accept_draft, list_drafts, reject_draft
    from askalike.store.feedback import export_feedback
    from askalike.store.keys import create_key, list_keys, revoke_key
    from askalike.store.query_log import delete_older_than as purge_query_log
    from askalike.text.analyzer import Analyzer, AnalyzerSettings
    from askalike.tuning.adoption import adopt_encoder
    from askalike.tuning.promotion import promote
    from askalike.tuning.run import TuningResult
    from askalike.tuning.run import tune_archive as tune
    from askalike.core.types import (  # isort: skip
        Answer, Collection, Contribution, EvaluationQuery, Explanation, Hit, Judgement, Link, LocatedRecord,
        Place, Progress, Qrels, Question, Record, RejectedRow, Run, SearchHit, Span, Split, TopDocs, TrainingPair,
        VectorPart, Vectors,
    )  # fmt: skip

__version__ = "0.1.0"

# fmt: off
__all__ = [
    "Analyzer", "AnalyzerSettings", "Answer", "Archive", "ArchiveError", "ArchiveTools", "AskalikeError",
    "CalibrationReport", "Collection", "Contribution", "Encoder", "Engine", "Evaluation", "EvaluationQuery",
    "ExperimentResult", "Explanation", "Filter", "Hit", "InputError", "Judgement", "Link", "LocalEngine",
    "LocatedRecord", "NotFittedError", "OpenSearchEngine", "Place", "Progress", "Qrels", "Question", "Ranker",
    "Reader", "Record", "RejectedRow", "Reply", "ResolvedQuery", "Retriever", "Run", "SearchHit", "SearchRequest",
    "SearchResult", "Searcher", "ServiceSettings", "Settings", "SettingsError", "Similarity", "SourceFiles", "Span",
    "Split", "TopDocs", "TrainingError", "TrainingPair", "TrainingView", "TuningResult", "VectorPart", "Vectors",
    "View", "accept_draft", "adopt_encoder", "backup", "build", "calibrate", "cluster_status", "compare",
    "compare_runs", "compute_statistics", "count_pairs", "create_key", "create_partition", "dedupe", "delete_indexes",
    "distil", "drop_indexes", "encode_texts", "evaluate", "evaluate_files", "evaluate_ranker",
    "evaluate_suggestions", "experiment", "export_archive", "export_feedback", "find_drafts",
    "find_gaps", "get_gap", "identify_queries", "ignore_gap", "import_archive", "init_cluster",
    "list_drafts", "list_keys", "list_models", "load", "load_off_topic_queries", "load_recipe", "load_split",
    "measure_abstention", "merge_indexes", "parse_rows", "promote", "purge_query_log", "read_candidates", "read_qrels",
    "read_queries", "read_run", "reject", "reject_draft", "replay_archive", "restore", "restore_gap",
    "revoke_key", "run_checks", "serve", "splits_to_hold_out", "suggest_tags", "train", "training_pairs", "tune",
    "tune_ranker", "validate_settings", "withdraw_ranker", "write_run",
]
# fmt: on
_NEURAL = ("Loss", "Network")
"""Names that need the extra `neural`, which `from askalike import *` leaves out."""


def load(path: "str | Path", ranker: str | None = None, *, engine: str | None = None, **settings: Any) -> "LocalEngine":
    """Return the engine that searches the archive in a directory: `load("riverside").search("my card is lost")`.

    ranker: its name; None for the one that `tune` or `promote` chose. engine: the address of the OpenSearch cluster
    that holds the indexes; None if they are in the directory. settings: the ranker's settings.
    Raises ArchiveError if there is no archive, SettingsError for an unknown ranker or setting, EngineError if the
    cluster cannot be reached.
    """
    from askalike.search.local import LocalEngine

    if engine is None:
        return LocalEngine.open(path, ranker, settings)
    from askalike.search.opensearch import OpenSearchEngine

    return OpenSearchEngine.open(path, ranker, settings, engine)


def experiment(
    file: "str | Path",
    folder: "str | Path",
    changes: "Mapping[str, Any] | None" = None,
    *,
    resume: bool = False,
    force: bool = False,
) -> "ExperimentResult":
    """Run the experiment that a TOML file declares, and write everything into a folder that reproduces it.

    changes: values that replace those of the file, by key or `table.key`. resume: continue an interrupted experiment.
    force: replace the experiment that is in the folder. Raises SettingsError for anything wrong in the file.
    """
    from pathlib import Path

    from askalike.experiments.declaration import read_experiment
    from askalike.experiments.run import run_experiment

    return run_experiment(read_experiment(Path(file), changes), Path(folder), resume=resume, force=force)


@cache
def _lazy_imports() -> "Mapping[str, tuple[str, str]]":
    """Return public name → its module and its name there, read from the imports under TYPE_CHECKING."""
    import ast

    source = __spec__.loader.get_source(__name__)  # type: ignore[union-attr]
    block = next(node for node in ast.parse(source).body if isinstance(node, ast.If))
    imports = (node for node in block.body if isinstance(node, ast.ImportFrom))
    ours = (node for node in imports if node.module and node.module.startswith("askalike."))
    return {a.asname or a.name: (str(node.module), a.name) for node in ours for a in node.names}


if not TYPE_CHECKING:  # else a type checker would accept any name

    def __getattr__(name: str) -> Any:
        """Return a public name, imported now and remembered."""
        if name not in __all__ and name not in _NEURAL:
            raise AttributeError(f"module 'askalike' has no attribute {name!r}")
        module, attribute = _lazy_imports()[name]
        value = globals()[name] = getattr(importlib.import_module(module), attribute)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_NEURAL})
