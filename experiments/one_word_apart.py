"""Titles one telling word apart: fits the curve of calibration/differences.py, and tells what it does.

python experiments/one_word_apart.py RUBQ.json ARCHIVE:SPLIT …

Of each archive: duplicates are the right first hits of the split's titles; exchanged are titles whose rarest content
word is replaced by a rare word of another title (half of them), dropped, or preceded by such a word; varied ones are
changed in a function word, too; near are its own titles with their first three hits, if its labels are complete. Of
rephrased.tsv, in four languages, and of RuBQ: rephrasings and exchanged titles. Each set is left out once; then one
curve is fitted on all of them. For archives, it is applied with the default ranker's calibration.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from askalike import rankers
from askalike.calibration.calibrate import calibrate
from askalike.calibration.differences import FULL_SAMENESS, TitleDifferences, measure_differences
from askalike.calibration.features import CALIBRATION_DEPTH, SAMENESS_COLUMN, HitFeatureExtractor
from askalike.calibration.reliability import measure_reliability
from askalike.calibration.samples import load_hits
from askalike.core.records import Question
from askalike.labels.splits import load_split
from askalike.rankers import to_run
from askalike.store import Archive, Clusters, View
from askalike.text.analyzer import content_analyzer
from askalike.text.language import stop_words
from askalike.text.words import WORD

WEIGHTS = {"duplicates": 1.0, "exchanged": 0.4, "varied": 0.05, "near": 0.05}
COMPLETE = ("riverside", "stackfaq")
"""Archives whose labels name nearly all duplicates."""
SAMPLE, MIN_LETTERS, MAX_COUNT, SEED = 600, 4, 5, 1
Pairs = Mapping[str, Sequence[tuple[str, Question]]]
DIFFERENCES = TitleDifferences(tuple)


def main(rubq: str, *places: str) -> None:
    """Print the shares for each set left out, the constants, and what calibrated pairs become."""
    sets = dict(read_rephrased(rubq)) | {place: read_pairs(*place.split(":")) for place in places}
    values = {name: {kind: measure(pairs) for kind, pairs in own.items()} for name, own in sets.items()}
    fitted = fit(values.values())
    for name, own in values.items():
        left_out = fit(other for key, other in values.items() if key != name)
        print(f"{name} left out: {describe(own, left_out)}; fitted on all: {describe(own, fitted)}", flush=True)
    print(f"INTERCEPT, WEIGHTS = {fitted[0]:.2f}, ({', '.join(f'{w:.2f}' for w in fitted[1:])})")
    for place in places:
        print(f"{place}: {calibrate_pairs(*place.split(':'), sets[place]['exchanged'])}", flush=True)


def read_rephrased(rubq: str) -> Iterator[tuple[str, Pairs]]:
    """Yield the sets of rephrased.tsv, with RuBQ's questions."""
    lines = (Path(__file__).parent / "rephrased.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    questions = {str(q["uid"]): q["question_text"] for q in json.loads(Path(rubq).read_text(encoding="utf-8"))}
    for name in dict.fromkeys(row[0] for row in rows):
        titles = {id: title for part, id, title, _ in rows if part == name and title}
        language = "ru" if name == "rubq" else name
        asked = {id: Question(id, t, language=language) for id, t in (titles or questions).items()}
        rephrased = [(text, asked[id]) for part, id, _, text in rows if part == name]
        yield name, {"duplicates": rephrased, **change(list(asked.values()))}


def read_pairs(path: str, split: str) -> Pairs:
    """Return titles, each with a question, of the four kinds."""
    with Archive.open(Path(path)) as archive:
        view, labels = archive.view(), load_split(archive, split)
        queries = {id: q.title for id, q in labels.queries.items() if id in labels.qrels}
        right = [(q, hit) for q, hit in search(view, queries, 1) if labels.qrels[q].get(hit.id, 0) > 0]
        questions = [with_language(question, view) for _, question in view.questions()]
        pairs = {"duplicates": [(queries[q], hit) for q, hit in right], **change(questions)}
        if Path(path).name in COMPLETE:
            own, names = {q.id: q.title for q in questions}, Clusters.read(archive).visible_names
            found = list(search(view, own, 3))
            pairs["near"] = [(own[q], hit) for q, hit in found if names.get(q, q) != names.get(hit.id)]
        return pairs


def search(view: View, titles: Mapping[str, str], k: int) -> Iterator[tuple[str, Question]]:
    """Yield the ids of queries with each of their hits."""
    searcher = rankers.open_current(rankers.create("hybrid"), view)
    run = to_run(view, rankers.search(searcher, {id: Question(id, title) for id, title in titles.items()}, k))
    hits = view.get_questions({hit.id for id in titles for hit in run[id]})
    return ((id, with_language(hits[hit.id], view)) for id in titles for hit in run[id])


def with_language(question: Question, view: View) -> Question:
    """Return the title, with the archive's language if it has none of its own."""
    return Question(question.id, question.title, language=question.language or view.language)


def change(questions: Sequence[Question]) -> Pairs:
    """Return titles one word apart, each with its question, and those with another function word, too."""
    rng, counts = np.random.default_rng(SEED), Counter(w for q in questions for w in set(WORD.findall(q.title.lower())))
    rare: dict[str | None, list[str]] = {}
    for question in questions:
        words = telling_words(question)
        rare.setdefault(question.language, []).extend(w for w in words if counts[w.lower()] <= MAX_COUNT)
    exchanged: list[tuple[str, Question]] = []
    for n, at in enumerate(rng.permutation(len(questions))[:SAMPLE].tolist()):
        question = questions[at]
        words, others = telling_words(question), rare.get(question.language) or ["zebra"]
        if len(question.title.split()) > 1 and words:
            word, other = min(words, key=lambda w: counts[w.lower()]), others[rng.integers(len(others))]
            changed = question.title.replace(word, (other, other, f"{other} {word}", "")[n % 4], 1)
            exchanged.append((changed, question))
    common = [word for word, _ in counts.most_common(60)]
    return {"exchanged": exchanged, "varied": [(vary(t, q.language, common, rng), q) for t, q in exchanged]}


def telling_words(question: Question) -> list[str]:
    """Return the content words of a title that may be exchanged."""
    spans = content_analyzer().analyze_with_spans(question.title, question.language)
    words = [question.title[start:end] for _, start, end in spans]
    return [word for word in words if len(word) >= MIN_LETTERS and word.isalpha()]


def vary(title: str, language: str | None, common: Sequence[str], rng: np.random.Generator) -> str:
    """Return a title with a function word dropped or exchanged, and in half of the titles another one added."""
    function_words = stop_words(language) if language in ("de", "en", "es", "fr", "ru") else ()
    frequent, words = [word for word in common if word in function_words], title.split()
    places = [n for n, word in enumerate(words) if word.lower().strip("?.,!") in function_words]
    if places and frequent:
        place = places[rng.integers(len(places))]
        words[place : place + 1] = [frequent[rng.integers(len(frequent))]] if rng.random() < 0.5 else []
    if frequent and rng.random() < 0.5:
        words.insert(int(rng.integers(len(words) + 1)), frequent[rng.integers(len(frequent))])
    return " ".join(words)


def measure(pairs: Sequence[tuple[str, Question]]) -> np.ndarray:
    """Return the values of pairs whose content words differ, (n, columns)."""
    apart = [(t, q) for t, q in pairs if DIFFERENCES.sameness(t, q.title, q.language) < 1]
    read = [[DIFFERENCES.read(text, q.language).ordered for text in (t, q.title)] for t, q in apart]
    return np.array([measure_differences(*both) for both in read], float).reshape(-1, 3)


def fit(sets: Iterable[Mapping[str, np.ndarray]]) -> np.ndarray:
    """Return intercept and weights; each set counts the same."""
    kinds = [(values, kind) for own in sets for kind, values in own.items() if len(values)]
    design = np.concatenate([np.column_stack([np.ones(len(values)), values]) for values, _ in kinds])
    labels = np.concatenate([np.full(len(values), float(kind == "duplicates")) for values, kind in kinds])
    importance = np.concatenate([np.full(len(v), 200 * WEIGHTS[kind] / max(len(v), 60)) for v, kind in kinds])
    scale = np.append(1.0, design[:, 1:].std(0))

    def loss(weights: np.ndarray) -> float:
        z = design / scale @ weights
        return float(importance @ (np.logaddexp(0, z) - labels * z) + 0.5 * weights[1:] @ weights[1:])

    return minimize(loss, np.zeros(design.shape[1])).x / scale


def describe(own: Mapping[str, np.ndarray], weights: np.ndarray) -> str:
    """Return the shares of sure pairs of each kind that stay at one half or more."""
    shares = []
    for kind, values in own.items():
        sameness = 1 / (1 + np.exp(-weights[0] - values @ weights[1:]))
        shares.append(f"{kind} {100 * np.mean(sameness >= 0.5 * FULL_SAMENESS):.1f} % of {len(values)}")
    return "at 1/2 or more: " + ", ".join(shares)


def calibrate_pairs(path: str, split: str, exchanged: Sequence[tuple[str, Question]]) -> str:
    """Return the shares at one half or more as hits and as pairs, without and with the curve, and the errors."""
    with Archive.open(Path(path)) as archive:
        view, ranker = archive.view(), rankers.create("hybrid")
        report = calibrate(archive, ranker, split, titles_only=True)
        first, hits = report.sample.first_hits, report.predictions.first_probabilities
        pairs = hits * np.minimum(first.features[:, SAMENESS_COLUMN] / FULL_SAMENESS, 1)
        clusters = np.array(report.sample.clusters)[first.query_index].tolist()
        error = measure_reliability(pairs, first.relevant, clusters, 0).error
        searcher, extractor = rankers.open_current(ranker, view), HitFeatureExtractor(view.language, view)
        titles = {f" {n}": Question(f" {n}", title) for n, (title, _) in enumerate(exchanged)}
        before, after = np.zeros((2, len(exchanged)))
        for n, found in enumerate(load_hits(view, rankers.search(searcher, titles, CALIBRATION_DEPTH))):
            features = found.compute_features(extractor)
            for at in [at for at, hit in enumerate(found.documents) if hit.id == exchanged[n][1].id]:
                before[n] = report.calibration.curve_probabilities(features)[at]
                after[n] = before[n] * min(1, features[at, SAMENESS_COLUMN] / FULL_SAMENESS)
    right = [f"{100 * np.mean(each[first.relevant] >= 0.5):.1f}" for each in (hits, pairs)]
    below = [f"{100 * np.mean(each < 0.5):.1f}" for each in (before, after)]
    return (
        f"right first hits at 1/2 or more: hits {right[0]}, pairs {right[1]} % of {first.relevant.sum()}; exchanged "
        f"below 1/2: hits {below[0]}, pairs {below[1]} % of {len(before)}; error: hits {report.first_hits.error:.3f}, "
        f"pairs {error:.3f}"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
