"""Groups of questions that ask the same: by links and labels, identical wording, and probable proposals."""

from collections import defaultdict

from askalike.moderation.pairs import PairProbabilities, cluster_pairs, pair_key
from askalike.store import Archive, connected_components
from askalike.store.candidate_pairs import list_proposals
from askalike.store.identical import find_identical_questions

MIN_PROBABILITY = 0.9
"""Minimum probability of an undecided proposal that joins two groups."""
MAX_PROPOSALS = 100_000


def find_groups(archive: Archive) -> list[list[str]]:
    """Return the ids of each group of two or more questions, the largest groups first, ties by their first id.

    Proposals have probabilities if the archive's ranker is calibrated, and are made while the archive is served.
    """
    name_of = _certain_names(archive)
    pairs: PairProbabilities = {}
    proposed: set[str] = set()
    for proposal in list_proposals(archive, "open", MAX_PROPOSALS):
        if (proposal.probability or 0.0) < MIN_PROBABILITY:
            break  # the most probable come first
        one, other = (name_of.get(id, id) for id in (proposal.duplicate_id, proposal.original_id))
        proposed |= {proposal.duplicate_id, proposal.original_id}
        if one != other:
            pairs[pair_key(one, other)] = max(proposal.probability or 0.0, pairs.get(pair_key(one, other), 0.0))
    joined = {name: min(group) for group in cluster_pairs(pairs, MIN_PROBABILITY) for name in group}
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
