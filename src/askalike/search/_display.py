"""The displayed text of a hit: the question's matching passage, with words instead of the index's tokens."""

from dataclasses import replace

from askalike.core.types import Explanation, Question
from askalike.text.clean import LINK_TOKEN, collapse_spaces, readable_text
from askalike.text.snippet import extract_snippet
from askalike.text.words import find_words

SNIPPET_LENGTH = 160
LINK_NAME = "link"
"""The word shown for the token of a link."""


def extract_shown_snippet(question: Question, explanation: Explanation) -> str:
    """Return the passage to show below the title: of the matching rephrasing, or of the readable body.

    The offsets of an explanation refer to the analysed text, so its words must be found again.
    """
    text = explanation.text.get("rephrasing", "").replace(LINK_TOKEN, "…")
    if not text and "body" in explanation.text:
        text = readable_text(question.body, question.markup)
    if len(text) <= SNIPPET_LENGTH:  # all of it is shown
        return collapse_spaces(text)
    words = {explanation.text[span.field][span.start : span.end] for span in explanation.spans}
    return extract_snippet(text, find_words(text, words), SNIPPET_LENGTH)


def name_links(explanation: Explanation) -> Explanation:
    """Return the explanation with a word instead of the link token."""
    if not any(LINK_TOKEN in c.word for c in explanation.contributions):
        return explanation
    words = (c._replace(word=c.word.replace(LINK_TOKEN, LINK_NAME)) for c in explanation.contributions)
    return replace(explanation, contributions=tuple(words))
