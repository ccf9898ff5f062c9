"""Answers that say the same, word for word."""

from askalike.store.view import View


def identical_answers(view: View) -> dict[str, str]:
    """The id of each answer with a text → the id of the first one that has the same text, white space apart."""
    first: dict[str, str] = {}
    found: dict[str, str] = {}
    for _, answer in view.answers():
        if text := " ".join(answer.body.split()):
            found[answer.id] = first.setdefault(text, answer.id)
    return found
