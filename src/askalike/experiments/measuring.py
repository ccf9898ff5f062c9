"""The evaluation of a ranker on an archive's labels, and the defaults: splits, measures, depth."""

from collections.abc import Sequence
from pathlib import Path

from askalike.errors import ArchiveError, InputError, SettingsError
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.outcome import Evaluation, MacroEvaluation
from askalike.evaluation.trec import read_qrels, read_run, separate_ties
from askalike.labels import splits
from askalike.labels.splits import labelled_splits, load_split, restrict_split, splits_to_hold_out
from askalike.rankers import Ranker, open_current
from askalike.store import Archive
from askalike.types import Columns, Progress, Run, Split

DEFAULT_MEASURES = ("Success@1", "Success@5", "Success@10", "AP", "RR")
"""What an evaluation reports."""
LEADING_MEASURE = "Success@5"
"""The measure of a plain sentence, and of promotion: people know what it means."""
TUNING_MEASURE = "nDCG@10"
"""What tuning chooses by: the place of the relevant document says more, of few queries, than whether it is in five."""
LEXICAL_TUNING_MEASURE = "Success@10"
"""What tuning of lexical rankers alone chooses by."""
DEFAULT_DEPTH = 100
"""How deep a measure without a cut-off looks."""


def evaluation_split(archive: Archive) -> str:
    """Return the split to evaluate on where none is named: test, else the first. Raises ArchiveError without labels."""
    if name := splits.default_split(archive, "test", include_parts=True):
        return name
    raise ArchiveError(
        f"{archive.path}: nothing to evaluate with: no duplicate links, rephrasings or evaluation set; "
        "import one, or evaluate a run with --run FILE --qrels FILE"
    )


def tuning_splits(archive: Archive, dev: str | None = None, test: str | None = None) -> tuple[str, str | None]:
    """Return the names of the split that chooses settings and of the one that measures them; None without one.

    Where nothing is named: dev (or train) and test, as far as the archive has them; with one split only, that one.
    Raises SettingsError where both are the same, ArchiveError where the archive has no labels.
    """
    if dev and dev == test:
        raise SettingsError(f"the split {dev!r} cannot both choose settings and measure them; leave out --test")
    names = [name for name in labelled_splits(archive) if name != test]
    first = dev or next((name for name in ("dev", "train") if name in names), None) or evaluation_split(archive)
    return first, test or ("test" if "test" in names and first != "test" else None)


def evaluate_files(run: Path, qrels: Path, measures: Sequence[str], rule: str = "trec_eval") -> Evaluation:
    """Measure a run file by a file of judgements. Raises InputError for either, naming file and line."""
    ranked, judged = read_run(run), read_qrels(qrels)
    if not any(query in judged for query in ranked):
        raise InputError(
            f"{run}: none of its {len(ranked)} queries (such as {next(iter(ranked))!r}) is judged in {qrels} (which "
            f"has such as {next(iter(judged))!r}); expected a run of the same queries"
        )
    return evaluate(ranked, judged, measures, rule)


def evaluate_ranker(
    archive: Archive,
    ranker: Ranker,
    split_name: str,
    measures: Sequence[str] = DEFAULT_MEASURES,
    *,
    rule: str = "trec_eval",
    k: int = DEFAULT_DEPTH,
    progress: Progress | None = None,
) -> Evaluation | MacroEvaluation:
    """Return a ranker's measures on a split; over an archive of several groups (CQADupStack's forums), their average.

    The ranker's own order counts: equal scores are told apart before the rule sees them, as in a run that is written.
    A query that is a question of the archive never finds itself.
    """
    held_out = splits_to_hold_out(archive, split_name)
    evaluations = {}
    for group, labels in _split_groups(archive, load_split(archive, split_name)).items():
        run = _rank_group(archive, ranker, group, labels, k, progress, held_out)
        evaluations[group] = evaluate(separate_ties(run), labels.qrels, measures, rule)
    ungrouped = evaluations.get(None)
    return ungrouped or MacroEvaluation({str(group): evaluation for group, evaluation in evaluations.items()})


def rank_split(
    archive: Archive,
    ranker: Ranker,
    labels: Split,
    k: int,
    progress: Progress | None = None,
    held_out_splits: Sequence[str] = (),
) -> Run:
    """Fit and build a ranker and rank the queries of a split, those of each group of an archive within that group.

    held_out_splits: the splits whose labels the ranker does not see while it ranks.
    """
    columns: dict[str, Columns] = {}
    for group, part in _split_groups(archive, labels).items():
        run = _rank_group(archive, ranker, group, part, k, progress, held_out_splits)
        columns |= {query: run.columns(query) for query in run}
    return Run(columns)


def _rank_group(
    archive: Archive,
    ranker: Ranker,
    group: str | None,
    labels: Split,
    k: int,
    progress: Progress | None,
    held_out_splits: Sequence[str],
) -> Run:
    fitted, view = ranker.fit(archive.view(group=group)), archive.view(group=group, held_out_splits=held_out_splits)
    return open_current(fitted, view, progress).rank(labels.queries, k, candidates=labels.candidates)


def _split_groups(archive: Archive, labels: Split) -> dict[str | None, Split]:
    """Return the queries of each group that has any; all of them, under None, where the archive has no groups."""
    groups: Sequence[str] = archive.meta.get("groups") or ()
    if not groups:
        return {None: labels}
    parts = {
        group: restrict_split(labels, {q for q in labels.queries if q.startswith(f"{group}/")}) for group in groups
    }
    return {group: part for group, part in parts.items() if part.queries}
