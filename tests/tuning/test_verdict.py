"""The sentence says what was measured, and a ranker serves only if it beats the lexical rankers."""

from dataclasses import replace

import pytest

from askalike.core.records import Split
from askalike.tuning.candidates import UNTUNED, Candidate, Stage
from askalike.tuning.task import TuningTask
from askalike.tuning.trials import Trial
from askalike.tuning.verdict import EvaluatedTrial, PairedDifference, TuningVerdict

EMPTY = Split({}, {})
LEXICAL = EvaluatedTrial(Candidate("lm_jelinek_mercer", Stage(kind=UNTUNED), ()), Trial("lm_jelinek_mercer"), {}, {})
HYBRID = EvaluatedTrial(Candidate("hybrid (lm_jelinek_mercer + distil)", Stage(family=1), ()), Trial("hybrid"), {}, {})
BETTER = PairedDifference(0.079, 0.052, 0.104, 0.0001, 1118)
VERDICT = TuningVerdict(
    task=TuningTask("duplicates", EMPTY, EMPTY),
    measure="nDCG@10",
    chosen=HYBRID,
    incumbent=LEXICAL,
    best_lexical_name="lm_jelinek_mercer",
    value=0.513,
    gain=BETTER,
    reported_gain=BETTER,
    reported_difference=BETTER,
    difference_to_lexical=BETTER,
    difference_to_encoder=None,
    fold_choices=(),
)


def test_what_beats_the_incumbent_serves():
    assert VERDICT.served_trial is HYBRID
    assert VERDICT.sentence == (
        "hybrid (lm_jelinek_mercer + distil): Success@5 51.3 %, +7.9 points [5.2, 10.4] over lm_jelinek_mercer, "
        "p < 0.001; nDCG@10 +7.9 points [5.2, 10.4], p < 0.001, n = 1,118; activated"
    )


@pytest.mark.parametrize(
    "measured", [PairedDifference(0.079, -0.01, 0.16, 0.08, 100), PairedDifference(-0.1, -0.2, -0.05, 0.001, 100)]
)
def test_choice_below_the_incumbent_does_not_serve(measured):
    verdict = replace(VERDICT, gain=measured)
    assert verdict.served_trial is LEXICAL
    assert verdict.sentence.endswith("no significant gain; lm_jelinek_mercer stays active")


def test_an_incumbent_that_nothing_beats_goes_on():
    verdict = replace(VERDICT, chosen=LEXICAL)
    assert verdict.served_trial is LEXICAL
    assert verdict.sentence.endswith("no candidate is significantly better on the dev queries; it stays active")


def test_few_labels_change_nothing():
    few = replace(VERDICT, gain=replace(BETTER, n=17))
    assert few.served_trial is LEXICAL
    assert few.sentence.endswith("30 queries are too few to decide; lm_jelinek_mercer stays active (within noise)")


def test_pseudo_queries_are_named():
    assert replace(VERDICT, task=TuningTask("x", EMPTY, EMPTY, has_pseudo_queries=True)).sentence.endswith(
        "the archive has no labels)"
    )


def test_one_measure_is_named_once():
    assert replace(VERDICT, measure="Success@5").sentence.count("points") == 1
