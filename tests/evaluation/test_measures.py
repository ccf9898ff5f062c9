import pytest

from askalike.core.errors import SettingsError
from askalike.evaluation.measures import canonical_name


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
def test_an_unknown_measure_is_told_with_those_there_are(name: str) -> None:
    with pytest.raises(SettingsError, match=r"there are: AP, RR, P, R, nDCG, Success.*MAP \(= AP\)"):
        canonical_name(name)


@pytest.mark.parametrize(
    "name", ["P", "Success", "P@0", "P@1.5", "P.0", "P_1.5", "AP(depth=3)", "AP(rel=", "Bpref@3", "AvgRec@5"]
)
def test_a_wrong_or_missing_cut_off_is_told(name: str) -> None:
    with pytest.raises(SettingsError, match="cut-off"):
        canonical_name(name)
