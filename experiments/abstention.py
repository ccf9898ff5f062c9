"""Abstention without labels: right first hits that are still shown, and unseen off-topic questions that get nothing.

python experiments/abstention.py ENCODER[,KEY=VALUE …] OFF_TOPIC.tsv ARCHIVE:SPLIT[:FIELDS] …

OFF_TOPIC.tsv has a language and a question in each line, none of them packaged. Typed: the first half of each title.
"""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np

from askalike import rankers
from askalike.calibration.abstention import AbstentionRule, find_rule
from askalike.core.config import parse_assignments
from askalike.core.records import Question
from askalike.labels.splits import load_split
from askalike.rankers import Searcher, to_run
from askalike.store import Archive


def main(encoder: str, off_topic: str, *archives: str) -> None:
    """Print a line for each archive."""
    rows = list(csv.reader(Path(off_topic).read_text(encoding="utf-8").splitlines(), delimiter="\t"))
    for place in archives:
        path, split, *fields = place.split(":")
        with Archive.open(Path(path)) as archive:
            name, *values = encoder.split(",")
            own = {f"{name}.{key}": value for key, value in parse_assignments(values).items()}
            shared: dict[str, Any] = {"fields": fields[0]} if fields else {}
            parts = {"parts": ["lm_jelinek_mercer", name], "rephrasings": split != "rephrasings"}
            ranker = rankers.create("hybrid", {**parts, **shared, **own}, archive)
            searcher = rankers.open_current(ranker, archive.view())
            labels, rule = load_split(archive, split), find_rule(searcher)
            halves = {id: Question(id, q.title[: max(3, len(q.title) // 2)]) for id, q in labels.queries.items()}
            whole = right_shown(searcher, rule, dict(labels.queries), labels.qrels)
            typed = right_shown(searcher, rule, halves, labels.qrels, prefix=True)
            native = {archive.view().language, *archive.view().languages}
            abstains = {
                kind: ~shown(searcher, rule, [text for lang, text in rows if (lang in native) == own_language])
                for kind, own_language in (("its languages", True), ("others", False))
            }
            shares = ", ".join(f"{kind} {share(mask)}" for kind, mask in abstains.items())
            stay = f"right first hits {share(whole)}, typed halves {share(typed)}"
            print(f"{place}: threshold {rule.typical:.3f}; off topic without a hit: {shares}; stay: {stay}", flush=True)


def share(mask: Any) -> str:
    """Return a share in per cent, and its n."""
    return f"{100 * np.mean(mask):.1f} % of {len(mask)}" if len(mask) else "none"


def shown(searcher: Searcher, rule: AbstentionRule, texts: list[str]) -> Any:
    """Return whether each text gets a hit."""
    queries = {f"off {n}": Question(f"off {n}", text) for n, text in enumerate(texts)}
    retrieved = rankers.add_absolute(searcher, rankers.search(searcher, queries, 1))
    firsts = np.array([scores[0] if len(scores) else 0.0 for scores in retrieved.absolute or ()])
    return firsts >= rule.min_scores(retrieved)


def right_shown(
    searcher: Searcher, rule: AbstentionRule, queries: dict[str, Question], qrels: Any, prefix: bool = False
) -> Any:
    """Return whether each right first hit is shown."""
    retrieved = rankers.add_absolute(searcher, rankers.search(searcher, queries, 1, prefix=prefix))
    run, stay = to_run(searcher.view, retrieved), []
    for id, scores, min_score in zip(queries, retrieved.absolute or (), rule.min_scores(retrieved), strict=True):
        if run[id] and qrels.get(id, {}).get(run[id][0].id, 0) > 0:
            stay.append(scores[0] >= min_score)
    return np.array(stay, np.bool_)


if __name__ == "__main__":
    main(*sys.argv[1:])
