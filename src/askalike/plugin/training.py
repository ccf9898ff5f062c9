"""Names for packages that train on an archive: the seam of trainers, and the labels that a training view shows.

An object that keeps to `Trainer` is registered in the group `askalike.trainers`. A view from
`archive.training_view(held_out)` hides what will be measured; all functions here read labels through it.
"""

from askalike.core.arrays import Metric
from askalike.core.config import IntegerList, Tables, TextList
from askalike.core.errors import UnknownSettingError
from askalike.core.iteration import LogCallback, chunks
from askalike.core.parallel import safe_path
from askalike.core.records import Qrels, TrainingPair
from askalike.core.values import format_count
from askalike.labels.splits import unlearned_splits
from askalike.labels.training_pairs import LABEL_SIGNALS, collect_learned, training_pairs
from askalike.learning.models import (
    TRAINING_LOGGER,
    Miner,
    Trainer,
    TrainingProgress,
    TrainingProgressCallback,
    TrainingRecipe,
    list_recipes,
    shorten_setting,
)
from askalike.store import Clusters
from askalike.store.feedback import rejected_documents
from askalike.store.labels import imported_queries, irrelevant_judgements
from askalike.tuning.candidates import CandidateFamily

__all__ = [
    "LABEL_SIGNALS",
    "TRAINING_LOGGER",
    "CandidateFamily",
    "Clusters",
    "IntegerList",
    "LogCallback",
    "Metric",
    "Miner",
    "Qrels",
    "Tables",
    "TextList",
    "Trainer",
    "TrainingPair",
    "TrainingProgress",
    "TrainingProgressCallback",
    "TrainingRecipe",
    "UnknownSettingError",
    "chunks",
    "collect_learned",
    "format_count",
    "imported_queries",
    "irrelevant_judgements",
    "list_recipes",
    "rejected_documents",
    "safe_path",
    "shorten_setting",
    "training_pairs",
    "unlearned_splits",
]
