"""What a bot would have said to each archive's latest questions: backtests by the default ranker, as JSON.

    python experiments/backtests.py ARCHIVE … --last 1000 -o experiments/reports/backtests.json
    python experiments/backtests.py ARCHIVE … --without-labels -o experiments/reports/backtests-unlabelled.json

Of the guarantees, the highest for which there is a threshold is measured, too. Without labels the archive's own ranker
answers, as it is installed: nothing is calibrated, and labels only tell which comments are right.

An archive without dates, such as Ask Ubuntu's titles, is asked in the order of its file: its questions get dates in
that order, and its judgements become links. See packages/research/docs/backtest.md.
"""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from askalike import rankers
from askalike.calibration.calibrate import RankerDescription, calibrate_sample
from askalike.calibration.samples import draw_sample
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.records import Link
from askalike.store import Archive, Clusters
from askalike.store.archive import PointInTimeArchive
from askalike_research.experiments.provenance import collect_provenance
from askalike_research.replay.backtest import backtest, select_window

START = datetime(2000, 1, 1)


def measure(archive: Archive, last: int, guarantees: Sequence[float]) -> dict[str, object]:
    """Return the outcomes of a backtest, without ids and texts, with the highest guarantee that has a threshold.

    guarantees: none for a backtest without labels.
    """
    ranker = rankers.create(rankers.DEFAULT_NAME if guarantees else None, {}, archive)
    guarantee = highest_guarantee(archive, last, sorted(guarantees, reverse=True)) or min(guarantees, default=None)
    result = backtest(archive, ranker, last=last, guarantee=guarantee, calibrates=bool(guarantees))
    return {name: value for name, value in result.as_dict().items() if name not in {"archive", "asked", "remark"}}


def highest_guarantee(archive: Archive, last: int, guarantees: Sequence[float]) -> float | None:
    """Return the first of these guarantees for which the labels before the window give a threshold."""
    window, _ = select_window(archive, last, None)
    with TemporaryDirectory() as folder, PointInTimeArchive(archive, Path(folder) / "archive") as past:
        past.advance_to(str(window[0].created_at))
        view = past.archive.view()
        prevalence = len({link.source for link in view.links()}) / max(len(view), 1)
        ranker = rankers.create(rankers.DEFAULT_NAME, {}, past.archive).fit(past.archive.training_view(()))
        try:
            sample = draw_sample(past.archive, ranker, "duplicates")
        except (ArchiveError, SettingsError):  # too few labels
            return None
        for guarantee in guarantees:
            targets = {"precision": None, "guarantee": guarantee, "prevalence": prevalence}
            report = calibrate_sample(sample, RankerDescription(ranker.name), **targets, seed=0)
            if report.guarantee and report.guarantee.threshold is not None:
                return guarantee
    return None


def date_by_order(source: Archive, target: Archive) -> None:
    """Copy questions with dates a minute apart, and link each to the first of its cluster at its own date."""
    questions = [
        replace(question, created_at=(START + timedelta(minutes=number)).isoformat())
        for number, question in source.view().questions()
    ]
    dates = {question.id: str(question.created_at) for question in questions}
    members = sorted((name, dates[id], id) for id, name in Clusters.read(source).visible_names.items() if id in dates)
    links: list[Link] = []
    for _, cluster in groupby(members, key=lambda member: member[0]):
        (_, _, first), *others = cluster
        links += (Link(id, first, created_at=date) for _, date, id in others)
    target.upsert([*questions, *links])


def main() -> None:
    """Write the outcomes of all archives into one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archives", nargs="+", type=Path, metavar="ARCHIVE")
    parser.add_argument("--last", type=int, default=1000)
    parser.add_argument("--guarantees", nargs="+", type=float, default=[0.5, 0.3, 0.2, 0.1, 0.05])
    parser.add_argument("--without-labels", dest="guarantees", action="store_const", const=())
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    rows = []
    for path in options.archives:
        with Archive.open(path) as archive, TemporaryDirectory() as folder:
            is_dated = any(question.created_at for _, question in archive.view().questions())
            dated = archive if is_dated else Archive.create(Path(folder) / path.name)
            if not is_dated:
                date_by_order(archive, dated)
            outcome = measure(dated, options.last, options.guarantees)
            command = shlex.join(["python", "experiments/backtests.py", *sys.argv[1:]])
            provenance = collect_provenance(archive, command)
        rows.append({"archive": path.name, "is_dated": is_dated, **outcome, "provenance": provenance})
        print(f"{path.name}: {json.dumps(outcome['thresholds'])}", flush=True)
    options.output.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
