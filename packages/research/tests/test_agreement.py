"""How similar two runs rank."""

import numpy as np
import pytest

from askalike import Run
from askalike_research.comparing.agreement import compare_rankings, rank_biased_overlap, rank_correlation


def simple_run(**lists: str) -> Run:
    return Run({query: (list(ids), np.arange(len(ids), 0, -1.0)) for query, ids in lists.items()})


def test_rank_biased_overlap_computed_by_hand() -> None:
    """p = .5, lists ab and ba: agreements 0 and 1, of which the second goes on: (0 + 1 · .5²) + .5²."""
    assert rank_biased_overlap("ab", "ba", p=0.5) == pytest.approx(0.5)
    assert rank_biased_overlap("abc", "abc") == pytest.approx(1)
    assert rank_biased_overlap("abc", "xyz") == pytest.approx(0)


def test_rank_biased_overlap_of_uneven_lists() -> None:
    """A shorter list that agrees so far is taken to agree further on; an empty one agrees only with another."""
    assert rank_biased_overlap("ab", "abcd") == pytest.approx(1)
    assert rank_biased_overlap("abcd", "ab") == pytest.approx(1)
    assert (rank_biased_overlap("", "a"), rank_biased_overlap("", "")) == (0, 1)


def test_rank_correlation_is_over_common_documents() -> None:
    assert rank_correlation("abxc", "yabc") == pytest.approx(1)
    assert rank_correlation("abc", "cba") == pytest.approx(-1)
    assert rank_correlation("abc", "axy") is None


def test_compare_rankings_is_over_common_queries() -> None:
    runs = {"one": simple_run(q="abc", r="ab"), "two": simple_run(q="abc", r="xy"), "three": simple_run(s="a")}
    [agreement] = compare_rankings(runs)
    assert (agreement.first, agreement.second, agreement.queries) == ("one", "two", 2)
    assert agreement.rbo == pytest.approx(0.5)
    assert agreement.tau == pytest.approx(1)
