import random
import shutil

import ir_measures
import pytest

from askalike.core.errors import SettingsError
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.measures import canonical_name, expected_reciprocal_rank


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("AP", "AP"),
        ("map@10", "AP@10"),
        ("MRR", "RR"),
        ("Accuracy@1", "Success@1"),
        ("acc@5", "Success@5"),
        ("FHS", "Success@1"),
        ("AvgRec", "AvgRec"),
        ("ndcg@10", "nDCG@10"),
        ("Recall@100", "R@100"),
        ("AP(rel=2)@10", "AP(rel=2)@10"),
        ("AP(rel=2, judged_only=True)", "AP(rel=2,judged_only=True)"),
        ("iprec@0.5", "IPrec@0.5"),
        ("map", "AP"),
        ("recip_rank", "RR"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("map_cut_10", "AP@10"),
        ("P_5", "P@5"),
        ("P.5", "P@5"),
        ("recall_100", "R@100"),
        ("success_1", "Success@1"),
        ("iprec_at_recall_0.50", "IPrec@0.5"),
    ],
)
def test_spellings(spelling: str, name: str) -> None:
    assert canonical_name(spelling) == name
    assert canonical_name(name) == name


@pytest.mark.parametrize("name", ["accuracy_score", "", "P@5 AP", "__import__('os')", "NumRet"])
def test_unknown_measure_is_told_with_known_ones(name: str) -> None:
    with pytest.raises(SettingsError, match=r"there are: AP, RR, P, R, nDCG, Success.*MAP \(= AP\)"):
        canonical_name(name)


@pytest.mark.parametrize(
    "name", ["P", "Success", "P@0", "P@1.5", "P.0", "P_1.5", "AP(depth=3)", "AP(rel=", "Bpref@3", "AvgRec@5"]
)
def test_a_wrong_or_missing_cut_off_is_told(name: str) -> None:
    with pytest.raises(SettingsError, match="cut-off"):
        canonical_name(name)


QRELS = {"q": {"a": 4, "b": 1, "c": 0}, "r": {"a": 2, "d": 3}, "s": {"a": 1}}


def test_err_by_hand():
    """The reader stops at the first with 15/16, else at the second with 1/16, else at the third with 3/16."""
    expected = 15 / 16 + 1 / 16 * (1 / 16) / 2 + 1 / 16 * (15 / 16) * (3 / 16) / 3
    assert expected_reciprocal_rank([4, 1, 2]) == pytest.approx(expected)
    assert expected_reciprocal_rank([]) == expected_reciprocal_rank([0, -1]) == 0


def test_err_of_a_query_without_hits_is_0():
    evaluation = evaluate({"q": {"b": 2.0, "a": 1.0}, "r": {"a": 1.0}}, QRELS, ["ERR@1", "err"])
    assert evaluation.values["ERR@1"] == pytest.approx({"q": 1 / 16, "r": 3 / 16, "s": 0})
    assert evaluation.values["err"]["q"] == pytest.approx(1 / 16 + 15 / 16 * 15 / 16 / 2)
    assert canonical_name("err@10") == "ERR@10"


@pytest.mark.skipif(shutil.which("perl") is None, reason="TREC's gdeval is a Perl script")
def test_err_is_gdevals():
    rng = random.Random(1)
    documents = [f"d{n}" for n in range(30)]
    qrels = {f"{q}": {d: rng.randrange(5) for d in rng.sample(documents, 20)} for q in range(1, 6)}
    run = {q: {d: float(score) for score, d in enumerate(rng.sample(documents, 25))} for q in qrels}
    for depth in (5, 20):
        theirs = {m.query_id: m.value for m in ir_measures.gdeval.iter_calc([ir_measures.ERR @ depth], qrels, run)}
        assert evaluate(run, qrels, [f"ERR@{depth}"]).values[f"ERR@{depth}"] == pytest.approx(theirs, abs=1e-5)
