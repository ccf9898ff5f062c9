import numpy as np
import pytest

from askalike.core.hits import Run
from askalike.evaluation.evaluate import count_tied, evaluate, shuffle_ties
from askalike.evaluation.significance import compare
from askalike.evaluation.tables import to_text
from askalike.evaluation.trec import separate_ties

DOCUMENTS = [*"zyxwvutsrq"]
QRELS = {f"q{n}": {"z": 1} for n in range(200)}
TIED = {query: dict.fromkeys(DOCUMENTS, 1.0) for query in QRELS}
APART = {query: {document: -float(n) for n, document in enumerate(DOCUMENTS)} for query in QRELS}


def test_tied_hits_share_a_score():
    assert count_tied(np.array([3.0, 1.0, 2.0, 1.0, 1.0])) == 3
    assert count_tied(np.array([1.0 + 1e-12, 1.0])) == 2
    assert count_tied(np.array([1.0, 1.001])) == 0
    assert count_tied(np.array([])) == 0


def test_ties_that_a_run_file_separates_are_ties():
    run = separate_ties(Run({"q": (DOCUMENTS, np.array([2.0] * 4 + [1.0] * 5 + [0.5]))}))
    assert count_tied(run.columns("q")[1]) == 9


def test_shuffling_moves_tied_hits_only():
    columns = (["a", "b", "c", "d"], np.array([1.0, 2.0, 1.0, 3.0]))
    orders = {tuple(dict(shuffle_ties([("q", columns)], seed))["q"]) for seed in range(20)}
    assert orders == {("d", "b", "a", "c"), ("d", "b", "c", "a")}


def test_mean_that_ties_decide_has_a_warning():
    result = evaluate(TIED, QRELS, ["Success@1"])
    assert result.means["Success@1"] == 1.0  # z is first by its id
    assert result.tied_share == 1.0
    assert result.means_of_random_ties["Success@1"] == pytest.approx(0.1, abs=0.08)
    assert "ties decide: 100% of hits are tied; with ties in random order: Success@1 0." in to_text(result.table())


def test_a_run_without_ties_has_no_warning():
    result = evaluate(APART, QRELS, ["Success@1"])
    assert (result.tied_share, result.means_of_random_ties) == (0.0, {})
    assert "ties" not in result.describe_ties()


def test_a_comparison_names_the_system_whose_ties_decide():
    evaluations = {"tied": evaluate(TIED, QRELS, ["RR"]), "apart": evaluate(APART, QRELS, ["RR"])}
    notes = compare(evaluations, "RR").notes
    assert [note.partition(":")[0] for note in notes if "ties decide" in note] == ["tied"]
