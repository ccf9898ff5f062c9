"""The public names of askalike, for type checkers, and for `__init__.py`, which imports each on first use."""

# ruff: isort: skip_file
# fmt: off
from askalike.calibration.calibrate import calibrate as calibrate
from askalike.core.arrays import VectorPart as VectorPart, Vectors as Vectors
from askalike.core.config import Settings as Settings, validate_settings as validate_settings
from askalike.core.errors import (
    ArchiveError as ArchiveError, AskalikeError as AskalikeError, InputError as InputError,
    NotFittedError as NotFittedError, SettingsError as SettingsError, TrainingError as TrainingError,
)
from askalike.core.filters import AllowedDocs as AllowedDocs, Filter as Filter
from askalike.core.hits import (
    Collection as Collection, Contribution as Contribution, Explanation as Explanation, Run as Run,
    SearchHit as SearchHit, TopDocs as TopDocs,
)
from askalike.core.iteration import Progress as Progress
from askalike.core.records import (
    Answer as Answer, EvaluationQuery as EvaluationQuery, Judgement as Judgement, Link as Link,
    LocatedRecord as LocatedRecord, Place as Place, Question as Question, RejectedRow as RejectedRow,
)
from askalike.core.records import Split as Split
from askalike.encoders import Encoder as Encoder, encode_texts as encode_texts
from askalike.evaluation.evaluate import evaluate as evaluate
from askalike.evaluation.significance import compare as compare
from askalike.evaluation.trec import read_qrels as read_qrels, read_run as read_run, write_run as write_run
from askalike.export import export_archive as export_archive
from askalike.health import run_checks as run_checks
from askalike.health.statistics import compute_statistics as compute_statistics
from askalike.index.lexical.index import LexicalIndex as LexicalIndex
from askalike.index.vectors.index import VectorIndex as VectorIndex
from askalike.labels.splits import load_split as load_split
from askalike.measuring import evaluate_ranker as evaluate_ranker
from askalike.moderation.dedupe import dedupe as dedupe
from askalike.rankers import (
    Ranker as Ranker, ResolvedQuery as ResolvedQuery, Retrieved as Retrieved, Searcher as Searcher, create,
    explain_ids as explain_ids, rank as rank,
)
from askalike.readers import (
    Reader as Reader, SourceFiles as SourceFiles, import_archive as import_archive, read_queries as read_queries,
)
from askalike.search.replies import Reply as Reply
from askalike.search.archive_retriever import (
    ArchiveRetriever as ArchiveRetriever, SearchRequest as SearchRequest, SearchResult as SearchResult, load as load,
)
from askalike.search.retriever import Retriever as Retriever
from askalike.service.processes.supervisor import supervise
from askalike.similarities import Similarity as Similarity
from askalike.store import Archive as Archive, Snapshot as Snapshot, TrainingView as TrainingView, View as View
from askalike.tuning.models import distil as distil, train as train
from askalike.tuning.run import tune_archive
# fmt: on

build = create
serve = supervise
tune = tune_archive

__version__: str
