import numpy as np
import pytest

from askalike.core.errors import SettingsError
from askalike.evaluation.evaluate import RULES, get_rule


def order(rule: str, scores: list[float], ids: str = "abc") -> str:
    return "".join(get_rule(rule).order_hits("b", list(ids), np.array(scores)))


@pytest.mark.parametrize(
    ("rule", "expected"), [("trec_eval", "cba"), ("semeval", "abc"), ("beir", "ca"), ("lei", "abc")]
)
def test_ties_and_self_hits(rule: str, expected: str) -> None:
    assert order(rule, [1.0, 1.0, 1.0]) == expected


@pytest.mark.parametrize("rule", ["trec_eval", "semeval", "lei"])
def test_higher_scores_come_first_wherever_they_stand(rule: str) -> None:
    assert order(rule, [1.0, 3.0, 2.0]) == "bca"


def test_trec_eval_compares_32_bit_floats() -> None:
    assert order("trec_eval", [1.0 + 1e-12, 1.0, 0.5]) == "bac"
    assert order("semeval", [1.0, 1.0 + 1e-12, 0.5]) == "bac"


def test_only_lei_drops_queries_without_a_relevant_document() -> None:
    assert [name for name, rule in RULES.items() if not rule.includes_query({"a": 0})] == ["lei"]
    assert all(rule.includes_query({"a": 0, "b": 1}) for rule in RULES.values())


@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_each_rule_describes_itself_in_one_line(rule: object) -> None:
    text = rule.describe()  # type: ignore[attr-defined]
    assert "\n" not in text
    for said in ("ties", "itself", "without a relevant document", "without hits"):
        assert said in text


def test_unknown_rule_is_told_with_known_ones() -> None:
    with pytest.raises(SettingsError, match="'mean'; there are: trec_eval, semeval, beir, lei"):
        get_rule("mean")
