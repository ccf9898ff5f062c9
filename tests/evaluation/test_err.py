"""Expected reciprocal rank: by hand, and beside TREC's own script."""

import random
import shutil

import ir_measures
import pytest

from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.measures import canonical_name, expected_reciprocal_rank

QRELS = {"q": {"a": 4, "b": 1, "c": 0}, "r": {"a": 2, "d": 3}, "s": {"a": 1}}


def test_by_hand():
    """The reader stops at the first with 15/16, else at the second with 1/16, else at the third with 3/16."""
    expected = 15 / 16 + 1 / 16 * (1 / 16) / 2 + 1 / 16 * (15 / 16) * (3 / 16) / 3
    assert expected_reciprocal_rank([4, 1, 2]) == pytest.approx(expected)
    assert expected_reciprocal_rank([]) == expected_reciprocal_rank([0, -1]) == 0


def test_a_query_has_its_value_and_one_without_hits_has_none():
    evaluation = evaluate({"q": {"b": 2.0, "a": 1.0}, "r": {"a": 1.0}}, QRELS, ["ERR@1", "err"])
    assert evaluation.values["ERR@1"] == pytest.approx({"q": 1 / 16, "r": 3 / 16, "s": 0})
    assert evaluation.values["err"]["q"] == pytest.approx(1 / 16 + 15 / 16 * 15 / 16 / 2)
    assert canonical_name("err@10") == "ERR@10"


@pytest.mark.skipif(shutil.which("perl") is None, reason="TREC's gdeval is a Perl script")
def test_it_is_gdevals():
    rng = random.Random(1)
    documents = [f"d{n}" for n in range(30)]
    qrels = {f"{q}": {d: rng.randrange(5) for d in rng.sample(documents, 20)} for q in range(1, 6)}
    run = {q: {d: float(score) for score, d in enumerate(rng.sample(documents, 25))} for q in qrels}
    for depth in (5, 20):
        theirs = {m.query_id: m.value for m in ir_measures.gdeval.iter_calc([ir_measures.ERR @ depth], qrels, run)}
        assert evaluate(run, qrels, [f"ERR@{depth}"]).values[f"ERR@{depth}"] == pytest.approx(theirs, abs=1e-5)
