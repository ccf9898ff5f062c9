"""What the default ranker finds in the example archive: results measured with another one are out of date.

`experiments/default_ranker.json` has its settings and the first hits of all rephrasings of Riverside. It is
written when results are added (`write_results.py --add`), and each result's report keeps its digest. A change of the
default ranker's results makes the file differ, and so the tests fail until the results are measured again.
"""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from askalike import Archive, build, import_archive
from askalike.plugin.measuring import RankingTask
from askalike.plugin.rankers import DEFAULT_NAME

ROOT = Path(__file__).resolve().parents[3]
RECORD = ROOT / "experiments" / "default_ranker.json"
EXAMPLE = ROOT / "examples" / "riverside.csv"
RANKERS: Mapping[str, Mapping[str, Any]] = {
    "default": {"parts": ["lm_jelinek_mercer", "static"]},
    "default with MiniLM": {"parts": ["lm_jelinek_mercer", "minilm_l6"]},
}
"""Label of a system in the results → the settings of the default ranker that it stands for."""
TOLERANCE = 1e-3
"""The difference of scores that another processor may make."""

Record = Mapping[str, Any]


def measure() -> Record:
    """Return label → `settings` and `first`: query id → the first hit's id and score, rounded."""
    with tempfile.TemporaryDirectory() as folder:
        import_archive("table", [EXAMPLE], Path(folder) / "riverside")
        with Archive.open(Path(folder) / "riverside") as archive:
            return {label: _measure_ranker(archive, settings) for label, settings in RANKERS.items()}


def _measure_ranker(archive: Archive, settings: Mapping[str, Any]) -> Record:
    ranker = build(DEFAULT_NAME, settings)
    task = RankingTask(archive)
    labels = task.labels("rephrasings")
    run = task.fit_and_rank(ranker, labels, 1)
    columns = {query: run.columns(query) for query in sorted(labels.queries)}
    first = {query: [ids[0], round(float(scores[0]), 4)] for query, (ids, scores) in columns.items() if ids}
    return {"settings": json.loads(json.dumps(dict(ranker.values))), "first": first}


def is_equal(first: Record, second: Record) -> bool:
    """Return whether two records are the same ranker's: equal settings, the same hits, but for rounding and ties."""
    return first.keys() == second.keys() and all(_is_same_ranker(first[label], second[label]) for label in first)


def _is_same_ranker(first: Record, second: Record) -> bool:
    hits, others = first["first"], second["first"]
    if first["settings"] != second["settings"] or hits.keys() != others.keys():
        return False
    return all(abs(hits[query][1] - others[query][1]) <= TOLERANCE for query in hits)


def update() -> str:
    """Write the record if the default ranker has changed, and return its digest, for the reports that are added."""
    measured = measure()
    if not RECORD.exists() or not is_equal(json.loads(RECORD.read_text(encoding="utf-8")), measured):
        RECORD.write_text(json.dumps(measured, ensure_ascii=False) + "\n", encoding="utf-8")
    return digest()


def digest() -> str:
    """Return the digest of the record."""
    return hashlib.sha256(RECORD.read_bytes()).hexdigest()[:16]
