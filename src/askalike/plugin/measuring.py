"""Names for packages that measure: tasks on the labels of an archive, trials, comparisons, calibrations and tables.

Measures, intervals and significance go by the functions of askalike itself, so that numbers agree.
"""

from askalike.calibration.calibrate import (
    CalibrationReport as CalibrationReport,
    RankerDescription as RankerDescription,
    calibrate_sample as calibrate_sample,
    require_shares as require_shares,
)
from askalike.calibration.calibration import ArchiveState as ArchiveState, Calibration as Calibration
from askalike.calibration.features import (
    CALIBRATION_DEPTH as CALIBRATION_DEPTH,
    COLUMN_COUNT as COLUMN_COUNT,
    FEATURES as FEATURES,
    SAMENESS_COLUMN as SAMENESS_COLUMN,
)
from askalike.calibration.samples import (
    MIN_QUERIES as MIN_QUERIES,
    CalibrationSample as CalibrationSample,
    QueryRows as QueryRows,
    collect_labelled_hits as collect_labelled_hits,
)
from askalike.cli.calibrate import (
    PREVALENCE_HELP as PREVALENCE_HELP,
    GuaranteedPrecision as GuaranteedPrecision,
    Precision as Precision,
    Verbose as Verbose,
    format_report as format_report,
    format_verdict as format_verdict,
)
from askalike.core.hits import Columns as Columns
from askalike.core.records import DocumentKind as DocumentKind
from askalike.evaluation.evaluate import Rule as Rule, get_rule as get_rule
from askalike.evaluation.intervals import (
    BinomialProportion as BinomialProportion,
    bootstrap_means as bootstrap_means,
    group_column as group_column,
    percentile_interval as percentile_interval,
)
from askalike.evaluation.measures import canonical_name as canonical_name
from askalike.evaluation.outcome import BOOTSTRAP_DRAWS as BOOTSTRAP_DRAWS, Evaluation as Evaluation
from askalike.evaluation.significance import (
    ALPHA as ALPHA,
    ComparedSystem as ComparedSystem,
    Comparison as Comparison,
    SystemPair as SystemPair,
    interval_over_seeds as interval_over_seeds,
)
from askalike.evaluation.tables import (
    ResultTable as ResultTable,
    TableCell as TableCell,
    format_p as format_p,
    to_csv as to_csv,
    to_latex as to_latex,
    to_text as to_text,
)
from askalike.evaluation.trec import separate_ties as separate_ties
from askalike.export import write_table as write_table
from askalike.health import LEAK_CHECKS as LEAK_CHECKS
from askalike.health.findings import Finding as Finding
from askalike.labels.partitions import create_partition as create_partition, create_splitter as create_splitter
from askalike.labels.splits import (
    KNOWN_SPLIT as KNOWN_SPLIT,
    document_kind as document_kind,
    group_names as group_names,
    identify_queries as identify_queries,
    labelled_splits as labelled_splits,
    sample_queries as sample_queries,
    splits_to_hold_out as splits_to_hold_out,
    type_titles as type_titles,
)
from askalike.measuring import (
    DEFAULT_DEPTH as DEFAULT_DEPTH,
    DEFAULT_MEASURES as DEFAULT_MEASURES,
    LEADING_MEASURE as LEADING_MEASURE,
    RankingTask as RankingTask,
    as_evaluation as as_evaluation,
    describe_choice as describe_choice,
    evaluate_groups as evaluate_groups,
    evaluation_split as evaluation_split,
    merge_runs as merge_runs,
)
from askalike.search.grounded import (
    ChatEndpoint as ChatEndpoint,
    named_endpoint as named_endpoint,
    write_grounded as write_grounded,
)
from askalike.store import content_hash as content_hash
from askalike.store.archive import PointInTimeArchive as PointInTimeArchive
from askalike.store.labels import parse_typed_split as parse_typed_split
from askalike.tuning.candidates import Grid as Grid, tuning_grids as tuning_grids
from askalike.tuning.trials import (
    QueryValues as QueryValues,
    RankerSettings as RankerSettings,
    Trial as Trial,
    TrialEvaluator as TrialEvaluator,
    TrialMemory as TrialMemory,
    remove_indexes as remove_indexes,
    trial_key as trial_key,
)
