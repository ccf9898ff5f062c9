"""Zulip (zulip.com/api, feature level 400): an event queue, asked by HTTP requests that wait for the next event."""

import json
import re
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

from pydantic import Field, FiniteFloat

from askalike_chat.api import JsonApi, Model, read
from askalike_chat.chat import (
    SOLVED_EMOJIS,
    Chat,
    ChatEvent,
    ChatMessage,
    Edited,
    Emoji,
    Lookups,
    Payload,
    Reacted,
    Removed,
    Started,
)
from askalike_chat.errors import ApiError

EVENT_TYPES = ("message", "update_message", "delete_message", "reaction")
POLL_MARGIN_S = 30.0
MAX_THREAD = 100
MAX_TOPICS = 10_000
"""The number of topics whose first message is remembered."""
TAKEN_BACK = "This answer was taken back."
EMOJI_BY_CODE: Mapping[str, Emoji] = {"1f44d": "up", "1f44e": "down"}
MENTION = re.compile(r"@_?\*\*([^*|\n]+)(?:\|\d+)?\*\*|#\*\*([^*\n]+)\*\*")


class Reaction(Model):
    """A reaction to a message."""

    emoji_name: str = ""
    emoji_code: str = ""
    reaction_type: str = ""

    @property
    def emoji(self) -> Emoji | None:
        """What it means to the bot."""
        if self.emoji_name in SOLVED_EMOJIS:
            return "solved"
        return EMOJI_BY_CODE.get(self.emoji_code) if self.reaction_type == "unicode_emoji" else None


class Message(Model):
    """A message; one without a channel is a direct message."""

    id: int
    type: str
    stream_id: int | None = None
    subject: str = ""
    content: str
    sender_id: int
    sender_email: str = ""
    sender_realm_str: str = ""
    timestamp: FiniteFloat
    reactions: Sequence[Reaction] = ()


class Update(Model):
    """A message has got another text, or another topic."""

    message_id: int
    content: str | None = None
    orig_content: str | None = None
    orig_subject: str | None = None


class Deletion(Model):
    """Messages were deleted."""

    message_id: int | None = None
    message_ids: Sequence[int] = ()


class ReactionEvent(Reaction):
    """Somebody added or removed a reaction."""

    op: str
    message_id: int
    user_id: int


class Queue(Model):
    """An event queue."""

    queue_id: str
    last_event_id: int
    event_queue_longpoll_timeout_seconds: Annotated[float, Field(gt=0, le=3600)] = 90


class Channel(Model):
    """A channel."""

    name: str
    invite_only: bool


class Account(Model):
    """A person or a bot."""

    user_id: int
    is_bot: bool = False


class ZulipChat(Chat):
    """The public channels that a bot of a Zulip organization is subscribed to; a topic is a thread."""

    name = "zulip"
    credentials = ("ZULIP_EMAIL", "ZULIP_API_KEY")
    default_address = None

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        login = b64encode(":".join(self._credentials[name] for name in self.credentials).encode()).decode()
        self._api = JsonApi(self._session, f"{self._address}/api/v1", {"Authorization": f"Basic {login}"})
        self._bots: set[int] = set()
        self._queue: tuple[str, int] | None = None
        """The id of the event queue and of the last event taken from it."""
        self._wait_s = 0.0
        self._topics: dict[tuple[int | None, str], int] = {}
        """Channel and topic → the id of the topic's first message, for topics that were looked up."""
        self._channel_of = Lookups(self._ask_channel)

    async def receive(self) -> AsyncGenerator[Payload, None]:
        if self._queue is None:
            await self._register()
        while self._queue:
            queue, last = self._queue
            try:
                answer = await self._api.get("events", {"queue_id": queue, "last_event_id": last}, self._wait_s)
            except ApiError as error:
                if error.code == "BAD_EVENT_QUEUE_ID":  # it was away for over ten minutes
                    self._queue = None
                raise
            for event in read(list[dict[str, Any]], answer, "events"):
                last = max(last, read(int, event, "id"))
                self._queue = queue, last
                if event.get("type") != "heartbeat":
                    yield event

    async def _register(self) -> None:
        members = read(list[Account], await self._api.get("users"), "members")
        own = read(int, await self._api.get("users/me"), "user_id")
        self._bots = {member.user_id for member in members if member.is_bot} | {own}
        wanted = {"event_types": json.dumps(EVENT_TYPES), "apply_markdown": "false"}
        queue = read(Queue, await self._api.send_form("POST", "register", wanted))
        self._wait_s = queue.event_queue_longpoll_timeout_seconds + POLL_MARGIN_S
        self._queue = queue.queue_id, queue.last_event_id

    async def interpret(self, payload: Payload) -> AsyncGenerator[ChatEvent, None]:
        match payload.get("type"):
            case "message":
                row = read(Message, payload, "message")
                if await self._is_public(row) and await self._find_first(row) == row.id:
                    yield Started(self._to_message(row, row.id))
            case "update_message":
                change = read(Update, payload)
                if change.orig_subject is not None:
                    self._topics.clear()  # messages have moved to another topic
                elif change.content is not None and change.content != change.orig_content:
                    row = await self._read_message(change.message_id)
                    if await self._is_public(row):
                        yield Edited(self._to_message(row, await self._find_first(row)))
            case "delete_message":
                deleted = read(Deletion, payload)
                for id in deleted.message_ids or filter(None, [deleted.message_id]):
                    yield Removed("", str(id))
            case "reaction":
                given = read(ReactionEvent, payload)
                if given.op == "add" and given.user_id not in self._bots and given.emoji:
                    yield Reacted("", str(given.message_id), given.emoji, str(given.user_id))

    async def reply(self, to: ChatMessage, text: str) -> str:
        row = await self._read_message(to.id)  # the topic may have been renamed
        fields = {"type": "stream", "to": row.stream_id, "topic": row.subject, "content": text}
        return str(read(int, await self._api.send_form("POST", "messages", fields), "id"))

    async def edit(self, channel: str, id: str, text: str) -> None:
        await self._api.send_form("PATCH", f"messages/{id}", {"content": text})

    async def delete(self, channel: str, id: str) -> None:
        try:
            await self._api.send_form("DELETE", f"messages/{id}", {})
        except ApiError:  # organizations may forbid it
            await self.edit(channel, id, TAKEN_BACK)

    async def read_thread(self, channel: str, id: str) -> Sequence[ChatMessage]:
        row = await self._read_message(id)
        if not await self._is_public(row):
            return []
        rows = await self._read_topic(row, MAX_THREAD)
        return [self._to_message(each, rows[0].id) for each in rows]

    async def link(self, message: ChatMessage) -> str:
        channel, _, first = message.thread.partition("/")
        named = f"{channel}-{(await self._channel_of.get(channel)).name}".replace(" ", "-")
        place = quote(named, safe="").replace(".", "%2E").replace("%", ".")
        return f"{self._address}/#narrow/channel/{place}/near/{first}"

    async def _ask_channel(self, id: str) -> Channel:
        return read(Channel, await self._api.get(f"streams/{id}"), "stream")

    async def _is_public(self, row: Message) -> bool:
        """Return whether a message is in a public channel to look at."""
        if row.type not in ("stream", "channel") or row.stream_id is None:
            return False
        channel = await self._channel_of.get(str(row.stream_id))
        return not channel.invite_only and self._is_wanted(str(row.stream_id), channel.name)

    async def _find_first(self, row: Message) -> int:
        """Return the id of the first message of a message's topic."""
        topic = row.stream_id, row.subject.casefold()
        if topic not in self._topics:
            if len(self._topics) >= MAX_TOPICS:
                self._topics.clear()
            self._topics[topic] = (await self._read_topic(row, 1))[0].id
        return self._topics[topic]

    async def _read_message(self, id: str | int) -> Message:
        return read(Message, await self._api.get(f"messages/{id}", {"apply_markdown": "false"}), "message")

    async def _read_topic(self, row: Message, n: int) -> Sequence[Message]:
        """Return the n oldest messages of a message's topic."""
        narrow = [{"operator": "stream", "operand": row.stream_id}, {"operator": "topic", "operand": row.subject}]
        query = {"anchor": "oldest", "num_before": 0, "num_after": n, "apply_markdown": "false"}
        answer = await self._api.get("messages", {**query, "narrow": json.dumps(narrow)})
        found = read(list[Message], answer, "messages")
        return sorted(found, key=lambda each: each.id) or [row]

    def _to_message(self, row: Message, first: int) -> ChatMessage:
        is_bot = row.sender_id in self._bots or row.sender_realm_str == "zulipinternal" or "-bot@" in row.sender_email
        is_solution = any(reaction.emoji == "solved" for reaction in row.reactions)
        return ChatMessage(
            "", str(row.id), f"{row.stream_id}/{first}", plain_text(row.content), str(row.sender_id), row.timestamp,
            is_bot, is_solution,
        )  # fmt: skip


def plain_text(text: str) -> str:
    """Return a message's Markdown with the names of people and channels."""
    return MENTION.sub(lambda match: f"@{match[1]}" if match[1] else f"#{match[2]}", text)
