"""The choice is stable, prefers the simple, and does not fall for what only looks better."""

import numpy as np
import pytest

from askalike.tuning import verdict
from askalike.tuning.candidates import TUNED, UNTUNED, Candidate, Stage
from askalike.tuning.trials import Trial
from askalike.tuning.verdict import Contest, EvaluatedTrial, best_lexical, choose_lexical, paired_difference

N = 400
QUERIES = [f"q{i}" for i in range(N)]
LEXICAL, TUNED_LEXICAL = Stage(kind=UNTUNED), Stage(kind=TUNED)
SIMPLE, HYBRID, ENCODER, ENCODER_HYBRID, WITH_ENCODER = (Stage(family=family) for family in range(1, 6))


def entry(stage, values, name="", base=None, trial=None):
    name = name or f"r{stage}"
    trial = trial or Trial(name)
    return EvaluatedTrial(Candidate(name, stage, (trial,), base), trial, dict(zip(QUERIES, values, strict=True)), {})


def choose(entries, queries):
    return verdict.choose(contest(entries), queries)


def contest(entries):
    """Return the contest in which the first of the entries is the incumbent."""
    return Contest(entries[0], entries[1:])


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
    entries = [entry(LEXICAL, lexical), entry(SIMPLE, good), entry(HYBRID, better(good, 2))]
    assert choose(entries, QUERIES).candidate.stage == SIMPLE


def test_what_only_looks_better_is_not_chosen(lexical):
    """The best of 200 rankers that differ from the lexical one by chance alone."""
    noise = []
    for seed in range(200):
        values, flipped = lexical.copy(), np.random.default_rng(seed).permutation(N)[:60]
        values[flipped] = hits(0.4, 1000 + seed)[flipped]
        noise.append(entry(SIMPLE, values, f"noise{seed}", trial=Trial("noise", {"seed": seed})))
    assert max(e.mean(QUERIES) for e in noise) > lexical.mean() + 0.02
    assert choose([entry(LEXICAL, lexical), *noise], QUERIES).candidate.stage == LEXICAL


def test_the_choice_is_stable_under_reseeding(lexical, monkeypatch):
    entries = [entry(LEXICAL, lexical), entry(SIMPLE, better(lexical, 40)), entry(HYBRID, better(lexical, 42, 2))]
    stages = set()
    for seed in range(5):
        monkeypatch.setattr("askalike.tuning.verdict.RESAMPLING_SEED", seed)
        stages.add(choose(entries, QUERIES).candidate.stage)
    assert stages == {SIMPLE}


def test_a_hybrid_competes_over_the_lexical_choice(lexical):
    other = Trial("bm25", {"b": 0.1})
    entries = [entry(LEXICAL, lexical, trial=Trial("lm")), entry(HYBRID, better(lexical, 80), base=other)]
    assert choose(entries, QUERIES).candidate.stage == LEXICAL
    entries.append(entry(HYBRID, better(lexical, 60), base=Trial("lm")))
    assert choose(entries, QUERIES) is entries[2]


def test_simpler_than_pre_trained_must_be_as_good(lexical):
    """Six queries in 400 are no significant difference."""
    encoder = entry(ENCODER, better(lexical, 46), "pretrained")
    worse, as_good = entry(HYBRID, better(lexical, 40)), entry(HYBRID, better(lexical, 46))
    assert choose([entry(LEXICAL, lexical), worse, encoder], QUERIES) is encoder
    assert choose([entry(LEXICAL, lexical), as_good, encoder], QUERIES) is as_good
    assert choose([entry(LEXICAL, lexical), worse], QUERIES) is worse
    best = entry(ENCODER_HYBRID, better(lexical, 90))
    assert choose([entry(LEXICAL, lexical), worse, encoder, best], QUERIES) is best


def test_simpler_has_to_equal_what_encoders_bring(lexical):
    """It is better than the encoder alone, and not significantly worse than that together with something else."""
    encoder, with_votes = entry(ENCODER, better(lexical, 40), "pretrained"), entry(WITH_ENCODER, better(lexical, 80))
    simpler = entry(HYBRID, better(lexical, 76))
    assert choose([entry(LEXICAL, lexical), simpler, encoder, with_votes], QUERIES) is with_votes
    as_good = entry(HYBRID, better(lexical, 80))
    assert choose([entry(LEXICAL, lexical), as_good, encoder, with_votes], QUERIES) is as_good


def test_encoder_worse_than_words_changes_nothing(lexical):
    incumbent = entry(LEXICAL, lexical)
    assert choose([incumbent, entry(ENCODER, better(lexical, 2), "pretrained")], QUERIES) is incumbent


def test_best_lexical_is_beaten_and_simplest_serves(lexical):
    entries = [entry(LEXICAL, lexical), entry(TUNED_LEXICAL, better(lexical, 1))]
    assert best_lexical(contest(entries), QUERIES).candidate.stage == TUNED_LEXICAL
    assert choose_lexical(contest(entries), QUERIES).candidate.stage == LEXICAL


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
