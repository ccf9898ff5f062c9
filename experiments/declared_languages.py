"""Rephrasings found, with packaged vectors that are declared to know the language of an archive, and that are not.

python experiments/declared_languages.py RUBQ.json ARCHIVE:SPLIT …

For each set of rephrased.tsv, and each language of an archive: accuracy in per cent among the first hit and five, by
words alone, by vectors alone, and by the hybrid with both declarations.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from askalike import rankers
from askalike.core.types import Question
from askalike.encoders import static
from askalike.labels.splits import load_split
from askalike.rankers import to_run
from askalike.store import Archive, View

Asked = Mapping[str, tuple[str, set[str]]]
"""Id of a query → its text, and the ids of the questions that ask the same."""


def main(rubq: str, *places: str) -> None:
    """Print a line for each set and language."""
    lines = (Path(__file__).parent / "rephrased.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    questions = {str(q["uid"]): q["question_text"] for q in json.loads(Path(rubq).read_text(encoding="utf-8"))}
    for name in dict.fromkeys(row[0] for row in rows):
        language = "ru" if name == "rubq" else name
        titles = {id: title for part, id, title, _ in rows if part == name and title} or questions
        with TemporaryDirectory() as folder, Archive.create(Path(folder) / "archive") as archive:
            archive.set_meta(language=language)
            archive.upsert(Question(id, title, language=language) for id, title in titles.items())
            own = [(id, text) for part, id, _, text in rows if part == name]
            compare(name, archive.view(), {f" {n}": (text, {id}) for n, (id, text) in enumerate(own)}, language)
    for place in places:
        path, split = place.split(":")
        with Archive.open(Path(path)) as archive:
            view, labels = archive.view(), load_split(archive, split)
            languages = {q.id: q.language or view.language for _, q in view.questions()}
            relevant = {id: {doc for doc, grade in own.items() if grade > 0} for id, own in labels.qrels.items()}
            for language in view.languages or (view.language,):
                ids = [id for id in labels.queries if languages.get(next(iter(relevant.get(id, ())), "")) == language]
                asked = {id: (labels.queries[id].title, relevant[id]) for id in ids}
                compare(f"{place} {language}", view, asked, str(language))


def compare(name: str, view: View, asked: Asked, language: str) -> None:
    """Print the accuracies of a set in a language."""
    parts = [f"{ranker} {find(view, asked, ranker, language)}" for ranker in ("lm_jelinek_mercer", "static")]
    for known in (("none",), ("en", language)):
        static.PACKAGED_LANGUAGES = known
        parts.append(f"hybrid, {'known' if language in known else 'unknown'} {find(view, asked, 'hybrid', language)}")
    print(f"{name} (n {len(asked)}): {'; '.join(parts)}", flush=True)


def find(view: View, asked: Asked, ranker: str, language: str) -> str:
    """Return the shares of queries with a right question as first hit, and among the first five."""
    queries = {id: Question(id, text, language=language) for id, (text, _) in asked.items()}
    run = to_run(view, rankers.search(rankers.open_current(rankers.create(ranker), view), queries, 5))
    right = [[hit.id in asked[id][1] for hit in run[id]] for id in asked]
    return "/".join(f"{100 * np.mean([any(own[:k]) for own in right]):.1f}" for k in (1, 5))


if __name__ == "__main__":
    main(*sys.argv[1:])
