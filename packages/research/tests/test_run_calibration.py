"""The scores of another system's run as probabilities."""

import json

import numpy as np
import pytest

from askalike import Archive, EvaluationQuery, InputError, Judgement, Question, Run, write_run
from askalike_research.run_calibration import calibrate_run, find_score
from commands import askalike


def make_run(n=400, seed=0):
    """Return a run whose first hit is right with the probability that its score is, from 2 to 3, minus 2."""
    rng = np.random.default_rng(seed)
    scores = 2 + rng.random(n)
    right = rng.random(n) < (scores - 2) ** 0.3
    columns = {f"q{i}": ([f"q{i}", "a", "b"], np.array([9.0, scores[i], 1.0])) for i in range(n)}
    return Run(columns), {f"q{i}": {"a" if right[i] else "c": 1} for i in range(n)}


def test_the_scores_of_any_run_become_probabilities():
    run, qrels = make_run()
    report = calibrate_run("run", run, qrels, guarantee=0.8)
    assert report.first_hits.error < 0.08
    assert 2.1 < find_score(report, 0.75) < 2.6  # 0.75 ** (1 / 0.3) = 0.38
    assert find_score(report, 1.1) is None
    assert report.guarantee.wrong.value < 0.2
    assert report.guarantee.threshold


def test_run_with_too_few_judged_queries_is_refused():
    run, qrels = make_run(90)
    with pytest.raises(InputError, match="90 queries with a relevant document"):
        calibrate_run("run", run, qrels)


def test_calibrate_run_on_a_split(tmp_path):
    run, qrels = make_run()
    write_run(run, tmp_path / "run.trec", "other")
    with Archive.create(tmp_path / "desk") as archive:
        archive.set_meta(language="en")
        archive.upsert(Question(id, f"Title {id}") for id in "abc")
        archive.upsert(EvaluationQuery("test", Question(query, f"What is {query}?")) for query in qrels)
        archive.upsert(Judgement("test", query, id, grade) for query, own in qrels.items() for id, grade in own.items())
    files = (tmp_path / "run.trec", "--archive", tmp_path / "desk", "--split", "test", "--guarantee", 0.8)
    done = askalike("calibrate-run", *files)
    assert done.returncode == 0, done.stderr
    assert "show nothing below the score 2." in done.stdout


def test_calibrate_run_command(tmp_path):
    run, qrels = make_run()
    write_run(run, tmp_path / "run.trec", "other")
    lines = (f"{query} 0 {document} {grade}\n" for query, judged in qrels.items() for document, grade in judged.items())
    (tmp_path / "qrels").write_text("".join(lines))
    files = (tmp_path / "run.trec", "--qrels", tmp_path / "qrels")
    done = askalike("calibrate-run", *files, "--guarantee", 0.8)
    assert done.returncode == 0, done.stderr
    assert "with 95% confidence at most 20% of the first hits shown are wrong" in done.stdout
    assert "show nothing below the score 2." in done.stdout
    printed = json.loads(askalike("calibrate-run", *files, "--precision", 0.8, "--json").stdout)
    assert printed["curve"]["kind"] == "product"
    assert 2 < printed["threshold_score"] < 3
    assert len([*tmp_path.iterdir()]) == 2  # nothing is saved
    refused = askalike("calibrate-run", files[0])
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
