"""How well a ranker finds what an archive's labels say: the archive's splits, its ranker, one evaluation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from askalike.errors import ArchiveError, InputError, SettingsError
from askalike.evaluation.macro import MacroEvaluation
from askalike.evaluation.measures import evaluate
from askalike.evaluation.outcome import Evaluation
from askalike.evaluation.trec import read_qrels, read_run, separate_ties
from askalike.labels import splits
from askalike.labels.splits import labelled_splits, load_split, splits_to_hold_out
from askalike.rankers import Ranker, build_with_retry
from askalike.store.archive import Archive
from askalike.types import Columns, Progress, Run, Split

T = TypeVar("T")

DEFAULT_MEASURES = ("Success@1", "Success@5", "Success@10", "AP", "RR")


def default_split(archive: Archive) -> str:
    """test where there is one, else the first split that has labels. Raises ArchiveError where none has."""
    if name := splits.default_split(archive, "test", include_parts=True):
        return name
    raise ArchiveError(
        f"{archive.path}: nothing to evaluate with: no duplicate links, rephrasings or evaluation set; "
        "import one, or evaluate a run with --run FILE --qrels FILE"
    )


def tuning_splits(archive: Archive, dev: str | None = None, test: str | None = None) -> tuple[str, str | None]:
    """The names of the split that chooses settings and of the one that measures them, given ones first.

    Where nothing is named: dev (or train) and test, as far as they are there; with labels of one kind only, those, and
    no test. Raises SettingsError where both are the same, ArchiveError where the archive has no labels.
    """
    if dev and dev == test:
        raise SettingsError(f"the split {dev!r} cannot both choose settings and measure them; leave out --test")
    there = [name for name in labelled_splits(archive) if name != test]
    first = dev or next((name for name in ("dev", "train") if name in there), None) or default_split(archive)
    return first, test or ("test" if "test" in there and first != "test" else None)


def evaluate_files(run: Path, qrels: Path, measures: Sequence[str], rule: str = "trec_eval") -> Evaluation:
    """The measures of a run file against a file of judgements. Raises InputError for either, naming file and line."""
    found, known = read_run(run), read_qrels(qrels)
    if not any(query in known for query in found):
        raise InputError(
            f"{run}: none of its {len(found)} queries (such as {next(iter(found))!r}) is judged in {qrels} (which has "
            f"such as {next(iter(known))!r}); expected a run of the same queries"
        )
    return evaluate(found, known, measures, rule)


def evaluate_ranker(
    archive: Archive,
    ranker: Ranker,
    split_name: str,
    measures: Sequence[str] = DEFAULT_MEASURES,
    *,
    rule: str = "trec_eval",
    k: int = 100,
    progress: Progress | None = None,
) -> Evaluation | MacroEvaluation:
    """A ranker's measures on a split; over an archive of several groups (CQADupStack's forums), their macro average.

    The ranker's own order counts: equal scores are told apart before the rule sees them, as in a run that is written.
    A query that is a question of the archive never finds itself.
    """
    labels = load_split(archive, split_name)
    unknown = splits_to_hold_out(archive, split_name)

    def measured(group: str | None, part: Split) -> Evaluation:
        run = _rank_group(archive, ranker, group, part, k, progress, unknown)
        return evaluate(separate_ties(run), part.qrels, measures, rule)

    groups: Sequence[str] = archive.meta.get("groups") or ()
    if not groups:
        return measured(None, labels)
    parts = {group: _restrict_to_group(labels, group) for group in groups}
    return MacroEvaluation({group: measured(group, part) for group, part in parts.items() if part.queries})


def rank_split(
    archive: Archive,
    ranker: Ranker,
    labels: Split,
    k: int,
    progress: Progress | None = None,
    held_out_splits: Sequence[str] = (),
) -> Run:
    """The queries of a split ranked, those of each group of an archive within that group; fitted and indexed before.

    hidden: the splits of whose labels the ranker makes no use while it ranks.
    """
    groups: Sequence[str | None] = archive.meta.get("groups") or (None,)
    columns: dict[str, Columns] = {}
    for group in groups:
        part = labels if group is None else _restrict_to_group(labels, group)
        if part.queries:
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
    return build_with_retry(fitted, view, progress).rank(labels.queries, k, candidates=labels.candidates)


def _restrict_to_group(labels: Split, group: str) -> Split:
    """What of a split belongs to one group."""
    candidates = _rows_of_group(labels.candidates, group) if labels.candidates is not None else None
    return Split(_rows_of_group(labels.queries, group), _rows_of_group(labels.qrels, group), candidates)


def _rows_of_group(rows: Mapping[str, T], group: str) -> dict[str, T]:
    return {id: row for id, row in rows.items() if id.startswith(f"{group}/")}
