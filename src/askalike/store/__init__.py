"""The archive in one SQLite file: its records, and everything stored with them. All SQL of the package is here."""

from askalike.store.archive import Archive, takes_archive
from askalike.store.candidate_pairs import AlreadyDecidedError, PairProposal, ProposalState
from askalike.store.contents import (
    ArchiveSummary,
    content_hash,
    count_questions_by,
    sample_answers,
    sample_questions,
    shuffle_names,
)
from askalike.store.database import DATABASE_FILE, storage_errors
from askalike.store.deployments import ServedRanker, get_served_ranker, serve_ranker, withdraw_ranker
from askalike.store.editing import MissingRecordError
from askalike.store.labels import Clusters, connected_components, imported_splits, partition_parts, read_labels
from askalike.store.records import UnknownTagError
from askalike.store.view import Snapshot, TrainingView, View

__all__ = [
    "DATABASE_FILE", "AlreadyDecidedError", "Archive", "ArchiveSummary", "Clusters", "MissingRecordError",
    "PairProposal", "ProposalState", "ServedRanker", "Snapshot", "TrainingView", "UnknownTagError", "View",
    "connected_components", "content_hash", "count_questions_by", "get_served_ranker", "imported_splits",
    "partition_parts", "read_labels", "sample_answers", "sample_questions", "serve_ranker", "shuffle_names",
    "storage_errors", "takes_archive", "withdraw_ranker",
]  # fmt: skip
