"""Discord (discord.com/developers, API version 10): events by its gateway, a websocket, the rest by its REST API."""

import random
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from askalike_chat.api import JsonApi, Model, read
from askalike_chat.chat import (
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
from askalike_chat.errors import ApiError, RefusedBotError
from askalike_chat.sockets import TOO_BIG, JsonSocket, open_socket

DISPATCH, HEARTBEAT, IDENTIFY, RESUME, RECONNECT, INVALID_SESSION, HELLO, HEARTBEAT_ACK = 0, 1, 2, 6, 7, 9, 10, 11
INTENTS = 1 << 0 | 1 << 9 | 1 << 10 | 1 << 15
"""Servers, messages, reactions, and the text of messages."""
FATAL_CODES = {
    "4004": "the token is not valid", "4013": "unknown intents", "4010": "the shard is not valid",
    "4011": "the bot is in too many servers for one connection", "4012": "the gateway's version is not valid",
    "4014": "switch on the Message Content Intent, on the page Bot of the application",
}  # fmt: skip
NEW_SESSION_CODES = ("4007", "4009", str(TOO_BIG))
LEAVE_CODE = 4000
"""The code with which the bot closes a connection: after the usual one the session could not be resumed."""
HELLO_S = 15.0
Interval = Annotated[float, Field(ge=100, le=600_000, allow_inf_nan=False)]
"""Milliseconds between heartbeats, of which Discord asks for about 41,000. Any others are refused, NaN among them."""
TEXT_CHANNELS, PUBLIC_THREADS = (0, 5), (10, 11)
PERSONS_MESSAGE, REPLY = 0, 19
"""The types of messages that are no notices."""
VIEW_CHANNEL = 1 << 10
"""The permission without which a channel is private."""
SUPPRESS_EMBEDS = 4
MAX_TEXT_LENGTH = 2_000
MAX_THREAD = 100
EMOJI_BY_TEXT: Mapping[str, Emoji] = {
    "👍": "up", "👎": "down", "✅": "solved", "✔": "solved", "✔️": "solved", "☑": "solved", "☑️": "solved",
}  # fmt: skip
SKIN_TONES = "🏻🏼🏽🏾🏿"
NO_MENTIONS: Mapping[str, Any] = {"allowed_mentions": {"parse": []}}


class User(Model):
    """A person or a bot."""

    id: str
    bot: bool = False


class Member(Model):
    """A person on a server."""

    user: User | None = None


class Ready(Model):
    """The beginning of a session."""

    session_id: str
    resume_gateway_url: str
    user: User


class EmojiName(Model):
    """An emoji."""

    name: str | None = None


class Reaction(Model):
    """Reactions to a message with one emoji."""

    emoji: EmojiName


class Reference(Model):
    """The message that another one replies to."""

    message_id: str | None = None


class Message(Model):
    """A message; the notice of an edit may lack most of it."""

    id: str
    channel_id: str
    guild_id: str | None = None
    type: int | None = None
    content: str = ""
    author: User | None = None
    webhook_id: str | None = None
    timestamp: datetime | None = None
    edited_timestamp: datetime | None = None
    message_reference: Reference | None = None
    reactions: Sequence[Reaction] = ()

    @property
    def replies_to(self) -> str | None:
        """The id of the message that it replies to."""
        return self.message_reference.message_id if self.message_reference else None


class Deletion(Model):
    """Messages were deleted."""

    channel_id: str
    id: str = ""
    ids: Sequence[str] = ()


class ReactionEvent(Model):
    """Somebody reacted to a message."""

    channel_id: str
    message_id: str
    user_id: str
    guild_id: str | None = None
    member: Member | None = None
    emoji: EmojiName


class Overwrite(Model):
    """What a role or a person may not do in a channel."""

    id: str
    deny: int = 0


class Channel(Model):
    """A channel, or a thread in one."""

    id: str
    type: int
    name: str | None = None
    guild_id: str | None = None
    parent_id: str | None = None
    permission_overwrites: Sequence[Overwrite] | None = None

    @property
    def is_thread(self) -> bool:
        """Whether it is a post of a forum, or a thread."""
        return self.type in PUBLIC_THREADS


class DiscordChat(Chat):
    """The public channels of the servers that a bot is in: posts of forums, and messages that reply to nothing."""

    name = "discord"
    credentials = ("DISCORD_TOKEN",)
    default_address = "https://discord.com/api/v10"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        headers = {
            "Authorization": f"Bot {self._credentials['DISCORD_TOKEN']}",
            "User-Agent": "DiscordBot (askalike, 1)",
        }
        self._api = JsonApi(self._session, self._address, headers)
        self._own_id = ""
        self._ready: Ready | None = None
        """The session, which is resumed after a loss."""
        self._sequence: int | None = None
        self._channel_of = Lookups(self._ask_channel)

    async def receive(self) -> AsyncGenerator[Payload, None]:
        if self._ready:
            address = self._ready.resume_gateway_url
        else:
            address = read(str, await self._api.get("gateway/bot"), "url")
        try:
            async with (
                open_socket(self._session, f"{address}/?v=10&encoding=json", LEAVE_CODE) as socket,
                aclosing(self._converse(socket)) as events,
            ):
                async for event in events:
                    yield event
        except ApiError as error:
            if error.code in FATAL_CODES:
                raise RefusedBotError(f"Discord: {FATAL_CODES[error.code]}") from None
            if error.code in NEW_SESSION_CODES:
                self._forget_session()
            raise

    async def _converse(self, socket: JsonSocket) -> AsyncGenerator[Payload, None]:
        hello = await socket.receive(HELLO_S)
        if hello.get("op") != HELLO:
            raise ApiError("Discord: the gateway did not say hello")
        every_s = read(Interval, hello, "d", "heartbeat_interval") / 1000
        await socket.send(self._identification())
        next_beat = time.monotonic() + every_s * random.random()
        is_answered = True
        while True:
            if time.monotonic() >= next_beat:
                if not is_answered:
                    raise ApiError("Discord: the gateway no longer answers")
                await socket.send({"op": HEARTBEAT, "d": self._sequence})
                next_beat = time.monotonic() + every_s
                is_answered = False
            event = await socket.receive(next_beat - time.monotonic())
            op = event.get("op")
            if op == DISPATCH:
                for dispatched in self._take_dispatch(event):
                    yield dispatched
            elif op == HEARTBEAT:
                next_beat = time.monotonic()
                is_answered = True
            elif op == HEARTBEAT_ACK:
                is_answered = True
            elif op in (RECONNECT, INVALID_SESSION):
                if op == INVALID_SESSION and not event.get("d"):
                    self._forget_session()
                return

    def _identification(self) -> Payload:
        token = self._credentials["DISCORD_TOKEN"]
        if self._ready:
            resumed = {"token": token, "session_id": self._ready.session_id, "seq": self._sequence}
            return {"op": RESUME, "d": resumed}
        properties = {"os": "linux", "browser": "askalike", "device": "askalike"}
        return {"op": IDENTIFY, "d": {"token": token, "intents": INTENTS, "properties": properties}}

    def _forget_session(self) -> None:
        self._ready = None
        self._sequence = None

    def _take_dispatch(self, event: Payload) -> Sequence[Payload]:
        """Return a dispatched event; the first one tells who the bot is, and how to resume."""
        if isinstance(event.get("s"), int):
            self._sequence = event["s"]
        if event.get("t") != "READY":
            return [event]
        self._ready = read(Ready, event.get("d"))
        self._own_id = self._ready.user.id
        return []

    async def interpret(self, payload: Payload) -> AsyncGenerator[ChatEvent, None]:
        content = payload.get("d")
        match payload.get("t"):
            case "MESSAGE_CREATE":
                row = read(Message, content)
                if await self._may_start(row):
                    yield Started(await self._to_message(row))
            case "MESSAGE_UPDATE":
                row = read(Message, content)
                if row.edited_timestamp and await self._may_start(row):
                    yield Edited(await self._to_message(row))
            case "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK":
                deleted = read(Deletion, content)
                for id in deleted.ids or [deleted.id]:
                    yield Removed(deleted.channel_id, id)
            case "MESSAGE_REACTION_ADD":
                given = read(ReactionEvent, content)
                person = given.member.user if given.member else None
                is_bot = given.user_id == self._own_id or (person is not None and person.bot)
                emoji = _emoji(given.emoji.name)
                if given.guild_id and not is_bot and emoji:
                    yield Reacted(given.channel_id, given.message_id, emoji, given.user_id)

    async def reply(self, to: ChatMessage, text: str) -> str:
        body = {
            "content": text[:MAX_TEXT_LENGTH], "flags": SUPPRESS_EMBEDS, **NO_MENTIONS,
            "message_reference": {"message_id": to.id, "fail_if_not_exists": False},
            "nonce": to.id, "enforce_nonce": True,
        }  # fmt: skip
        return read(str, await self._api.send_json("POST", f"channels/{to.channel}/messages", body), "id")

    async def edit(self, channel: str, id: str, text: str) -> None:
        body = {"content": text[:MAX_TEXT_LENGTH], **NO_MENTIONS}
        await self._api.send_json("PATCH", f"channels/{channel}/messages/{id}", body)

    async def delete(self, channel: str, id: str) -> None:
        await self._api.send_json("DELETE", f"channels/{channel}/messages/{id}", None)

    async def read_thread(self, channel: str, id: str) -> Sequence[ChatMessage]:
        """Of a forum's post or a thread all messages; of a channel's message the one that it replies to, and itself."""
        place = await self._channel_of.get(channel)
        if not await self._is_public(place):
            return []
        if place.is_thread:
            rows = await self._read_posts(place)
        else:
            row = await self._read_message(channel, id)
            first = row.replies_to
            rows = [await self._read_message(channel, first), row] if first else [row]
        return [await self._to_message(row) for row in rows]

    async def _read_posts(self, place: Channel) -> Sequence[Message]:
        answer = await self._api.get(f"channels/{place.id}/messages", {"after": 0, "limit": MAX_THREAD})
        rows = read(list[Message], answer)
        if place.parent_id and not any(row.id == place.id for row in rows):
            rows.append(await self._read_message(place.parent_id, place.id))  # from which the thread was begun
        kept = [row for row in rows if row.type in (PERSONS_MESSAGE, REPLY)]
        return sorted(kept, key=lambda row: (len(row.id), row.id))

    async def link(self, message: ChatMessage) -> str:
        server = (await self._channel_of.get(message.channel)).guild_id or "@me"
        return f"https://discord.com/channels/{server}/{message.channel}/{message.thread.rpartition('/')[2]}"

    async def _ask_channel(self, id: str) -> Channel:
        return read(Channel, await self._api.get(f"channels/{id}"))

    async def _read_message(self, channel: str, id: str) -> Message:
        return read(Message, await self._api.get(f"channels/{channel}/messages/{id}"))

    async def _may_start(self, row: Message) -> bool:
        """Return whether a message begins a thread in a public channel to look at."""
        if row.type != PERSONS_MESSAGE or not row.guild_id or row.message_reference or self._is_by_bot(row):
            return False
        channel = await self._channel_of.get(row.channel_id)
        return (not channel.is_thread or row.id == channel.id) and await self._is_public(channel)

    async def _is_public(self, channel: Channel) -> bool:
        """Return whether everybody on the server may read a channel or thread, and it is one to look at."""
        place = await self._channel_of.get(channel.parent_id) if channel.is_thread and channel.parent_id else channel
        rules = place.permission_overwrites or ()
        hidden = any(rule.id == place.guild_id and rule.deny & VIEW_CHANNEL for rule in rules)
        is_readable = channel.is_thread or channel.type in TEXT_CHANNELS
        return is_readable and not hidden and self._is_wanted(place.id, place.name or "")

    async def _to_message(self, row: Message) -> ChatMessage:
        channel = await self._channel_of.get(row.channel_id)
        is_thread = channel.is_thread
        return ChatMessage(
            channel=row.channel_id,
            id=row.id,
            thread=f"{channel.parent_id}/{channel.id}" if is_thread else f"{channel.id}/{row.id}",
            text=row.content,
            author=row.author.id if row.author else "",
            at=row.timestamp.timestamp() if row.timestamp else 0.0,
            is_bot=self._is_by_bot(row),
            is_solution=any(_emoji(each.emoji.name) == "solved" for each in row.reactions),
            title=(channel.name or "") if is_thread and row.id == channel.id else "",
        )

    def _is_by_bot(self, row: Message) -> bool:
        """Return whether a bot wrote a message, or nobody knows who."""
        return row.author is None or row.author.bot or bool(row.webhook_id) or row.author.id == self._own_id


def _emoji(text: str | None) -> Emoji | None:
    return EMOJI_BY_TEXT.get(text.rstrip(SKIN_TONES)) if text else None
