"""Pairs of questions with the probability that both ask the same, or their similarity; their clusters and groups."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations

from askalike.store import Archive, connected_components
from askalike.store.candidate_pairs import list_proposals
from askalike.store.integrity import find_identical_questions

MIN_PROBABILITY = 0.05
"""Minimum probability of a pair that is kept."""
MIN_COHESION = 0.5
"""Minimum share of linked pairs between two clusters to join them."""
MIN_JOINING_PROBABILITY = 0.9
"""Minimum probability of an undecided proposal that joins two groups."""
MAX_PROPOSALS = 100_000
"""Maximum number of undecided proposals that are read."""
Link = tuple[str, str, float]
"""(question id, hit id, value); the links of a question are consecutive, best first."""
PairProbabilities = dict[tuple[str, str], float]
"""(an id, a greater id) → the probability that both ask the same, or their similarity without a calibration."""


def pair_key(one: str, other: str) -> tuple[str, str]:
    """Return the key of two questions in PairProbabilities."""
    return min(one, other), max(one, other)


def cluster_pairs(pairs: PairProbabilities, min_probability: float) -> list[frozenset[str]]:
    """Return clusters of two or more questions linked by pairs of at least `min_probability`, by their smallest id.

    Pairs are processed by descending probability, ties by ids, so their order does not matter. A pair is ignored if
    its clusters are too loosely linked, so that a chain of single links does not join a whole archive.
    """
    linked = {pair: p for pair, p in pairs.items() if p >= min_probability}
    cluster_of: dict[str, set[str]] = {id: {id} for pair in linked for id in pair}
    for one, other in sorted(linked, key=lambda pair: (-linked[pair], pair)):
        first, second = cluster_of[one], cluster_of[other]
        if first is not second and cohesion(linked, first, second) >= MIN_COHESION:
            first |= second
            for id in second:
                cluster_of[id] = first
    clusters = {min(members): frozenset(members) for members in cluster_of.values() if len(members) > 1}
    return [clusters[least_id] for least_id in sorted(clusters)]


def cohesion(linked: Mapping[tuple[str, str], float], first: Iterable[str], second: Iterable[str]) -> float:
    """Return the share of linked pairs between two clusters."""
    is_linked = [pair_key(a, b) in linked for a in first for b in second]
    return sum(is_linked) / len(is_linked)


def mean_link_probability(pairs: PairProbabilities, members: Iterable[str]) -> float:
    """Return the mean probability of the pairs within a cluster that have one."""
    probabilities = [pairs[pair] for pair in combinations(sorted(members), 2) if pair in pairs]
    return sum(probabilities) / len(probabilities)


def find_groups(archive: Archive) -> list[list[str]]:
    """Return the ids of each group of two or more questions, the largest groups first, ties by their first id.

    Proposals have probabilities if the archive's ranker is calibrated, and are made while the archive is served.
    """
    name_of = _certain_names(archive)
    pairs: PairProbabilities = {}
    proposed: set[str] = set()
    for proposal in list_proposals(archive, "open", MAX_PROPOSALS):
        if (proposal.probability or 0.0) < MIN_JOINING_PROBABILITY:
            break  # the most probable come first
        one, other = (name_of.get(id, id) for id in (proposal.duplicate_id, proposal.original_id))
        proposed |= {proposal.duplicate_id, proposal.original_id}
        if one != other:
            pairs[pair_key(one, other)] = max(proposal.probability or 0.0, pairs.get(pair_key(one, other), 0.0))
    joined = {name: min(group) for group in cluster_pairs(pairs, MIN_JOINING_PROBABILITY) for name in group}
    members: dict[str, list[str]] = defaultdict(list)
    for id in dict.fromkeys((*name_of, *sorted(proposed))):
        name = name_of.get(id, id)
        members[joined.get(name, name)].append(id)
    groups = (sorted(ids) for ids in members.values() if len(ids) > 1)
    return sorted(groups, key=lambda ids: (-len(ids), ids[0]))


def _certain_names(archive: Archive) -> dict[str, str]:
    """Return id → name of its group by links, labels and identical wording."""
    labelled = archive.view().clusters().visible_names.items()
    identical = ((ids[0], id) for ids in find_identical_questions(archive) for id in ids[1:])
    return connected_components([*labelled, *identical])
