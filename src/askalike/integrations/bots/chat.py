"""What a bot hears in a chat, and what it can do there; one subclass of `Chat` a product."""

import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, ClassVar, Literal
from urllib.parse import quote

from askalike.core.errors import AskalikeError
from askalike.readers import Message

Payload = Mapping[str, Any]
"""An event as the product sends it."""
Emoji = Literal["up", "down", "solved"]
LOOKUP_S, MAX_LOOKUPS = 3600.0, 10_000
UNSAFE_IN_URL = re.compile(r"[\s()<>|\[\]\"]")


class ChatError(AskalikeError):
    """A product does not answer, or refuses a request. code: its own name of the error, or the HTTP status."""

    def __init__(self, message: str, code: str = "") -> None:
        super().__init__(message)
        self.code = code


class RefusedBotError(ChatError):
    """A product refuses the bot itself, e.g. for its token: trying again is useless."""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message as plain text, with the ids by which its product finds it.

    thread: the id that a reader gives the thread, CHANNEL/FIRST MESSAGE. title: that of the thread, if people give
    threads one.
    """

    channel: str
    id: str
    thread: str
    content: Message
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
    """One product, as one account of a bot. `receive` runs in a thread of its own; the rest in the bot's."""

    name: ClassVar[str]
    credentials: ClassVar[Sequence[str]]
    """The names of the variables with the tokens."""
    default_address: ClassVar[str | None]
    """The address of the API; None if each organization has its own."""

    def __init__(self, address: str, credentials: Mapping[str, str], channels: Collection[str], stop: Event) -> None:
        """channels: names or ids of the channels to look at; empty for all that the bot is in. stop: ends all waits."""
        self._address, self._credentials, self._stop = address.rstrip("/"), credentials, stop
        self._channels = frozenset(channel.removeprefix("#") for channel in channels)

    @abstractmethod
    def receive(self) -> Iterator[Payload]:
        """Connect, and yield events until the connection ends. Raises ChatError; RefusedBotError ends the bot."""

    @abstractmethod
    def interpret(self, payload: Payload) -> Iterator[ChatEvent]:
        """Yield what an event says about public channels and people. Raises ChatError, and LookupError and such."""

    @abstractmethod
    def reply(self, to: ChatMessage, text: str) -> str:
        """Write into the thread of a message, and return the new message's id. Raises ChatError."""

    @abstractmethod
    def edit(self, channel: str, id: str, text: str) -> None:
        """Change a message of the bot. Raises ChatError."""

    @abstractmethod
    def delete(self, channel: str, id: str) -> None:
        """Delete a message of the bot. Raises ChatError."""

    @abstractmethod
    def read_thread(self, channel: str, id: str) -> Sequence[ChatMessage]:
        """Return the messages of the thread that a message is in, the first one first. Raises ChatError."""

    @abstractmethod
    def link(self, message: ChatMessage) -> str:
        """Return the address of a message."""

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


class Lookups:
    """Answers about ids, each asked for once an hour: a channel may become private, or get another name."""

    def __init__(self, ask: Callable[[str], Mapping[str, Any]]) -> None:
        self._ask = ask
        self._answers: dict[str, tuple[float, Mapping[str, Any]]] = {}

    def __getitem__(self, id: str) -> Mapping[str, Any]:
        at, answer = self._answers.get(id, (-math.inf, {}))
        if time.monotonic() - at >= LOOKUP_S:
            answer = self._ask(id)
            if len(self._answers) >= MAX_LOOKUPS:
                self._answers.clear()
            self._answers[id] = time.monotonic(), answer
        return answer


def safe_link(url: str) -> str:
    """Return an address in which nothing ends a link."""
    return UNSAFE_IN_URL.sub(lambda match: quote(match[0]), url)
