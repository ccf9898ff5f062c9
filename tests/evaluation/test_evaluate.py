import json
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, strategies as st

from askalike.core.errors import InputError, SettingsError
from askalike.core.hits import Hit, Run
from askalike.evaluation.evaluate import CHUNK_SIZE, evaluate
from askalike.evaluation.tables import to_text
from askalike.evaluation.trec import read_run

NAMES = {
    "AP": "map",
    "RR": "recip_rank",
    "P@5": "P_5",
    "nDCG@10": "ndcg_cut_10",
    "R@5": "recall_5",
    "Success@1": "success_1",
    "Bpref": "bpref",
    "AP@5": "map_cut_5",
}
DOCUMENTS = st.sampled_from([*"abcdefgh", "B", "é", "漢", "😀", "10", "9"])
SCORES = st.sampled_from([0.0, 1.0, 1.0 + 1e-12, 1.0 + 1e-7, 2.5, -1.0, 1e30, 1e300])
RUNS = st.dictionaries(st.sampled_from("pqrs"), st.dictionaries(DOCUMENTS, SCORES, min_size=1), min_size=1)
QRELS = st.dictionaries(st.sampled_from("pqrs"), st.dictionaries(DOCUMENTS, st.integers(-1, 3), min_size=1), min_size=1)


@given(run=RUNS, qrels=QRELS)
def test_the_trec_eval_rule_is_trec_eval(run: dict[str, dict[str, float]], qrels: dict[str, dict[str, int]]) -> None:
    if not run.keys() & qrels.keys():
        return
    readable = {query: grades for query, grades in qrels.items() if max(grades.values()) >= 0}  # the others crash it
    theirs = pytrec_eval.RelevanceEvaluator(readable, set(NAMES.values())).evaluate(run)
    ours = evaluate(run, qrels, list(NAMES))
    for name, trec_name in NAMES.items():
        expected = {query: theirs[query][trec_name] if query in theirs else 0.0 for query in qrels}
        assert ours.values[name] == pytest.approx(expected, abs=1e-9)
        assert ours.means[name] == pytest.approx(sum(expected.values()) / len(qrels), abs=1e-9)


def test_negative_grades_alone_corrupt_no_memory() -> None:
    program = f"""
from askalike import evaluate
queries = [f"q{{n}}" for n in range(3000)]
run, qrels = ({{query: scores for query in queries}} for scores in ({{"a": 1.0}}, {{"a": -1, "b": -2}}))
evaluation = evaluate(run, qrels, {[*NAMES, "Judged@1"]})
print(*evaluation.means.values())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["0.0"] * len(NAMES) + ["1.0"])


@given(run=RUNS, seed=st.integers(0, 100))
@pytest.mark.parametrize("rule", ["trec_eval", "beir"])
def test_order_of_run_lines_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, rule: str, run: dict[str, dict[str, float]], seed: int
) -> None:
    lines = [f"{q} Q0 {d} 0 {score!r} t\n" for q, hits in run.items() for d, score in hits.items()]
    qrels = {query: dict.fromkeys(list(hits)[::2], 1) for query, hits in run.items()}
    path = tmp_path_factory.mktemp("runs") / "run.trec"
    path.write_text("".join(lines))
    before = evaluate(read_run(path), qrels, list(NAMES), rule)
    random.Random(seed).shuffle(lines)
    path.write_text("".join(lines))
    assert evaluate(read_run(path), qrels, list(NAMES), rule).as_dict() == before.as_dict()


def test_a_run_may_be_columns_hits_or_scores() -> None:
    qrels = {"q": {"b": 1}}
    runs: list[Any] = [
        Run({"q": (["a", "b"], np.array([2.0, 1.0]))}),
        {"q": [Hit("b", 1.0), Hit("a", 2.0)]},
        {"q": {"b": 1.0, "a": 2.0}},
    ]
    assert [evaluate(run, qrels, ["RR"]).means["RR"] for run in runs] == [0.5] * 3


def test_more_queries_than_a_chunk() -> None:
    qrels = {f"q{i}": {"d": 1} for i in range(2 * CHUNK_SIZE + 3)}
    run = {query: {"d": 1.0} if i % 2 else {"e": 2.0, "d": 1.0} for i, query in enumerate(qrels)}
    evaluation = evaluate(run, qrels, ["RR", "AvgRec"])
    assert evaluation.n == len(evaluation.values["RR"]) == 2 * CHUNK_SIZE + 3
    assert {query: value == 1 for query, value in evaluation.values["RR"].items()} == {
        query: len(hits) == 1 for query, hits in run.items()
    }


def test_what_counts_is_counted() -> None:
    qrels = {"p": {"a": 1}, "q": {"a": 0}, "r": {"r": 0, "b": 2}, "s": {"b": 1}, "t": {"t": 1}}
    run = {"p": {"a": 1.0}, "q": {"a": 1.0}, "r": {"r": 2.0, "b": 1.0}, "t": {"t": 1.0}, "x": {"a": 1.0}}
    seen = {rule: evaluate(run, qrels, ["RR"], rule) for rule in ("trec_eval", "beir", "lei", "semeval")}
    counts = {rule: (e.n, e.unanswered, e.unanswerable, e.dropped, e.unjudged, e.self_hits) for rule, e in seen.items()}
    assert counts == {
        "trec_eval": (5, 1, 1, 0, 1, 0),
        "beir": (5, 2, 1, 0, 1, 2),
        "lei": (4, 1, 0, 1, 1, 0),
        "semeval": (5, 1, 1, 0, 1, 0),
    }
    assert {rule: e.means["RR"] for rule, e in seen.items()} == {
        "trec_eval": (1 + 0 + 1 / 2 + 0 + 1) / 5,
        "beir": (1 + 0 + 1 + 0 + 0) / 5,
        "lei": (1 + 1 / 2 + 0 + 1) / 4,
        "semeval": 100 * (1 + 0 + 1 / 2 + 0 + 1) / 5,
    }


def test_beir_drops_the_self_hit_before_it_cuts() -> None:
    run, qrels = {"q": {"q": 3.0, "a": 2.0}}, {"q": {"a": 1}}
    assert evaluate(run, qrels, ["P@1"]).means["P@1"] == 0
    assert evaluate(run, qrels, ["P@1"], "beir").means["P@1"] == 1


def test_constant_scores_gain_nothing_by_judgement_order() -> None:
    run = {"q": dict.fromkeys("abcd", 1.0)}
    assert evaluate(run, {"q": {"a": 1, "b": 0, "c": 0, "d": 0}}, ["RR"]).means["RR"] == 0.25


def test_measures_keep_the_names_they_were_asked_for() -> None:
    evaluation = evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, ["MAP", "Accuracy@1", "FHS"])
    assert evaluation.means == {"MAP": 1, "Accuracy@1": 1, "FHS": 1}
    assert evaluation.per_query("AP") == evaluation.per_query("MAP") == {"q": 1}
    with pytest.raises(SettingsError, match=r"'RR' was not evaluated; there are: MAP, Accuracy@1, FHS"):
        evaluation.per_query("RR")


def test_interval_holds_the_mean_and_repeats() -> None:
    run = {f"q{i}": {"a": 2.0, "b": 1.0} for i in range(40)}
    qrels = {query: {"ab"[i % 2]: 1} for i, query in enumerate(run)}
    first, second = evaluate(run, qrels, ["RR"]), evaluate(run, dict(reversed(qrels.items())), ["RR"])
    low, high = first.intervals["RR"]
    assert low < first.means["RR"] == 0.75 < high
    assert second.intervals == first.intervals


def test_it_prints_and_goes_into_json() -> None:
    evaluation = evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}, "p": {"a": 1}}, ["AP"])
    text = to_text(evaluation.table())
    for said in ("AP", "0.5000", "n = 2", "1 unanswered", evaluation.describe):
        assert said in text
    assert json.loads(json.dumps(evaluation.as_dict()))["measures"]["AP"]["mean"] == 0.5


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        ({}, {"q": {"a": 1}}, "the run has no query"),
        ({"q": {"a": 1.0}}, {}, "the judgements have no query"),
        ({"x": {"a": 1.0}}, {"q": {"a": 1}}, "none of the run's 1 queries .such as 'x'. is in the judgements"),
        ({"q": {"a": float("nan")}}, {"q": {"a": 1}}, "query 'q': a score is NaN"),
        ({"q": [Hit("a", 1.0), Hit("a", 2.0)]}, {"q": {"a": 1}}, "query 'q': a document occurs twice"),
        ({"q": {"a": 1.0}}, {"q": {"a": "yes"}}, "query 'q': a grade is not a whole number"),
        ({"q": {"a": 1.0}}, {"q": {"a": 2**31}}, "query .q.: a grade is out of range; expected at most 1,000,000"),
    ],
)
def test_bad_input_is_one_clear_line(run: Any, qrels: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        evaluate(run, qrels, ["AP"])
    assert "\n" not in str(error.value)


def test_nothing_left_to_measure_is_an_error() -> None:
    with pytest.raises(InputError, match="none of 1 queries is left"):
        evaluate({"q": {"a": 1.0}}, {"q": {"a": 0}}, ["AP"], "lei")


def test_no_measure_is_an_error() -> None:
    with pytest.raises(SettingsError, match="no measure is named"):
        evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, [])


@pytest.mark.parametrize("measure", ["Judged@5", "Bpref", "SetF", "RR@3", "IPrec@0.5", "infAP", "Rprec", "AvgRec"])
def test_measures_survive_missing_hits_and_relevance(measure: str) -> None:
    evaluation = evaluate({"p": {"x": 1.0}, "r": {}}, {"p": {"a": 0}, "q": {"a": 1}, "r": {"a": 1}}, [measure])
    assert evaluation.means[measure] == 0


def test_perfect_run_is_perfect_on_answerable_queries() -> None:
    qrels, run = {"p": {"a": 1, "b": 0}, "q": {"a": 0}}, {"p": {"a": 1.0}, "q": {"a": 1.0}}
    assert evaluate(run, qrels, ["AP"], "lei").means["AP"] == 1
    assert evaluate(run, qrels, ["AP"]).means["AP"] == 0.5
