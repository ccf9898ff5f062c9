"""Rephrasings, known titles and typed halves by language, with the threshold of silence and without.

python experiments/languages.py RUBQ.json [RANKER …]

rephrased.tsv, written for this, has in each line a set, an id, a title and a rephrasing of it; those of the set rubq
are of RuBQ 1.0 (development questions), whose file is given.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from askalike import rankers
from askalike.calibration.abstention import find_rule
from askalike.core.records import Question
from askalike.rankers import Searcher, to_run
from askalike.store import Archive

SETS = {"de": "de", "fr": "fr", "es": "es", "ru": "ru", "de fr es ru": "de fr es ru", "rubq": "ru", "rubq ru": "ru"}
"""Name, made of sets → the languages of its archive."""


def main(rubq: str, *names: str) -> None:
    """Print a line for each set and ranker."""
    lines = (Path(__file__).parent / "rephrased.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    questions = {str(q["uid"]): q["question_text"] for q in json.loads(Path(rubq).read_text(encoding="utf-8"))}
    for name, languages in SETS.items():
        parts = name.split()
        titles = {id: title for part, id, title, _ in rows if part in parts and title}
        titles |= questions if "rubq" in parts else {}
        asked = {f" {n}": (id, text) for n, (part, id, _, text) in enumerate(rows) if part in parts}
        with TemporaryDirectory() as folder, Archive.create(Path(folder) / "archive") as archive:
            code = languages if languages in SETS else None
            archive.set_meta(**({"language": code} if code else {"languages": languages.split()}))
            archive.upsert(Question(id, title, language=code or id[:2]) for id, title in titles.items())
            for ranker in names or ("lm_jelinek_mercer", "static", "hybrid"):
                searcher = rankers.open_current(rankers.create(ranker), archive.view())
                print(f"{name} {ranker} {measure(searcher, titles, asked)}", flush=True)


def measure(searcher: Searcher, titles: dict[str, str], asked: dict[str, tuple[str, str]]) -> str:
    """Return the shares in words. asked: id of a query → the id of the question that it rephrases, and its text."""
    halves = {
        f" {id}": (id, " ".join(text.split()[: max(1, round(0.6 * len(text.split())))])) for id, text in titles.items()
    }
    rule, results = find_rule(searcher), []
    for queries, prefix in ((asked, False), (halves, True)):
        questions = {id: Question(id, text) for id, (_, text) in queries.items()}
        found = rankers.add_absolute(searcher, rankers.search(searcher, questions, 10, prefix=prefix))
        run, least = to_run(searcher.view, found), rule.min_scores(found)
        ranks = np.full(len(queries), 99)
        shown, silent = np.zeros((2, len(queries)), np.bool_)
        for n, (id, (wanted, _)) in enumerate(queries.items()):
            ids, scores = [hit.id for hit in run[id]], found.absolute[n]
            ranks[n] = ids.index(wanted) if wanted in ids else 99
            shown[n] = ranks[n] < 5 and scores[ranks[n]] >= least[n]
            silent[n] = not len(scores) or scores[0] < least[n]
        at = "/".join(f"{100 * np.mean(ranks < k):.1f}" for k in (1, 5, 10))
        results.append(
            f"n {len(queries)}: {at}, shown among five {100 * shown.mean():.1f}, silent {100 * silent.mean():.1f}"
        )
    return f"rephrasings {results[0]}; 60 % of known titles {results[1]}"


if __name__ == "__main__":
    main(*sys.argv[1:])
