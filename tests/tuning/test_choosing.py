"""The choice is stable, prefers the simple, and does not fall for what only looks better."""

import numpy as np
import pytest

from askalike.experiments.trials import Trial
from askalike.tuning.candidates import Candidate
from askalike.tuning.choice import EvaluatedTrial, best_lexical, choose, choose_lexical, paired_difference

N = 400
QUERIES = [f"q{i}" for i in range(N)]


def entry(level, found, name="", base=None, trial=None):
    trial = trial or Trial(name or f"r{level}")
    return EvaluatedTrial(
        Candidate(name or f"r{level}", level, (trial,), base), trial, dict(zip(QUERIES, found, strict=True)), {}
    )


def hits(share, seed):
    return (np.random.default_rng(seed).random(N) < share).astype(float)


@pytest.fixture
def words():
    return hits(0.4, 0)


def better(words, more, seed=1):
    """As words, with so many queries more found."""
    found = words.copy()
    missed = np.flatnonzero(found == 0)
    found[np.random.default_rng(seed).permutation(missed)[:more]] = 1
    return found


def test_the_simplest_that_none_beats_is_chosen(words):
    good = better(words, 40)
    entries = [entry(0, words), entry(2, good), entry(3, better(good, 2))]
    assert choose(entries, QUERIES).candidate.level == 2


def test_what_only_looks_better_is_not_chosen(words):
    """The best of 200 rankers that differ from words by chance alone."""
    noise = []
    for seed in range(200):
        found, flipped = words.copy(), np.random.default_rng(seed).permutation(N)[:60]
        found[flipped] = hits(0.4, 1000 + seed)[flipped]
        noise.append(entry(2, found, f"noise{seed}", trial=Trial("noise", {"seed": seed})))
    assert max(e.mean(QUERIES) for e in noise) > words.mean() + 0.02
    assert choose([entry(0, words), *noise], QUERIES).candidate.level == 0


def test_the_choice_is_stable_under_reseeding(words, monkeypatch):
    entries = [entry(0, words), entry(2, better(words, 40)), entry(3, better(words, 42, 2))]
    found = set()
    for seed in range(5):
        monkeypatch.setattr("askalike.tuning.choice.RESAMPLING_SEED", seed)
        found.add(choose(entries, QUERIES).candidate.level)
    assert found == {2}


def test_a_hybrid_competes_over_the_words_that_are_chosen(words):
    other = Trial("bm25", {"b": 0.1})
    entries = [entry(0, words, trial=Trial("lm")), entry(3, better(words, 80), base=other)]
    assert choose(entries, QUERIES).candidate.level == 0
    entries.append(entry(3, better(words, 60), base=Trial("lm")))
    assert choose(entries, QUERIES) is entries[2]


def test_what_is_simpler_than_a_pre_trained_encoder_has_to_be_as_good(words):
    """Six queries in 400 are no significant difference."""
    encoder = entry(7, better(words, 46), "pretrained")
    worse, as_good = entry(3, better(words, 40)), entry(3, better(words, 46))
    assert choose([entry(0, words), worse, encoder], QUERIES) is encoder
    assert choose([entry(0, words), as_good, encoder], QUERIES) is as_good
    assert choose([entry(0, words), worse], QUERIES) is worse
    assert choose([entry(0, words), worse, encoder, entry(8, better(words, 90))], QUERIES).candidate.level == 8


def test_what_is_simpler_has_to_be_as_good_as_what_the_encoder_brings(words):
    """It is better than the encoder alone, and not significantly worse than that together with something else."""
    encoder, with_votes = entry(7, better(words, 40), "pretrained"), entry(9, better(words, 80))
    simpler = entry(3, better(words, 76))
    assert choose([entry(0, words), simpler, encoder, with_votes], QUERIES) is with_votes
    assert choose([entry(0, words), entry(3, better(words, 80)), encoder, with_votes], QUERIES).candidate.level == 3


def test_an_encoder_that_does_not_beat_words_changes_nothing(words):
    assert choose([entry(0, words), entry(7, better(words, 2), "pretrained")], QUERIES).candidate.level == 0


def test_the_words_to_beat_are_the_best_and_those_to_serve_the_simplest(words):
    entries = [entry(0, words), entry(1, better(words, 1))]
    assert best_lexical(entries, QUERIES).candidate.level == 1
    assert choose_lexical(entries, QUERIES).candidate.level == 0


def test_a_difference_has_its_interval_and_p(words):
    found = paired_difference(
        dict(zip(QUERIES, better(words, 40), strict=True)), dict(zip(QUERIES, words, strict=True))
    )
    assert found.mean == pytest.approx(0.1)
    assert found.low > 0.06
    assert found.better
    assert not found.worse
    assert found.n == N
