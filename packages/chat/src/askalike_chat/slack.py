"""Slack in Socket Mode (api.slack.com/apis/socket-mode, 2026): events by a websocket, the rest by its Web API."""

import html
import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

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
from askalike_chat.errors import ApiError, RefusedBotError
from askalike_chat.sockets import open_socket

RECEIVE_S = 60.0
OF_PEOPLE = ("", "file_share", "me_message")
"""Subtypes of people's messages that may begin a thread."""
FATAL = ("invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type")
FATAL_AT_FIRST = (*FATAL, "missing_scope", "no_permission")
"""The errors after which no connection can be made."""
EMOJI_BY_NAME: Mapping[str, Emoji] = {"+1": "up", "thumbsup": "up", "-1": "down", "thumbsdown": "down"}
MAX_THREAD = 200
SILENT = {"parse": "none", "link_names": "false"}
"""The text is shown as it stands: names and addresses in it become no mentions and no links."""
REFERENCE = re.compile(r"<(?P<kind>[@#!]?)(?P<target>[^<>|]*)(?:\|(?P<label>[^<>]*))?>")
Timestamp = Annotated[str, Field(pattern=r"^\d{1,12}(\.\d+)?$")]
"""A message's id in its channel: when it was sent, in seconds since 1970."""


class Reaction(Model):
    """A reaction to a message."""

    name: str


class Message(Model):
    """A message, as events and methods have it."""

    ts: Timestamp
    thread_ts: str | None = None
    subtype: str | None = None
    text: str | None = None
    user: str | None = None
    bot_id: str | None = None
    reactions: Sequence[Reaction] = ()

    @property
    def first(self) -> str:
        """The id of the first message of its thread."""
        return self.thread_ts or self.ts


class MessageEvent(Model):
    """An event about a message: what happened is its subtype."""

    channel: str
    channel_type: str | None = None
    subtype: str = ""


class Change(Model):
    """A message was changed."""

    message: Message
    previous_message: Message | None = None


class Item(Model):
    """What somebody reacted to."""

    type: str
    channel: str = ""
    ts: str = ""


class ReactionEvent(Model):
    """Somebody reacted."""

    user: str
    reaction: str
    item: Item


class Channel(Model):
    """A channel."""

    name: str = ""
    is_channel: bool = False
    is_private: bool = False


class SlackChat(Chat):
    """The public channels of a workspace that the app's bot is in; what is not in a thread may begin one."""

    name = "slack"
    credentials = ("SLACK_APP_TOKEN", "SLACK_BOT_TOKEN")
    default_address = "https://slack.com/api"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._app, self._bot = (
            JsonApi(self._session, self._address, {"Authorization": f"Bearer {self._credentials[name]}"})
            for name in self.credentials
        )
        self._own_id = ""
        self._workspace = "https://slack.com"
        self._channel_of = Lookups(self._ask_channel)

    async def receive(self) -> AsyncGenerator[Payload, None]:
        own = await _call(self._bot, "auth.test", FATAL_AT_FIRST)
        self._own_id = read(str, own, "user_id")
        self._workspace = read(str, own, "url")
        opened = await _call(self._app, "apps.connections.open", FATAL_AT_FIRST)
        async with open_socket(self._session, read(str, opened, "url")) as socket:
            while True:
                envelope = await socket.receive(RECEIVE_S)
                if id := envelope.get("envelope_id"):  # Slack sends it again if it is not acknowledged within 3 s
                    await socket.send({"envelope_id": id})
                if envelope.get("type") == "disconnect":
                    if envelope.get("reason") == "link_disabled":
                        raise RefusedBotError("Slack: Socket Mode is switched off; switch it on in the app's settings")
                    return
                if envelope.get("type") == "events_api":
                    yield envelope

    async def interpret(self, payload: Payload) -> AsyncGenerator[ChatEvent, None]:
        event = read(dict[str, Any], payload, "payload", "event")
        kind = event.get("type")
        if kind == "reaction_added":
            given = read(ReactionEvent, event)
            emoji = _emoji(given.reaction)
            if given.item.type == "message" and given.user != self._own_id and emoji:
                yield Reacted(given.item.channel, given.item.ts, emoji, given.user)
        elif kind == "message":
            about = read(MessageEvent, event)
            if about.channel_type != "channel":
                return
            if about.subtype == "message_deleted":
                yield Removed(about.channel, read(str, event, "deleted_ts"))
            elif about.subtype == "message_changed":
                async for change in self._interpret_change(about.channel, read(Change, event)):
                    yield change
            elif about.subtype in OF_PEOPLE and "thread_ts" not in event and await self._is_public(about.channel):
                yield Started(self._to_message(about.channel, read(Message, event)))

    async def _interpret_change(self, channel: str, change: Change) -> AsyncGenerator[ChatEvent, None]:
        row, before = change.message, change.previous_message
        if row.subtype == "tombstone":  # what is left of a deleted message with replies
            yield Removed(channel, row.ts)
            return
        is_new_text = before is None or row.text != before.text
        if row.first == row.ts and is_new_text and await self._is_public(channel):
            yield Edited(self._to_message(channel, row))

    async def reply(self, to: ChatMessage, text: str) -> str:
        fields = {"channel": to.channel, "thread_ts": to.id, "text": text, "unfurl_links": "false", **SILENT}
        return read(str, await self._call("chat.postMessage", **fields), "ts")

    async def edit(self, channel: str, id: str, text: str) -> None:
        await self._call("chat.update", channel=channel, ts=id, text=text, **SILENT)

    async def delete(self, channel: str, id: str) -> None:
        await self._call("chat.delete", channel=channel, ts=id)

    async def read_thread(self, channel: str, id: str) -> Sequence[ChatMessage]:
        if not await self._is_public(channel):
            return []
        rows = await self._read_replies(channel, id)
        if rows and rows[0].first != rows[0].ts:
            rows = await self._read_replies(channel, rows[0].first)
        return [self._to_message(channel, row) for row in rows]

    async def _read_replies(self, channel: str, ts: str) -> Sequence[Message]:
        answer = await self._call("conversations.replies", channel=channel, ts=ts, limit=MAX_THREAD)
        return read(list[Message], answer, "messages")

    async def link(self, message: ChatMessage) -> str:
        channel, _, first = message.thread.partition("/")
        return f"{self._workspace.rstrip('/')}/archives/{channel}/p{first.replace('.', '')}"

    def escape(self, text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def format_link(self, title: str, url: str) -> str:
        return f"<{url}|{title}>"

    async def _ask_channel(self, id: str) -> Channel:
        return read(Channel, await self._call("conversations.info", channel=id), "channel")

    async def _is_public(self, id: str) -> bool:
        """Return whether a channel is a public one to look at."""
        channel = await self._channel_of.get(id)
        return channel.is_channel and not channel.is_private and self._is_wanted(id, channel.name)

    def _to_message(self, channel: str, row: Message) -> ChatMessage:
        author = row.user or row.bot_id or ""
        is_bot = bool(row.bot_id) or row.subtype == "bot_message" or author in ("USLACKBOT", self._own_id)
        is_solution = any(_emoji(reaction.name) == "solved" for reaction in row.reactions)
        thread = f"{channel}/{row.first}"
        text = plain_text(row.text or "")
        return ChatMessage(channel, row.ts, thread, text, author, float(row.ts), is_bot, is_solution)

    async def _call(self, method: str, **fields: Any) -> Mapping[str, Any]:
        return await _call(self._bot, method, FATAL, fields)


async def _call(api: JsonApi, method: str, fatal: Collection[str], fields: Mapping[str, Any] = {}) -> Mapping[str, Any]:
    """Return the answer of a method. Raises ApiError, for a fatal error RefusedBotError."""
    answer = await api.send_form("POST", method, fields)
    if isinstance(answer, dict) and answer.get("ok"):
        return answer
    code = str(answer.get("error") or "no answer") if isinstance(answer, dict) else "no answer"
    raise (RefusedBotError if code in fatal else ApiError)(f"Slack: {method}: {code}", code)


def plain_text(text: str) -> str:
    """Return a message without Slack's markup for people, channels and links."""
    return html.unescape(REFERENCE.sub(_resolve, text)).strip()


def _resolve(match: re.Match[str]) -> str:
    kind, target, label = match["kind"], match["target"], match["label"]
    if kind == "@":
        return f"@{label or 'someone'}"
    if kind:
        return label if label and kind == "!" else f"{'#' if kind == '#' else '@'}{label or target.split('^')[0]}"
    return f"{label} ({target})" if label and label not in target else target


def _emoji(name: str) -> Emoji | None:
    plain = name.partition("::")[0]  # without the colour of the skin
    return "solved" if plain in SOLVED_EMOJIS else EMOJI_BY_NAME.get(plain)
