"""The text of an answer: the question that asks the same, how likely that is in words, and why."""

from collections.abc import Sequence
from urllib.parse import quote

from askalike.core.addresses import safe_url
from askalike.core.types import SearchHit
from askalike.integrations.bots.chat import Chat, safe_link
from askalike.text.clean import collapse_spaces
from askalike.text.stop_words import stop_words

CERTAINTIES = ((0.95, "almost certainly"), (0.8, "very likely"), (0.5, "likely"), (0.0, "possibly"))
"""The least probability → its name."""
FOOTER = "👍 if it helps, 👎 if it does not."
MAX_SHOWN_TITLE = 200
MAX_WORDS, MIN_WORD_SHARE = 3, 0.2
"""Words are named from this share of the heaviest one's weight on."""


def format_answer(chat: Chat, hit: SearchHit, archive_url: str | None) -> str:
    """Return the answer in a chat's markup. archive_url: the archive in a service, for questions without an address."""
    title = collapse_spaces(hit.title)
    shown = chat.escape(title if len(title) <= MAX_SHOWN_TITLE else f"{title[: MAX_SHOWN_TITLE - 1]}…")
    url = safe_url(hit.question.url) or (
        f"{archive_url.rstrip('/')}/questions/{quote(hit.id, safe='')}" if archive_url else None
    )
    named = chat.format_link(shown, safe_link(url)) if url else shown
    reason = "; ".join([_describe_words(chat, hit), *([chat.escape(hit.solution)] if hit.solution else [])])
    return f"This may have been asked before: {named}\n{describe_certainty(hit)}: {reason}.\n{FOOTER}"


def describe_certainty(hit: SearchHit) -> str:
    """Return how likely a hit asks the same, such as `Very likely the same question (91 %)`."""
    if hit.probability is None:
        return f"A similar question (similarity {hit.similarity or 0:.0%})".replace("%", " %")
    word = next(word for least, word in CERTAINTIES if hit.probability >= least)
    return f"{word.capitalize()} the same question ({100 * hit.probability:.0f} %)"


def _describe_words(chat: Chat, hit: SearchHit) -> str:
    words = main_words(hit)
    return f"both say {', '.join(map(chat.escape, words))}" if words else "its meaning is close"


def main_words(hit: SearchHit) -> Sequence[str]:
    """Return the words that contribute most to a hit's score, the heaviest first; no function words if others do."""
    contributions = [c for c in (hit.explanation.contributions if hit.explanation else ()) if c.fields and c.score > 0]
    function_words = stop_words(hit.question.language or "en")
    contributions = [c for c in contributions if c.word.casefold() not in function_words] or contributions
    heaviest = max((c.score for c in contributions), default=0.0)
    heavy = sorted((c for c in contributions if c.score > MIN_WORD_SHARE * heaviest), key=lambda c: -c.score)
    return list(dict.fromkeys(c.word.casefold() for c in heavy))[:MAX_WORDS]
