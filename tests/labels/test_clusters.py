"""Clusters are the transitive closure of pairs; folds keep them whole."""

from hypothesis import given
from hypothesis import strategies as st

from askalike.labels.splitters import assign_folds, clusters_from_qrels
from askalike.store.labels import connected_components

IDS = st.sampled_from("abcdefgh")
PAIRS = st.lists(st.tuples(IDS, IDS))


def closure(pairs):
    """Each id's cluster by repeating until nothing changes."""
    reach = {id: {id} for pair in pairs for id in pair}
    changed = True
    while changed:
        changed = False
        for a, b in pairs:
            both = reach[a] | reach[b]
            for id in both:
                changed |= reach[id] != both
                reach[id] = both
    return reach


@given(PAIRS)
def test_a_chain_of_pairs_joins_and_nothing_else_does(pairs):
    found = connected_components(pairs)
    assert found == {id: min(members) for id, members in closure(pairs).items()}


def test_a_query_belongs_with_what_is_relevant_to_it_and_not_with_what_is_not():
    qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d2": 1}, "q3": {"d1": 2}, "q4": {}}
    assert clusters_from_qrels(qrels) == {"q1": "d1", "d1": "d1", "q3": "d1", "q2": "d2", "d2": "d2", "q4": "q4"}


@given(PAIRS, st.integers(1, 4), st.integers(0, 3))
def test_folds_hold_every_query_once_and_clusters_whole(pairs, k, seed):
    cluster_of = connected_components(pairs)
    parts = assign_folds(cluster_of, cluster_of, k, seed)
    assert len(parts) == k
    assert sorted(q for part in parts for q in part) == sorted(cluster_of)
    clusters = [{cluster_of[q] for q in part} for part in parts]
    assert sum(map(len, clusters)) == len(set(cluster_of.values()))
    assert parts == assign_folds(cluster_of, cluster_of, k, seed)
