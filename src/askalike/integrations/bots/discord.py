"""Discord (discord.com/developers, API version 10): events by its gateway, a websocket, the rest by its REST API."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from askalike.integrations.bots.chat import (
    Chat,
    ChatError,
    ChatEvent,
    ChatMessage,
    Edited,
    Emoji,
    Lookups,
    Payload,
    Reacted,
    RefusedBotError,
    Removed,
    Started,
)
from askalike.integrations.bots.web import ApiClient
from askalike.integrations.bots.websocket import TOO_BIG, JsonSocket, open_socket
from askalike.readers import Message

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
MIN_HEARTBEAT_S, MAX_HEARTBEAT_S = 0.1, 3_600.0
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
Row = Mapping[str, Any]


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
        self._api = ApiClient(self._address, headers, self._stop)
        self._own_id = ""
        self._session: tuple[str, str] | None = None
        """The id of the session, and the address where it is resumed."""
        self._sequence: int | None = None
        self._channel_of = Lookups(lambda id: self._api.get(f"channels/{id}"))

    def receive(self) -> Iterator[Payload]:
        address = self._session[1] if self._session else self._api.get("gateway/bot")["url"]
        try:
            with open_socket(f"{address}/?v=10&encoding=json", LEAVE_CODE) as socket:
                yield from self._converse(socket)
        except ChatError as error:
            if error.code in FATAL_CODES:
                raise RefusedBotError(f"Discord: {FATAL_CODES[error.code]}") from None
            if error.code in NEW_SESSION_CODES:
                self._session = self._sequence = None
            raise

    def _converse(self, socket: JsonSocket) -> Iterator[Payload]:
        hello = socket.receive(HELLO_S) or {}
        if hello.get("op") != HELLO:
            raise ChatError("Discord: the gateway did not say hello")
        every_s = _heartbeat_s(hello["d"]["heartbeat_interval"])
        socket.send(self._identification())
        next_beat, is_answered = time.monotonic() + every_s * random.random(), True
        while not self._stop.is_set():
            if time.monotonic() >= next_beat:
                if not is_answered:
                    raise ChatError("Discord: the gateway no longer answers")
                socket.send({"op": HEARTBEAT, "d": self._sequence})
                next_beat, is_answered = time.monotonic() + every_s, False
            event = socket.receive(min(next_beat - time.monotonic(), 0.5)) or {}
            op = event.get("op")
            if op == DISPATCH:
                yield from self._take_dispatch(event)
            elif op == HEARTBEAT:
                next_beat, is_answered = time.monotonic(), True
            elif op == HEARTBEAT_ACK:
                is_answered = True
            elif op in (RECONNECT, INVALID_SESSION):
                if op == INVALID_SESSION and not event.get("d"):
                    self._session = self._sequence = None
                return

    def _identification(self) -> Row:
        token = self._credentials["DISCORD_TOKEN"]
        if self._session:
            resumed = {"token": token, "session_id": self._session[0], "seq": self._sequence}
            return {"op": RESUME, "d": resumed}
        properties = {"os": "linux", "browser": "askalike", "device": "askalike"}
        return {"op": IDENTIFY, "d": {"token": token, "intents": INTENTS, "properties": properties}}

    def _take_dispatch(self, event: Row) -> Iterator[Payload]:
        """Yield a dispatched event; the first one tells who the bot is, and how to resume."""
        self._sequence = event.get("s") or self._sequence
        if event.get("t") == "READY":
            self._session = event["d"]["session_id"], event["d"]["resume_gateway_url"]
            self._own_id = event["d"]["user"]["id"]
        else:
            yield event

    def interpret(self, payload: Payload) -> Iterator[ChatEvent]:
        row = payload["d"]
        match payload.get("t"):
            case "MESSAGE_CREATE" if self._may_start(row):
                yield Started(self._to_message(row))
            case "MESSAGE_UPDATE" if row.get("edited_timestamp") and self._may_start(row):
                yield Edited(self._to_message(row))
            case "MESSAGE_DELETE":
                yield Removed(row["channel_id"], row["id"])
            case "MESSAGE_DELETE_BULK":
                yield from (Removed(row["channel_id"], id) for id in row["ids"])
            case "MESSAGE_REACTION_ADD" if row.get("guild_id") and not self._is_bot(row):
                if emoji := _emoji(row["emoji"].get("name")):
                    yield Reacted(row["channel_id"], row["message_id"], emoji, row["user_id"])

    def reply(self, to: ChatMessage, text: str) -> str:
        body = {
            "content": text[:MAX_TEXT_LENGTH], "flags": SUPPRESS_EMBEDS, "allowed_mentions": {"parse": []},
            "message_reference": {"message_id": to.id, "fail_if_not_exists": False},
            "nonce": to.id, "enforce_nonce": True,
        }  # fmt: skip
        return str(self._api.send_json("POST", f"channels/{to.channel}/messages", body)["id"])

    def edit(self, channel: str, id: str, text: str) -> None:
        body = {"content": text[:MAX_TEXT_LENGTH], "allowed_mentions": {"parse": []}}
        self._api.send_json("PATCH", f"channels/{channel}/messages/{id}", body)

    def delete(self, channel: str, id: str) -> None:
        self._api.send_json("DELETE", f"channels/{channel}/messages/{id}", None)

    def read_thread(self, channel: str, id: str) -> Sequence[ChatMessage]:
        """Of a forum's post or a thread all messages; of a channel's message the one that it replies to, and itself."""
        place = self._channel_of[channel]
        if not self._is_public(place):
            return []
        if place["type"] in PUBLIC_THREADS:
            rows = self._api.get(f"channels/{channel}/messages", {"after": 0, "limit": MAX_THREAD})
            if not any(row["id"] == channel for row in rows):  # the message of a channel from which it was begun
                rows = [*rows, self._api.get(f"channels/{place['parent_id']}/messages/{channel}")]
            kept = [row for row in rows if row["type"] in (PERSONS_MESSAGE, REPLY)]
            return [self._to_message(row) for row in sorted(kept, key=lambda row: int(row["id"]))]
        row = self._api.get(f"channels/{channel}/messages/{id}")
        first = (row.get("message_reference") or {}).get("message_id")
        if not first:
            return [self._to_message(row)]
        rows = [self._api.get(f"channels/{channel}/messages/{first}"), row]
        return [self._to_message(each) for each in rows]

    def link(self, message: ChatMessage) -> str:
        server = self._channel_of[message.channel].get("guild_id", "@me")
        return f"https://discord.com/channels/{server}/{message.channel}/{message.thread.rpartition('/')[2]}"

    def _may_start(self, row: Row) -> bool:
        """Return whether a message begins a thread in a public channel to look at."""
        if row.get("type") != PERSONS_MESSAGE or not row.get("guild_id") or row.get("message_reference"):
            return False
        if self._is_bot(row):
            return False
        channel = self._channel_of[row["channel_id"]]
        is_first = channel["type"] not in PUBLIC_THREADS or row["id"] == channel["id"]
        return is_first and self._is_public(channel)

    def _is_public(self, channel: Row) -> bool:
        """Return whether everybody on the server may read a channel or thread, and it is one to look at."""
        is_thread = channel["type"] in PUBLIC_THREADS
        place = self._channel_of[channel["parent_id"]] if is_thread else channel
        hidden = any(
            each["id"] == place.get("guild_id") and int(each["deny"]) & VIEW_CHANNEL
            for each in place.get("permission_overwrites") or ()
        )
        is_readable = is_thread or channel["type"] in TEXT_CHANNELS
        return is_readable and not hidden and self._is_wanted(place["id"], place.get("name", ""))

    def _to_message(self, row: Row) -> ChatMessage:
        channel = self._channel_of[row["channel_id"]]
        is_thread = channel["type"] in PUBLIC_THREADS
        thread = f"{channel['parent_id']}/{channel['id']}" if is_thread else f"{channel['id']}/{row['id']}"
        is_solution = any(_emoji(each["emoji"].get("name")) == "solved" for each in row.get("reactions") or ())
        at = datetime.fromisoformat(row["timestamp"]).timestamp()
        content = Message(row["content"], row["author"]["id"], at, self._is_bot(row), is_solution)
        title = channel.get("name", "") if is_thread and row["id"] == channel["id"] else ""
        return ChatMessage(row["channel_id"], row["id"], thread, content, title)

    def _is_bot(self, row: Row) -> bool:
        """Return whether a bot wrote a message or reacted."""
        person = row.get("author") or (row.get("member") or {}).get("user") or {"id": row.get("user_id")}
        return bool(person.get("bot") or row.get("webhook_id")) or person.get("id") == self._own_id


def _heartbeat_s(interval_ms: Any) -> float:
    """Return the seconds between two heartbeats. Raises ChatError for what is no such time."""
    if not isinstance(interval_ms, int | float) or not MIN_HEARTBEAT_S <= interval_ms / 1000 <= MAX_HEARTBEAT_S:
        raise ChatError(f"Discord: the gateway asks for a heartbeat every {interval_ms!r} ms")
    return interval_ms / 1000


def _emoji(text: Any) -> Emoji | None:
    return EMOJI_BY_TEXT.get(text.rstrip(SKIN_TONES)) if isinstance(text, str) else None
