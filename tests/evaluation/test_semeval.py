import re
from pathlib import Path

import numpy as np
import pytest

from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.measures import SEMEVAL_DEPTH, average_precision, average_recall, reciprocal_rank
from askalike.evaluation.trec import read_qrels, read_run
from needs import SHARED_DATA

FOLDER = SHARED_DATA / "semeval2016-task3/test2016/submissions"
SUBMISSIONS = sorted(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.glob("*/*.txt"))
TEST = "semeval2016-task3/test2016/SemEval2016-Task3-CQA-QL-test.xml.subtaskB.relevancy"
DEV = "semeval2016-task3/dev/SemEval2017-Task3-CQA-QL-dev.xml.subtaskB.relevancy"


def test_all_submissions_are_there(shared_data: Path) -> None:
    assert len(SUBMISSIONS) == 28


@pytest.mark.parametrize("submission", SUBMISSIONS)
def test_the_official_scores_to_the_last_digit(shared_data: Path, submission: str) -> None:
    path = FOLDER / f"{submission}.txt"
    official = path.with_suffix(".txt.score").read_text()
    printed = dict(re.findall(r"^(MAP|AvgRec|MRR)\s*:\s+\S+\s+(\S+)$", official, re.MULTILINE))
    means = evaluate(read_run(path), read_qrels(shared_data / TEST), ["MAP", "AvgRec", "MRR"], "semeval").means
    assert {"MAP": f"{means['MAP']:.4f}", "AvgRec": f"{means['AvgRec']:.4f}", "MRR": f"{means['MRR']:.2f}"} == printed


@pytest.mark.parametrize(("gold", "baseline"), [(TEST, "74.75"), (DEV, "71.35")])
def test_the_search_engine_baseline(shared_data: Path, gold: str, baseline: str) -> None:
    evaluation = evaluate(read_run(shared_data / gold), read_qrels(shared_data / gold), ["MAP"], "semeval")
    assert f"{100 * evaluation.means['MAP']:.2f}" == baseline


def test_by_hand() -> None:
    hits = np.zeros((3, SEMEVAL_DEPTH), np.bool_)
    hits[0, [1, 3]] = hits[1, 0] = True
    relevant = np.array([2, 3, 0])
    assert average_precision(hits, relevant).tolist() == [(1 / 2 + 2 / 4) / 2, 1, 0]
    assert reciprocal_rank(hits, relevant).tolist() == [50, 100, 0]
    found = np.array([1, 2, 2, 3, 3, 3, 3, 3, 3, 3])
    possible = np.array([2, 4, 5, 5, 5, 5, 5, 5, 5, 5])
    assert average_recall(hits, relevant).mean() == pytest.approx((found / possible).mean())


def test_nothing_relevant_is_zero_not_nan() -> None:
    hits, relevant = np.zeros((2, SEMEVAL_DEPTH), np.bool_), np.zeros(2, np.int64)
    for measure in (average_precision, reciprocal_rank, average_recall):
        assert measure(hits, relevant).tolist() == [0, 0]


def test_average_recalls_values_spread_as_the_figure_does() -> None:
    """Their standard error is that of the figure, a ratio of sums, over other queries drawn with replacement."""
    rng, n = np.random.default_rng(0), 300
    hits = rng.random((n, SEMEVAL_DEPTH)) < rng.random((n, 1)) / 2
    relevant = hits.sum(axis=1) + rng.integers(0, 3, n)
    drawn = rng.integers(n, size=(1_000, n))
    redone = [average_recall(hits[rows], relevant[rows]).mean() for rows in drawn]
    assert average_recall(hits, relevant).std() / n**0.5 == pytest.approx(np.std(redone), rel=0.1)
