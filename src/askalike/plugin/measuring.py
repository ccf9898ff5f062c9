"""Names for packages that measure: tasks on the labels of an archive, trials, comparisons, calibrations and tables.

Measures, intervals and significance go by the functions of askalike itself, so that numbers agree.
"""

from askalike.calibration.calibrate import CalibrationReport, RankerDescription, calibrate_sample, require_shares
from askalike.calibration.features import CALIBRATION_DEPTH, COLUMN_COUNT, FEATURES, SAMENESS_COLUMN, SIMILARITY_COLUMN
from askalike.calibration.samples import MIN_QUERIES, CalibrationSample, QueryRows, collect_labelled_hits
from askalike.cli.calibrate import (
    PREVALENCE_HELP,
    GuaranteedPrecision,
    Precision,
    Verbose,
    format_report,
    format_verdict,
)
from askalike.core.hits import Columns
from askalike.core.records import DocumentKind
from askalike.evaluation.evaluate import Rule, get_rule
from askalike.evaluation.intervals import BinomialProportion, bootstrap_means, group_column, percentile_interval
from askalike.evaluation.measures import canonical_name
from askalike.evaluation.outcome import BOOTSTRAP_DRAWS, Evaluation
from askalike.evaluation.significance import ALPHA, ComparedSystem, Comparison, SystemPair, interval_over_seeds
from askalike.evaluation.tables import ResultTable, TableCell, format_p, to_csv, to_latex, to_text
from askalike.evaluation.trec import separate_ties
from askalike.export import write_table
from askalike.health import LEAK_CHECKS
from askalike.health.findings import Finding
from askalike.labels.partitions import create_partition, create_splitter
from askalike.labels.splits import (
    KNOWN_SPLIT,
    document_kind,
    group_names,
    identify_queries,
    labelled_splits,
    sample_queries,
    splits_to_hold_out,
    type_titles,
)
from askalike.measuring import (
    DEFAULT_DEPTH,
    DEFAULT_MEASURES,
    LEADING_MEASURE,
    RankingTask,
    as_evaluation,
    describe_choice,
    evaluate_groups,
    evaluation_split,
    merge_runs,
)
from askalike.search.grounded import ChatEndpoint, named_endpoint, write_grounded
from askalike.store import content_hash
from askalike.store.archive import PointInTimeArchive
from askalike.store.labels import parse_typed_split
from askalike.tuning.candidates import Grid, tuning_grids
from askalike.tuning.trials import (
    QueryValues,
    RankerSettings,
    Trial,
    TrialEvaluator,
    TrialMemory,
    remove_indexes,
    trial_key,
)

__all__ = [
    "ALPHA",
    "BOOTSTRAP_DRAWS",
    "CALIBRATION_DEPTH",
    "COLUMN_COUNT",
    "DEFAULT_DEPTH",
    "DEFAULT_MEASURES",
    "FEATURES",
    "KNOWN_SPLIT",
    "LEADING_MEASURE",
    "LEAK_CHECKS",
    "MIN_QUERIES",
    "PREVALENCE_HELP",
    "SAMENESS_COLUMN",
    "SIMILARITY_COLUMN",
    "BinomialProportion",
    "CalibrationReport",
    "CalibrationSample",
    "ChatEndpoint",
    "Columns",
    "ComparedSystem",
    "Comparison",
    "DocumentKind",
    "Evaluation",
    "Finding",
    "Grid",
    "GuaranteedPrecision",
    "PointInTimeArchive",
    "Precision",
    "QueryRows",
    "QueryValues",
    "RankerDescription",
    "RankerSettings",
    "RankingTask",
    "ResultTable",
    "Rule",
    "SystemPair",
    "TableCell",
    "Trial",
    "TrialEvaluator",
    "TrialMemory",
    "Verbose",
    "as_evaluation",
    "bootstrap_means",
    "calibrate_sample",
    "canonical_name",
    "collect_labelled_hits",
    "content_hash",
    "create_partition",
    "create_splitter",
    "describe_choice",
    "document_kind",
    "evaluate_groups",
    "evaluation_split",
    "format_p",
    "format_report",
    "format_verdict",
    "get_rule",
    "group_column",
    "group_names",
    "identify_queries",
    "interval_over_seeds",
    "labelled_splits",
    "merge_runs",
    "named_endpoint",
    "parse_typed_split",
    "percentile_interval",
    "remove_indexes",
    "require_shares",
    "sample_queries",
    "separate_ties",
    "splits_to_hold_out",
    "to_csv",
    "to_latex",
    "to_text",
    "trial_key",
    "tuning_grids",
    "type_titles",
    "write_grounded",
    "write_table",
]
