"""Titles one telling word apart: fits the curve of calibration/differences.py, and tells what it does.

python experiments/one_word_apart.py ARCHIVE:SPLIT …

Duplicates are the right ones of the first three hits of the split's titles. Exchanged are titles of the archive whose
rarest word is replaced by a rare word of another title (half of them), dropped, or preceded by such a word. Each
archive is left out once; then one curve is fitted on all of them.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from askalike import rankers
from askalike.calibration.differences import FULL_SAMENESS, TitleDifferences
from askalike.core.types import Question
from askalike.labels.splits import load_split
from askalike.rankers import to_run
from askalike.store import Archive
from askalike.text.words import WORD

SAMPLE, PER_KIND, MIN_LETTERS, MAX_COUNT, SEED = 600, 400, 4, 5, 1


def main(*places: str) -> None:
    """Print the shares for each archive left out, then the constants."""
    rows = {place: measure(*place.split(":")) for place in places}
    for held_out in places:
        weights = fit([rows[place] for place in places if place != held_out])
        print(f"{held_out} left out: {describe(rows[held_out], weights)}", flush=True)
    weights = fit(list(rows.values()))
    for place in places:
        print(f"{place}, fitted on all: {describe(rows[place], weights)}")
    print(f"INTERCEPT = {weights[0]:.3f}\nWEIGHTS = ({', '.join(f'{w:.3f}' for w in weights[1:])})")


def measure(path: str, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of duplicates and of exchanged titles, (n, columns), if their content words differ."""
    with Archive.open(Path(path)) as archive:
        view = archive.view()
        differences = TitleDifferences(lambda: [title for _, _, title in view.titles()])
        labels = load_split(archive, split)
        queries = {id: q for id, q in labels.queries.items() if id in labels.qrels}
        titles = {id: Question(q.id, q.title, language=q.language) for id, q in queries.items()}
        searcher = rankers.open_current(rankers.create("hybrid", archive=archive), view)
        run = to_run(view, rankers.search(searcher, titles, 3))
        hits = view.get_questions({hit.id for id in titles for hit in run[id]})
        right = [(titles[id].title, hits[h.id]) for id in titles for h in run[id] if labels.qrels[id].get(h.id, 0) > 0]
        questions = [question for _, question in view.questions()]
        pairs = [right, list(exchange(questions))]
        found = [[differences.measure(a, b.title, b.language or view.language) for a, b in each] for each in pairs]
    duplicates, exchanged = (np.array([row for row in each if row is not None], float) for each in found)
    return duplicates, exchanged


def exchange(questions: Sequence[Question]) -> Iterator[tuple[str, Question]]:
    """Yield titles one word apart, each with its question."""
    rng, counts = np.random.default_rng(SEED), Counter(w for q in questions for w in set(WORD.findall(q.title.lower())))
    drawn = [questions[at] for at in rng.permutation(len(questions))[:SAMPLE]]
    rare: dict[str | None, list[str]] = {}
    for question in questions:
        words = long_words(question.title)
        rare.setdefault(question.language, []).extend(w for w in words if counts[w.lower()] <= MAX_COUNT)
    for n, question in enumerate(drawn):
        words, others = long_words(question.title), rare.get(question.language) or ["zebra"]
        if len(question.title.split()) > 1 and words:
            word, other = min(words, key=lambda w: counts[w.lower()]), others[rng.integers(len(others))]
            yield question.title.replace(word, (other, other, f"{other} {word}", "")[n % 4], 1), question


def long_words(title: str) -> list[str]:
    """Return the words of a title that may be exchanged."""
    return [word for word in WORD.findall(title) if len(word) >= MIN_LETTERS and word.isalpha()]


def fit(rows: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return intercept and weights; each archive and kind counts the same."""
    kinds = [(each, label) for own in rows for each, label in zip(own, (1.0, 0.0), strict=True)]
    rng = np.random.default_rng(SEED)
    parts = [(each[rng.permutation(len(each))[:PER_KIND]], label) for each, label in kinds]
    values, labels = (
        np.concatenate([p for p, _ in parts]),
        np.concatenate([np.full(len(p), label) for p, label in parts]),
    )
    importance = np.concatenate([np.full(len(p), 200 / len(p)) for p, _ in parts])
    centre, spread = values.mean(0), values.std(0) + 1e-9
    design = np.column_stack([np.ones(len(values)), (values - centre) / spread])

    def loss(weights: np.ndarray) -> float:
        z = design @ weights
        return float(importance @ (np.logaddexp(0, z) - labels * z) + 0.5 * weights[1:] @ weights[1:])

    solution = minimize(loss, np.zeros(design.shape[1])).x
    scaled = solution[1:] / spread
    return np.concatenate(([solution[0] - scaled @ centre], scaled))


def describe(rows: tuple[np.ndarray, np.ndarray], weights: np.ndarray) -> str:
    """Return the shares of a sure hit's probabilities below and above one half."""
    factors = [np.minimum(1, 1 / (1 + np.exp(-weights[0] - each @ weights[1:])) / FULL_SAMENESS) for each in rows]
    duplicates, exchanged = factors
    return (
        f"duplicates at least 1/2 {100 * np.mean(duplicates >= 0.5):.1f} % of {len(duplicates)}, "
        f"mean {duplicates.mean():.3f}; exchanged below 1/2 {100 * np.mean(exchanged < 0.5):.1f} % of {len(exchanged)}"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
