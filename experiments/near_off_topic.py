"""Silence close by: titles of a sister site that get nothing, and right first hits that stay, without labels.

python experiments/near_off_topic.py RANKER ARCHIVE:SPLIT:SISTER …

SISTER is another archive, of which 400 titles and rephrasings are asked. The split `known` asks 60 % of each own title.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from askalike import rankers
from askalike.calibration.abstention import find_rule
from askalike.core.records import Question
from askalike.labels.splits import load_split
from askalike.rankers import to_run
from askalike.store import Archive

SAMPLE = 400


def main(name: str, *triples: str) -> None:
    """Print a line for each archive."""
    for triple in triples:
        path, split, sister = triple.split(":")
        with Archive.open(Path(path)) as archive, Archive.open(Path(sister)) as other:
            searcher = rankers.open_current(rankers.create(name, archive=archive), archive.view())
            queries, relevant = read_queries(archive, split)
            rule = find_rule(searcher)
            found = rankers.add_absolute(searcher, rankers.search(searcher, queries, 1))
            run, margins = to_run(archive.view(), found), first_scores(found.absolute) - rule.min_scores(found)
            right = np.array([bool(run[id]) and run[id][0].id in relevant[id] for id in queries])
            near = [Question(f" near {n}", title) for n, title in enumerate(sample_titles(other))]
            of_near = rankers.add_absolute(searcher, rankers.search(searcher, {q.id: q for q in near}, 1))
            near_margins = first_scores(of_near.absolute) - rule.min_scores(of_near)
            at_90 = 100 * np.mean(near_margins < np.quantile(margins[right], 0.1))
            print(
                f"{triple}: silent {100 * np.mean(near_margins < 0):.1f} % of {len(near)}; stay "
                f"{100 * np.mean(margins[right] >= 0):.1f} % of {right.sum()}; where 90 % stay: silent {at_90:.1f} %",
                flush=True,
            )


def read_queries(archive: Archive, split: str) -> tuple[dict[str, Question], dict[str, set[str]]]:
    """Return the titles to ask, and the ids of the right questions for each."""
    if split == "known":
        titles = {f" {id}": (id, title.split()) for _, id, title in archive.view().titles()}
        beginnings = {key: " ".join(words[: max(1, round(0.6 * len(words)))]) for key, (_, words) in titles.items()}
        return {key: Question(key, text) for key, text in beginnings.items()}, {
            key: {id} for key, (id, _) in titles.items()
        }
    labels = load_split(archive, split)
    relevant = {id: {doc for doc, grade in judged.items() if grade > 0} for id, judged in labels.qrels.items()}
    return {id: Question(q.id, q.title) for id, q in labels.queries.items() if id in relevant}, relevant


def sample_titles(archive: Archive) -> Sequence[str]:
    """Return titles and rephrasings at equal distances."""
    titles = [text for _, question in archive.view().questions() for text in (question.title, *question.rephrasings)]
    return titles[:: max(1, len(titles) // SAMPLE)][:SAMPLE]


def first_scores(absolute: Sequence[np.ndarray] | None) -> np.ndarray:
    """Return each query's first score, 0 without a hit."""
    return np.array([scores[0] if len(scores) else 0.0 for scores in absolute or ()])


if __name__ == "__main__":
    main(*sys.argv[1:])
