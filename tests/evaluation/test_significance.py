import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from askalike.core.errors import InputError, SettingsError
from askalike.evaluation.evaluate import evaluate
from askalike.evaluation.intervals import group_column, sign_flip_p
from askalike.evaluation.outcome import Evaluation, MacroEvaluation
from askalike.evaluation.significance import compare, correct_holm, estimate_difference, interval_over_seeds
from askalike.evaluation.tables import to_csv, to_latex

QUERIES = 40


def system(ranks: list[int], queries: list[str] | None = None, rule: str = "trec_eval") -> Evaluation:
    """A run that has the right document of its i-th query at rank ranks[i]; its RR is 1 / rank."""
    ids = queries or [f"q{i}" for i in range(len(ranks))]
    wrong = {query: {f"x{k}": 10.0 - k for k in range(rank - 1)} for query, rank in zip(ids, ranks, strict=True)}
    run = {query: {**hits, "right": 0.0} for query, hits in wrong.items()}
    return evaluate(run, {query: {"right": 1} for query in ids}, ["RR", "P@1"], rule)


GOOD = system([1] * QUERIES)
FAIR = system([1, 2] * (QUERIES // 2))
POOR = system([2, 4] * (QUERIES // 2))


def test_a_pair_by_hand() -> None:
    pair = compare({"fair": FAIR, "good": GOOD}, "MRR").pairs[0]
    assert (pair.first, pair.second) == ("fair", "good")
    assert pair.difference == pytest.approx(-0.25)
    assert (pair.wins, pair.losses, pair.ties) == (0, QUERIES // 2, QUERIES // 2)
    assert pair.low < pair.difference < pair.high < 0
    assert pair.p == pair.p_holm < 0.001
    assert [(d.first, d.second) for d in pair.differing] == [(0.5, 1.0)] * 10
    assert pair.differing[0].query_id == "q1"


def test_a_system_does_not_differ_from_itself() -> None:
    pair = compare({"one": FAIR, "other": FAIR}, "RR").pairs[0]
    assert (pair.difference, pair.low, pair.high, pair.p, pair.ties, pair.differing) == (0, 0, 0, 1, QUERIES, ())


def test_letters_tell_who_beats_whom() -> None:
    comparison = compare({"poor": POOR, "good": GOOD, "fair": FAIR}, "RR")
    assert [(s.letter, s.name, s.beats) for s in comparison.systems] == [
        ("a", "poor", ()),
        ("b", "good", ("a", "c")),
        ("c", "fair", ("a",)),
    ]
    assert len(comparison.pairs) == 3
    assert all(pair.p_holm >= pair.p for pair in comparison.pairs)


def test_holm_by_hand() -> None:
    assert correct_holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert correct_holm(np.array([0.6, 0.7])) == pytest.approx([1.0, 1.0])


def test_holm_gives_the_values_that_statsmodels_gave() -> None:
    """Recorded from multipletests(p, method="holm") of statsmodels 0.15.0, with ties, a 0, and products above 1."""
    p = [0.012, 0.5, 0.0009999, 0.04, 0.012, 0.75, 0.0, 0.049]
    recorded = [0.07200000000000001, 1.0, 0.0069993, 0.16, 0.07200000000000001, 1.0, 0.0, 0.16]
    assert correct_holm(np.array(p)).tolist() == recorded
    assert correct_holm(np.array([])).tolist() == []


@given(st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.05, 0.3, 0.9, 1.0]) | st.floats(0, 1), max_size=8))
def test_holm_is_its_definition(values: list[float]) -> None:
    """A corrected p is the least level at which the step-down procedure rejects: max over j ≤ i of (m − j) p_j."""
    ordered = sorted(values)
    expected = {p: min(1.0, max((len(values) - j) * ordered[j] for j in range(i + 1))) for i, p in enumerate(ordered)}
    assert correct_holm(np.array(values, float)).tolist() == pytest.approx([expected[p] for p in values])


def test_queries_are_paired_by_id_not_by_position() -> None:
    ids = [f"q{i}" for i in range(QUERIES)]
    ranks = [1 + i % 3 for i in range(QUERIES)]
    turned = system(ranks[::-1], ids[::-1])
    assert compare({"one": system(ranks, ids), "other": turned}, "RR").pairs[0].ties == QUERIES


def test_several_seeds_are_a_mean_and_deviation() -> None:
    seeds = [system([1, 1, 1, 1]), system([2, 2, 2, 2]), system([1, 2, 1, 2])]
    comparison = compare({"trained": seeds, "fixed": system([1, 1, 1, 1])}, "RR")
    trained, fixed = comparison.systems
    assert (trained.mean, trained.sd, trained.seeds) == (0.75, pytest.approx(0.25), 3)
    assert (fixed.sd, fixed.seeds) == (None, 1)
    assert comparison.pairs[0].losses == 4
    assert "0.7500 ± 0.2500" in comparison.to_text()
    assert any("Welch's t over seeds and queries" in note for note in comparison.notes)


def test_different_queries_are_refused_unless_told() -> None:
    both = {"one": system([1, 1, 1], ["p", "q", "r"]), "other": system([1, 2, 1], ["q", "r", "s"])}
    with pytest.raises(InputError, match=r"2 of 4 are not in all of them \(other, seed 1, lacks 'p'\)"):
        compare(both, "RR")
    comparison = compare(both, "RR", common_only=True)
    assert comparison.n == 2
    assert any("2 queries that not all systems have" in note for note in comparison.notes)


def test_nothing_in_common_is_refused() -> None:
    with pytest.raises(InputError, match="no query in common"):
        compare({"one": system([1], ["p"]), "other": system([1], ["q"])}, "RR", common_only=True)


def test_different_rules_are_refused() -> None:
    with pytest.raises(InputError, match="different rules"):
        compare({"one": FAIR, "other": system([1] * QUERIES, rule="lei")}, "RR")


@pytest.mark.parametrize("systems", [{}, {"one": FAIR}, {"one": FAIR, "other": []}])
def test_fewer_than_two_systems_are_refused(systems: dict[str, Evaluation]) -> None:
    with pytest.raises(SettingsError, match="two systems"):
        compare(systems, "RR")


def test_a_measure_that_was_not_evaluated_is_refused() -> None:
    with pytest.raises(SettingsError, match="was not evaluated; there are: RR, P@1"):
        compare({"one": FAIR, "other": GOOD}, "nDCG@10")


def test_the_tables() -> None:
    comparison = compare({"fair_1 & co": FAIR, "good": GOOD}, "RR")
    systems = comparison.systems_table()
    text, markup, latex = comparison.to_text(), comparison._repr_html_(), to_latex(systems)
    for rendered in (text, markup, latex):
        assert "trec" in rendered
        assert "0.7500" in rendered
        assert f"{comparison.systems[0].low:.4f}" in rendered
    assert "1.0000 a" in text
    assert "fair_1 &amp; co" in markup
    assert "1.0000<sup>a</sup>" in markup
    assert r"fair\_1 \& co" in latex
    assert "1.0000$^{a}$" in latex
    rows = list(csv.DictReader(io.StringIO(to_csv(comparison.pairs_table()))))
    assert [(row["first"], row["difference"], row["losses"]) for row in rows] == [("fair_1 & co", "-0.2500", "20")]
    assert json.loads(json.dumps(comparison.as_dict()))["pairs"][0]["losses"] == 20


def test_the_same_each_time() -> None:
    assert compare({"a": FAIR, "b": POOR}, "RR") == compare({"a": FAIR, "b": POOR}, "RR")


def test_systems_beyond_26_have_their_own_letters() -> None:
    systems = {f"s{i}": system([1, 2]) for i in range(30)}
    letters = [s.letter for s in compare(systems, "RR").systems]
    assert letters[25:28] == ["z", "a1", "b1"]
    assert len(set(letters)) == 30


def test_difference_over_seeds_by_hand() -> None:
    """Queries differ by (0, .5, .5, 1): variance 1/6, by 4. Seeds reach .375 and .625: variance 1/32, by 2."""
    first = np.array([[0.0, 0.5, 0.5, 0.5], [0.0, 0.5, 0.5, 1.5]])
    low, high, p = estimate_difference(first, np.zeros((1, 4)))
    assert (low + high) / 2 == pytest.approx(0.5)
    variance = 1 / 24 + 1 / 64
    freedom = variance**2 / ((1 / 24) ** 2 / 3 + (1 / 64) ** 2 / 1)
    t = pytest.importorskip("scipy.stats").t
    assert high - 0.5 == pytest.approx(t.ppf(0.975, freedom) * variance**0.5)
    assert p == pytest.approx(2 * t.sf(0.5 / variance**0.5, freedom))


@pytest.mark.parametrize(("shift", "p"), [(0.0, 1.0), (0.5, 0.0)])
def test_values_without_any_variance(shift: float, p: float) -> None:
    assert estimate_difference(np.full((3, 5), shift), np.zeros((1, 5))) == (shift, shift, p)


def test_two_draws_of_one_system_seldom_differ() -> None:
    """Systems that differ by nothing but their seeds: a test that ignores them finds differences."""
    rng = np.random.default_rng(0)
    difficulty = rng.normal(0, 1, 400)
    rejected = np.zeros(2)
    for _ in range(200):
        first, second = (rng.normal(0, 0.1, (3, 1)) + rng.normal(difficulty, 0.5, (3, 400)) for _ in range(2))
        p_of_these_seeds = sign_flip_p((first.mean(axis=0) - second.mean(axis=0))[:, None], 500, 0)[0]
        rejected += [p_of_these_seeds < 0.05, estimate_difference(first, second).p < 0.05]
    assert rejected[0] / 200 > 0.3
    assert rejected[1] / 200 < 0.08


def test_interval_of_one_system_is_against_nothing() -> None:
    values = np.array([[0.0, 0.5, 0.5, 0.5], [0.0, 0.5, 0.5, 1.5]])
    assert interval_over_seeds(values) == estimate_difference(values, np.zeros((1, 4)))[:2]
    assert interval_over_seeds(np.full((2, 3), 0.5)) == (0.5, 0.5)


def macro(first: Evaluation, second: Evaluation) -> Evaluation:
    return MacroEvaluation({"x": first, "y": second}).as_evaluation()


def test_groups_differing_by_means_leave_no_chance() -> None:
    """Chance is what differs within a group: every query of x gains .5, no query of y gains."""
    own = [f"y{i}" for i in range(10)]
    second, third = system([2] * 10, own), system([3] * 10, own)
    better, worse = macro(system([1] * QUERIES), second), macro(system([2] * QUERIES), second)
    pair = compare({"better": better, "worse": worse}, "RR").pairs[0]
    assert (pair.low, pair.difference, pair.high) == pytest.approx((0.25, 0.25, 0.25))
    seeds = compare({"better": [better, better], "worse": [worse, worse]}, "RR")
    assert (seeds.pairs[0].low, seeds.pairs[0].high) == pytest.approx((0.25, 0.25))
    assert (seeds.systems[0].low, seeds.systems[0].high) == pytest.approx((0.75, 0.75))
    among = compare({"better": worse, "worse": macro(system([2] * QUERIES), third)}, "RR").pairs[0]
    assert (among.low, among.high) == pytest.approx((1 / 12, 1 / 12))


def test_the_groups_of_an_evaluation_weigh_its_queries() -> None:
    own = [f"y{i}" for i in range(10)]
    evaluation = macro(system([1] * QUERIES), system([2] * 10, own))
    assert evaluation.weights["q0"] == pytest.approx(50 / 80)
    assert evaluation.weights["y0"] == pytest.approx(50 / 20)
    assert list(group_column(evaluation.groups, ["q1", "y1"])) == ["x", "y"]
    assert group_column(FAIR.groups, ["q1"]) is None


def test_a_system_has_the_interval_of_its_evaluation() -> None:
    own = [f"a{i}" for i in range(10)]
    first, second = macro(FAIR, system([3] * 5 + [1] * 5, own)), macro(GOOD, system([4] * 9 + [2], own))
    systems = compare({"first": first, "second": second}, "RR").systems
    for of_system, evaluation in zip(systems, (first, second), strict=True):
        assert (of_system.low, of_system.high) == pytest.approx(evaluation.intervals["RR"])


def test_groups_count_equally_among_common_queries() -> None:
    def grouped(of_b: int) -> Evaluation:
        groups = {"a": 4, "b": of_b}
        systems = {g: system([1 if g == "a" else 2] * n, [f"{g}{i}" for i in range(n)]) for g, n in groups.items()}
        return MacroEvaluation(systems).as_evaluation()

    comparison = compare({"all": grouped(6), "some": grouped(2)}, "RR", common_only=True)
    assert [s.mean for s in comparison.systems] == [pytest.approx(0.75)] * 2
    [pair] = comparison.pairs
    assert (pair.difference, pair.wins, pair.losses, pair.ties) == (0, 0, 0, 6)
