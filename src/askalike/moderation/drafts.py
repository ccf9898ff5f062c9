"""FAQ drafts from recurring solved questions: one for each group without an FAQ entry."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from askalike.core.records import Answer, Question
from askalike.moderation.pairs import PairValues, cluster_pairs, pair_key
from askalike.store import Archive, connected_components
from askalike.store.candidate_pairs import list_proposals
from askalike.store.contents import find_identical_questions
from askalike.store.drafts import FAQ_ID_PREFIX, Draft, add_drafts
from askalike.store.editing import get_links
from askalike.text.analyzer import content_analyzer
from askalike.text.clean import readable_text

MIN_QUESTIONS = 2
MAX_REPHRASINGS = 20
REMARK_LENGTH = 200
"""A shorter answer, with less than a quarter of the length of the group's longest, is taken to be a remark."""
MIN_JOINING_PROBABILITY = 0.9
"""Minimum probability of an undecided proposal that joins two groups."""
MAX_PROPOSALS = 100_000
"""Maximum number of undecided proposals that are read."""


def find_drafts(archive: Archive, min_questions: int = MIN_QUESTIONS) -> int:
    """Store a draft for each group of at least `min_questions` that ask the same; return the number of new ones.

    A group (see `find_groups`) needs an accepted answer. A group with an FAQ entry, or with a question of an earlier
    draft, is left out.
    """
    return add_drafts(archive, _propose_drafts(archive, min_questions))


def find_groups(archive: Archive) -> list[list[str]]:
    """Return the ids of each group of two or more questions, the largest groups first, ties by their first id.

    Proposals are made while the archive is served.
    """
    name_of = _certain_names(archive)
    pairs: PairValues = {}
    proposed: set[str] = set()
    for proposal in list_proposals(archive, "open", MAX_PROPOSALS):
        if proposal.probability < MIN_JOINING_PROBABILITY:
            break  # the most probable come first
        one, other = (name_of.get(id, id) for id in (proposal.duplicate_id, proposal.original_id))
        proposed |= {proposal.duplicate_id, proposal.original_id}
        if one != other:
            pairs[pair_key(one, other)] = max(proposal.probability, pairs.get(pair_key(one, other), 0.0))
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


def _propose_drafts(archive: Archive, min_questions: int) -> Iterator[Draft]:
    view = archive.view()
    for ids in find_groups(archive):
        questions = list(view.get_questions(ids).values())
        if len(questions) >= min_questions and (draft := _propose_draft(archive, questions)):
            yield draft


def _propose_draft(archive: Archive, questions: Sequence[Question]) -> Draft | None:
    """Return the draft of a group; None if it has no accepted answer, or an FAQ entry."""
    answers = archive.view().get_answers_to(question.id for question in questions)
    given = [(question, answer) for question in questions for answer in answers[question.id] if answer.body.strip()]
    is_solved = any(answer.accepted for _, answer in given)
    if not is_solved or any(_has_faq_entry(archive, question) for question in questions):
        return None
    question, answer = choose_answer(given)
    titles = _order_by_typicality(questions)
    sources = dict.fromkeys([question.id, *(q.id for q in questions)])
    return Draft(titles[0], tuple(titles[1 : MAX_REPHRASINGS + 1]), answer.body, answer.markup, tuple(sources))


def _has_faq_entry(archive: Archive, question: Question) -> bool:
    ends = (end for link in get_links(archive, question.id) for end in (link.source, link.target))
    return question.id.startswith(FAQ_ID_PREFIX) or any(end.startswith(FAQ_ID_PREFIX) for end in ends)


def choose_answer(given: Sequence[tuple[Question, Answer]]) -> tuple[Question, Answer]:
    """Return the best answer of a group, with its question: the most votes, then the accepted, then the longest.

    Answers to outdated questions come last, and before them remarks: a joke may well be accepted and popular.
    """
    lengths = {answer.id: len(readable_text(answer.body, answer.markup)) for _, answer in given}
    min_length = min(REMARK_LENGTH, max(lengths.values()) / 4)

    def merit(pair: tuple[Question, Answer]) -> tuple[bool, bool, int, bool, int]:
        question, answer = pair
        length = lengths[answer.id]
        return "outdated" not in question.states, length >= min_length, answer.votes or 0, answer.accepted, length

    return max(given, key=merit)


def _order_by_typicality(questions: Sequence[Question]) -> list[str]:
    """Return the distinct titles by their mean share of words in common with the others, ties by length."""
    analyzer = content_analyzer()
    titles = list(dict.fromkeys(question.title.strip() for question in questions if question.title.strip()))
    words = [frozenset(analyzer.analyze(title, questions[0].language)) for title in titles]

    def typicality(place: int) -> float:
        own = words[place]
        return sum(len(own & other) / max(len(own | other), 1) for other in words) / len(words)

    order = sorted(range(len(titles)), key=lambda place: (-round(typicality(place), 6), len(titles[place]), place))
    return [titles[place] for place in order]
