"""The choice is stable, prefers the simple, and does not fall for what only looks better."""

import numpy as np
import pytest

from askalike.tuning.candidates import Candidate
from askalike.tuning.trials import Trial
from askalike.tuning.verdict import EvaluatedTrial, best_lexical, choose, choose_lexical, paired_difference

N = 400
QUERIES = [f"q{i}" for i in range(N)]


def entry(stage, values, name="", base=None, trial=None):
    trial = trial or Trial(name or f"r{stage}")
    return EvaluatedTrial(
        Candidate(name or f"r{stage}", stage, (trial,), base), trial, dict(zip(QUERIES, values, strict=True)), {}
    )


def hits(share, seed):
    return (np.random.default_rng(seed).random(N) < share).astype(float)


@pytest.fixture
def lexical():
    return hits(0.4, 0)


def better(lexical, more, seed=1):
    """Return the values with so many more queries answered."""
    values = lexical.copy()
    missed = np.flatnonzero(values == 0)
    values[np.random.default_rng(seed).permutation(missed)[:more]] = 1
    return values


def test_the_simplest_that_none_beats_is_chosen(lexical):
    good = better(lexical, 40)
    entries = [entry(0, lexical), entry(2, good), entry(3, better(good, 2))]
    assert choose(entries, QUERIES).candidate.stage == 2


def test_what_only_looks_better_is_not_chosen(lexical):
    """The best of 200 rankers that differ from the lexical one by chance alone."""
    noise = []
    for seed in range(200):
        values, flipped = lexical.copy(), np.random.default_rng(seed).permutation(N)[:60]
        values[flipped] = hits(0.4, 1000 + seed)[flipped]
        noise.append(entry(2, values, f"noise{seed}", trial=Trial("noise", {"seed": seed})))
    assert max(e.mean(QUERIES) for e in noise) > lexical.mean() + 0.02
    assert choose([entry(0, lexical), *noise], QUERIES).candidate.stage == 0


def test_the_choice_is_stable_under_reseeding(lexical, monkeypatch):
    entries = [entry(0, lexical), entry(2, better(lexical, 40)), entry(3, better(lexical, 42, 2))]
    stages = set()
    for seed in range(5):
        monkeypatch.setattr("askalike.tuning.verdict.RESAMPLING_SEED", seed)
        stages.add(choose(entries, QUERIES).candidate.stage)
    assert stages == {2}


def test_a_hybrid_competes_over_the_lexical_choice(lexical):
    other = Trial("bm25", {"b": 0.1})
    entries = [entry(0, lexical, trial=Trial("lm")), entry(3, better(lexical, 80), base=other)]
    assert choose(entries, QUERIES).candidate.stage == 0
    entries.append(entry(3, better(lexical, 60), base=Trial("lm")))
    assert choose(entries, QUERIES) is entries[2]


def test_simpler_than_pre_trained_must_be_as_good(lexical):
    """Six queries in 400 are no significant difference."""
    encoder = entry(7, better(lexical, 46), "pretrained")
    worse, as_good = entry(3, better(lexical, 40)), entry(3, better(lexical, 46))
    assert choose([entry(0, lexical), worse, encoder], QUERIES) is encoder
    assert choose([entry(0, lexical), as_good, encoder], QUERIES) is as_good
    assert choose([entry(0, lexical), worse], QUERIES) is worse
    assert choose([entry(0, lexical), worse, encoder, entry(8, better(lexical, 90))], QUERIES).candidate.stage == 8


def test_simpler_has_to_equal_what_encoders_bring(lexical):
    """It is better than the encoder alone, and not significantly worse than that together with something else."""
    encoder, with_votes = entry(7, better(lexical, 40), "pretrained"), entry(9, better(lexical, 80))
    simpler = entry(3, better(lexical, 76))
    assert choose([entry(0, lexical), simpler, encoder, with_votes], QUERIES) is with_votes
    assert choose([entry(0, lexical), entry(3, better(lexical, 80)), encoder, with_votes], QUERIES).candidate.stage == 3


def test_encoder_worse_than_words_changes_nothing(lexical):
    assert choose([entry(0, lexical), entry(7, better(lexical, 2), "pretrained")], QUERIES).candidate.stage == 0


def test_best_lexical_is_beaten_and_simplest_serves(lexical):
    entries = [entry(0, lexical), entry(1, better(lexical, 1))]
    assert best_lexical(entries, QUERIES).candidate.stage == 1
    assert choose_lexical(entries, QUERIES).candidate.stage == 0


def test_a_difference_has_its_interval_and_p(lexical):
    difference = paired_difference(
        dict(zip(QUERIES, better(lexical, 40), strict=True)), dict(zip(QUERIES, lexical, strict=True))
    )
    assert difference.mean == pytest.approx(0.1)
    assert difference.low > 0.06
    assert difference.better
    assert difference.n == N


def test_interval_of_groups_holds_their_differences(lexical):
    groups = {query: "x" if n < N // 2 else "y" for n, query in enumerate(QUERIES)}
    second = dict(zip(QUERIES, lexical, strict=True))
    first = {query: value + (groups[query] == "x") for query, value in second.items()}  # one group gains, one does not
    within, among = paired_difference(first, second, groups), paired_difference(first, second)
    assert within.mean == among.mean == pytest.approx(0.5)
    assert within.low == within.high == pytest.approx(0.5)
    assert among.low < 0.47 < 0.53 < among.high
