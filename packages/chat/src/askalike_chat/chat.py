"""The events of a chat that a bot reads, and the actions it has there; one subclass of `Chat` a product."""

import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar
from urllib.parse import quote

from aiohttp import ClientSession

Payload = Mapping[str, Any]
"""An event as the product sends it."""
Emoji = Literal["up", "down", "solved"]
SOLVED_EMOJIS = frozenset({"white_check_mark", "heavy_check_mark", "ballot_box_with_check", "check", "check_mark"})
"""Names of reactions that mark a message as the solution, in Zulip and Slack."""
LOOKUP_S, MAX_LOOKUPS = 3600.0, 10_000
UNSAFE_IN_URL = re.compile(r"[\s()<>|\[\]\"]")
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as plain text, with the ids by which its product finds it.

    thread: the id that an import gives the thread, CHANNEL/FIRST MESSAGE. author: any id of a person. at: seconds since
    1970. is_solution: whether people have marked it. title: that of the thread, if people give threads one.
    """

    channel: str
    id: str
    thread: str
    text: str
    author: str
    at: float
    is_bot: bool = False
    is_solution: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Started:
    """A message has begun a thread."""

    message: ChatMessage


@dataclass(frozen=True, slots=True)
class Edited:
    """The text of a message has changed."""

    message: ChatMessage


@dataclass(frozen=True, slots=True)
class Removed:
    """A message has been deleted."""

    channel: str
    id: str


@dataclass(frozen=True, slots=True)
class Reacted:
    """A person has reacted to a message. person: an id."""

    channel: str
    id: str
    emoji: Emoji
    person: str


ChatEvent = Started | Edited | Removed | Reacted


class Chat(ABC):
    """One product, as one account of a bot. `receive` runs in a task of its own; the rest in the bot's."""

    name: ClassVar[str]
    credentials: ClassVar[Sequence[str]]
    """The names of the variables with the tokens."""
    default_address: ClassVar[str | None]
    """The address of the API; None if each organization has its own."""

    def __init__(
        self, session: ClientSession, address: str, credentials: Mapping[str, str], channels: Collection[str] = ()
    ) -> None:
        """channels: names or ids of the channels to look at; empty for all that the bot is in."""
        self._session, self._address, self._credentials = session, address.rstrip("/"), credentials
        self._channels = frozenset(channel.removeprefix("#") for channel in channels)

    @abstractmethod
    def receive(self) -> AsyncGenerator[Payload, None]:
        """Connect, and yield events until the connection ends. Raises ApiError; RefusedBotError ends the bot."""

    @abstractmethod
    def interpret(self, payload: Payload) -> AsyncGenerator[ChatEvent, None]:
        """Yield what an event says about public channels and people. Raises ApiError, of which NotUnderstoodError."""

    @abstractmethod
    async def reply(self, to: ChatMessage, text: str) -> str:
        """Write into the thread of a message, and return the new message's id. Raises ApiError."""

    @abstractmethod
    async def edit(self, channel: str, id: str, text: str) -> None:
        """Change a message of the bot. Raises ApiError."""

    @abstractmethod
    async def delete(self, channel: str, id: str) -> None:
        """Delete a message of the bot. Raises ApiError."""

    @abstractmethod
    async def read_thread(self, channel: str, id: str) -> Sequence[ChatMessage]:
        """Return the messages of the thread that a message is in, the first one first. Raises ApiError."""

    @abstractmethod
    async def link(self, message: ChatMessage) -> str:
        """Return the address of a message. Raises ApiError."""

    def escape(self, text: str) -> str:
        """Return a text that is shown as it is, and mentions nobody. This is for Markdown without escapes."""
        return text.translate(MARKDOWN_LOOKALIKES)

    def format_link(self, title: str, url: str) -> str:
        """Return a link in the product's markup; the title is escaped."""
        return f"[{title}]({url})"

    def _is_wanted(self, *names: str) -> bool:
        """Return whether a channel is one to look at. names: its id and name."""
        return not self._channels or not self._channels.isdisjoint(names)


MARKDOWN_LOOKALIKES = str.maketrans({
    "@": "@\u200b", "#": "#\u200b", "[": "(", "]": ")", "`": "'", "*": "∗", "~": "∼", "|": "¦", "<": "‹", ">": "›",
    "\\": "∖",
})  # fmt: skip


class Lookups(Generic[AnswerT]):
    """Answers about ids, each asked for once an hour: a channel may become private, or get another name."""

    def __init__(self, ask: Callable[[str], Awaitable[AnswerT]]) -> None:
        self._ask = ask
        self._answers: dict[str, tuple[float, AnswerT]] = {}

    async def get(self, id: str) -> AnswerT:
        """Return the answer. Raises what asking raises."""
        at, answer = self._answers.get(id, (-math.inf, None))
        if answer is None or time.monotonic() - at >= LOOKUP_S:
            answer = await self._ask(id)
            if len(self._answers) >= MAX_LOOKUPS:
                self._answers.clear()
            self._answers[id] = time.monotonic(), answer
        return answer


def safe_link(url: str) -> str:
    """Return an address in which nothing ends a link."""
    return UNSAFE_IN_URL.sub(lambda match: quote(match[0]), url)
