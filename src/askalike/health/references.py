"""Checks of references: links, accepted answers, answers and judgements that refer to what is not in the archive."""

from askalike.health.findings import MAX_EXAMPLES, CheckContext, Finding
from askalike.store import integrity
from askalike.store.integrity import Matches
from askalike.types import LinkKind


def unanswered_questions(context: CheckContext) -> Finding:
    """Find questions without an answer, in an archive that has answers."""
    matches = integrity.unanswered_questions(context.view, MAX_EXAMPLES)
    meaning = "Who is shown one of these learns nothing from it; answer them, or leave them out of what is shown."
    return _to_finding("unanswered_questions", matches, "questions", meaning)


def absent_accepted_answers(context: CheckContext) -> Finding:
    """Find questions whose accepted answer is not in the archive."""
    matches = integrity.absent_accepted_answers(context.view, MAX_EXAMPLES)
    meaning = "The answer that was accepted was not imported; import the answers too, or nothing is marked as accepted."
    return _to_finding("absent_accepted_answers", matches, "accepted answers", meaning)


def answers_without_question(context: CheckContext) -> Finding:
    """Find answers whose question is not in the archive."""
    matches = integrity.answers_without_question(context.view, MAX_EXAMPLES)
    meaning = "Their questions were deleted or never imported; import them, or these answers are never found."
    return _to_finding("answers_without_question", matches, "answers", meaning)


def broken_duplicate_links(context: CheckContext) -> Finding:
    """Find duplicate links that lack an end."""
    return _find_broken_links(context, "duplicate")


def broken_related_links(context: CheckContext) -> Finding:
    """Find related links that lack an end."""
    return _find_broken_links(context, "related")


def broken_judgements(context: CheckContext) -> Finding:
    """Find judgements of imported splits whose query or document is not in the archive."""
    matches = integrity.broken_judgements(context.view, MAX_EXAMPLES)
    meaning = (
        "A judged document that is absent can never be found and lowers every measure; import what the set refers to."
    )
    return _to_finding("broken_judgements", matches, "judgements", meaning)


def _find_broken_links(context: CheckContext, kind: LinkKind) -> Finding:
    matches = integrity.broken_links(context.view, kind, MAX_EXAMPLES)
    meaning = "One end was deleted or never imported; these links are kept but not used until the other end comes."
    return _to_finding(f"broken_{kind}_links", matches, f"{kind} links", meaning)


def _to_finding(name: str, matches: Matches, of: str, meaning: str) -> Finding:
    return Finding(name, matches.matching, matches.total, of, meaning, matches.examples)
