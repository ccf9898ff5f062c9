"""Predictors of a query's performance against the formulas worked out another way."""

import json
import math
from collections import Counter

import numpy as np
import pytest

from askalike import rankers
from askalike.core.errors import SettingsError
from askalike.core.types import Link, Question
from askalike.experiments.predictors import predict_performance
from askalike.store import Archive
from commands import run_command

TITLES = [
    "boil an egg in water",
    "egg timer for water",
    "poach an egg softly",
    *(f"thing{n} of kind{n % 7}" for n in range(40)),
]
QUERIES = {
    "q": Question("q", "boil boil egg"),
    "kind": Question("kind", "thing3 kind3"),
    "none": Question("none", "qqq"),
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with Archive.create(tmp_path_factory.mktemp("prediction") / "archive") as archive:
        archive.upsert(Question(f"{n:02}", title) for n, title in enumerate(TITLES))
        archive.upsert([Link("00", "01")])
        archive.upsert(Link(f"{n + 3:02}", f"{n + 10:02}") for n in range(0, 30, 3))
        yield archive


def opened(archive, name="bm25"):
    return rankers.open_current(rankers.create(name, {"stem": False, "spelling": False}), archive.view())


def test_each_predictor_is_its_formula(archive):
    predicted = predict_performance(opened(archive), QUERIES)
    hits = rankers.rank(opened(archive), QUERIES, 1000)["q"]
    scores = np.array([hit.score for hit in hits])
    words = [title.split() for title in TITLES]
    df, ttf = Counter(w for text in words for w in set(text)), Counter(w for text in words for w in text)
    n = len(TITLES)
    assert predicted["max idf"]["q"] == pytest.approx(math.log1p((n - df["boil"] + 0.5) / (df["boil"] + 0.5)))
    scq = max((1 + math.log(ttf[w])) * math.log(1 + n / df[w]) for w in ("boil", "egg"))
    assert predicted["SCQ"]["q"] == pytest.approx(scq)
    assert predicted["WIG"]["q"] == pytest.approx((scores[:5].mean() - scores.mean()) / math.sqrt(2))
    assert predicted["NQC"]["q"] == pytest.approx(scores.std() / scores.mean())
    relevance = Counter()
    for hit in hits:
        for word in words[int(hit.id)]:
            relevance[word] += hit.score / len(words[int(hit.id)])
    total, tokens = sum(relevance.values()), sum(ttf.values())
    clarity = sum(s / total * math.log2(s / total / (ttf[w] / tokens)) for w, s in relevance.items())
    assert predicted["clarity"]["q"] == pytest.approx(clarity)


def test_nothing_is_expected_where_nothing_is_found(archive):
    predicted = predict_performance(opened(archive), QUERIES)
    assert all(values["none"] == 0 for values in predicted.values())
    assert all(list(values) == list(QUERIES) for values in predicted.values())


def test_what_does_not_rank_by_words_is_refused(archive):
    with pytest.raises(SettingsError, match="static: performance prediction needs a lexical ranking"):
        predict_performance(rankers.open_current(rankers.create("static"), archive.view()), QUERIES)


def test_evaluate_has_a_table_of_correlations(archive):
    words = ["evaluate", archive.path, "--ranker", "bm25", "--measures", "RR", "--predict"]
    code, printed, said = run_command(*words)
    assert code == 0, said
    assert "correlation of each predictor with RR over 11 queries" in printed
    found = json.loads(run_command(*words, "--json")[1])["prediction"]
    assert [row["name"] for row in found["predictors"]] == ["max idf", "SCQ", "clarity", "WIG", "NQC"]
    assert all(row["low"] <= row["tau"] <= row["high"] for row in found["predictors"])
    assert found["ms_per_query"] > 0
