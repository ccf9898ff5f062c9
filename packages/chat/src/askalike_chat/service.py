"""A running askalike service, as its HTTP interface shows it: similar questions, feedback, drafts."""

import re
from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from aiohttp import ClientSession

from askalike_chat.api import JsonApi, Model, check_address, is_loopback, read
from askalike_chat.chat import ChatMessage
from askalike_chat.errors import BotError

N_HITS = 3
MAX_TITLE_LENGTH, MAX_BODY_LENGTH = 1_000, 40_000
"""The most that is sent of a message; no product's messages are longer, and the service takes four times as much."""
TRIES = 7
"""The number of times that a search is tried: for half a minute, in which a service starts again."""
ADDRESS = re.compile(r"(?P<base>.+)/(?:a|v1)/(?P<name>[^/]+)")
Verdict = Literal["accept", "reject"]
PAIR = " ≈ "
"""Between a word of the message and one of the hit with a similar meaning."""


class Hit(Model):
    """A similar question. probability, similarity: the one that the archive has. grade: `same`, `related` or None."""

    id: str
    title: str
    url: str | None = None
    probability: float | None = None
    similarity: float | None = None
    grade: str | None = None
    solution: str | None = None
    duplicate_of: str | None = None
    main_words: Sequence[str] | None = None


class Found(Model):
    """The similar questions, best first."""

    results: Sequence[Hit]


class Kept(Model):
    """What became of a proposed draft, and why."""

    effect: str
    reason: str | None = None


class Limits(Model):
    """Conditions on hits. min_probability, min_similarity: instead of grade `same`. without: states of questions."""

    min_probability: float | None = None
    min_similarity: float | None = None
    without: tuple[str, ...] = ()


class Service:
    """One archive of a service."""

    def __init__(self, session: ClientSession, address: str, key: str = "", limits: Limits | None = None) -> None:
        """address: of the archive's page, such as https://questions.example/a/desk. Raises BotError."""
        match = ADDRESS.fullmatch(check_address(address.rstrip("/")))
        if match is None:
            raise BotError(f"{address}: expected the address of an archive, such as https://questions.example/a/desk")
        self.limits = limits or Limits()
        self.page: str | None = f"{match['base']}/a/{match['name']}"
        """Its address for people; None on this machine, which nobody else reaches."""
        if is_loopback(urlsplit(address).hostname or ""):
            self.page = None
        self.name = unquote(match["name"])
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._api = JsonApi(session, f"{match['base']}/v1/{match['name']}", headers)

    async def require_ready(self) -> None:
        """Search once. Raises ApiError, also for a minimum probability of an archive without a calibration."""
        await self._api.ask_json("similar", {"title": "?", "k": 1, **self._limits()}, TRIES)

    async def find(self, message: ChatMessage) -> Found:
        """Return the questions that ask the same as a message. Raises ApiError."""
        query = {**_as_question(message), "k": N_HITS, "explain": True, **self._limits()}
        return read(Found, await self._api.ask_json("similar", query, TRIES))

    async def send_feedback(self, message: ChatMessage, shown: str, verdict: Verdict) -> None:
        """Send a person's verdict on the question that was shown for a message. Raises ApiError."""
        chosen = {"shown_ids": [shown], "chosen_id": shown, "verdict": verdict, "opened": True}
        await self._api.send_json("POST", "feedback", {**_as_question(message), **chosen})

    async def propose(self, source: str, thread: Sequence[ChatMessage], url: str) -> Kept:
        """Propose a thread as a draft. source: the name under which imports know its ids. Raises ApiError."""
        messages = [
            {"text": m.text[:MAX_BODY_LENGTH], "author": m.author, "is_bot": m.is_bot, "is_solution": m.is_solution}
            for m in thread
        ]
        title = thread[0].title.strip()[:MAX_TITLE_LENGTH] or None
        body = {"source": source, "id": thread[0].thread, "title": title, "url": url, "messages": messages}
        return read(Kept, await self._api.ask_json("drafts", body))

    def link(self, id: str, page: str | None) -> str | None:
        """Return the address of a question in the service. page: the archive's; None for its own."""
        place = page or self.page
        return f"{place.rstrip('/')}/questions/{quote(id, safe='')}" if place else None

    def _limits(self) -> dict[str, object]:
        return self.limits.model_dump(exclude_none=True)


def _as_question(message: ChatMessage) -> dict[str, object]:
    """Return the fields of the question that a message asks; the service finds the title of one that has none."""
    title = message.title.strip()[:MAX_TITLE_LENGTH]
    return {"title": title, "body": message.text.strip()[:MAX_BODY_LENGTH], "find_title": True}
