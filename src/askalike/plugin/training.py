"""Names for packages that train on an archive: the seam of trainers, and the labels that a training view shows.

An object that keeps to `Trainer` is registered in the group `askalike.trainers`. A view from
`archive.training_view(held_out)` hides what will be measured; all functions here read labels through it.
"""

from askalike.core.arrays import Metric as Metric
from askalike.core.config import IntegerList as IntegerList, Tables as Tables, TextList as TextList
from askalike.core.errors import UnknownSettingError as UnknownSettingError
from askalike.core.iteration import LogCallback as LogCallback, chunks as chunks
from askalike.core.parallel import safe_path as safe_path
from askalike.core.records import Qrels as Qrels, TrainingPair as TrainingPair
from askalike.core.values import format_count as format_count
from askalike.labels.splits import unlearned_splits as unlearned_splits
from askalike.labels.training_pairs import (
    LABEL_SIGNALS as LABEL_SIGNALS,
    collect_learned as collect_learned,
    training_pairs as training_pairs,
)
from askalike.learning.models import (
    TRAINING_LOGGER as TRAINING_LOGGER,
    Miner as Miner,
    Trainer as Trainer,
    TrainingProgress as TrainingProgress,
    TrainingProgressCallback as TrainingProgressCallback,
    TrainingRecipe as TrainingRecipe,
    list_recipes as list_recipes,
    shorten_setting as shorten_setting,
)
from askalike.store import Clusters as Clusters
from askalike.store.feedback import rejected_documents as rejected_documents
from askalike.store.labels import imported_queries as imported_queries, irrelevant_judgements as irrelevant_judgements
from askalike.tuning.candidates import CandidateFamily as CandidateFamily
