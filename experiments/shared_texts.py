"""Counts the texts that the parts of a split of answers share, for packages/learning/docs/papers.md.

python experiments/shared_texts.py archives/medquad focus

Of the queries of NAME/test: those with a right answer whose very text is a right answer in NAME/train, those whose text
is that of a query of NAME/train, and those whose text another query of NAME/test has. Case and spaces do not count.
"""

import sys
from collections import Counter
from pathlib import Path

from askalike.labels.splits import load_split
from askalike.store.archive import Archive


def main(path: str, name: str) -> None:
    """Print the counts."""
    with Archive.open(Path(path)) as archive:
        train, test = (load_split(archive, f"{name}/{part}", "answers") for part in ("train", "test"))
        view = archive.view(kind="answers")
        learned = {text for own in _answer_texts(view, train).values() for text in own}
        asked = _answer_texts(view, test)
    known = {_plain(question.title) for question in train.queries.values()}
    titles = [_plain(question.title) for question in test.queries.values()]
    times = Counter(titles)
    print(f"{len(titles):,} queries of {name}/test")
    print(
        f"{sum(bool(own & learned) for own in asked.values()):,} whose right answer is a right one of {name}/train, too"
    )
    print(f"{sum(title in known for title in titles):,} whose text is that of a query of {name}/train")
    print(f"{sum(times[title] > 1 for title in titles):,} whose text another query of {name}/test has")


def _answer_texts(view, labels):
    """Return query id → the texts of its right answers."""
    found = view.get_answers({id for grades in labels.qrels.values() for id in grades})
    return {query: {_plain(found[id].body) for id in grades} for query, grades in labels.qrels.items()}


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


if __name__ == "__main__":
    main(*sys.argv[1:])
