"""Zulip (zulip.com/api, feature level 400): an event queue, asked by HTTP requests that wait for the next event."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
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
    Removed,
    Started,
)
from askalike.integrations.bots.web import ApiClient
from askalike.readers import SOLVED_EMOJIS, Message
from askalike.readers.zulip import ZulipDirectory, is_solution, message_link, plain_text

EVENT_TYPES = ("message", "update_message", "delete_message", "reaction")
POLL_MARGIN_S = 30.0
MAX_THREAD = 100
MAX_TOPICS = 10_000
"""The number of topics whose first message is remembered."""
TAKEN_BACK = "This answer was taken back."
EMOJI_BY_CODE: Mapping[str, Emoji] = {"1f44d": "up", "1f44e": "down"}


class ZulipChat(Chat):
    """The public channels that a bot of a Zulip organization is subscribed to; a topic is a thread."""

    name = "zulip"
    credentials = ("ZULIP_EMAIL", "ZULIP_API_KEY")
    default_address = None

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        login = b64encode(":".join(self._credentials[name] for name in self.credentials).encode()).decode()
        self._api = ApiClient(f"{self._address}/api/v1", {"Authorization": f"Basic {login}"}, self._stop)
        self._people = ZulipDirectory()
        self._own_id = 0
        self._queue: tuple[str, int] | None = None
        """The id of the event queue and of the last event taken from it."""
        self._wait_s = 0.0
        self._topics: dict[tuple[str, str], str] = {}
        """Channel and topic → the id of the topic's first message, for topics that were looked up."""
        self._channel_of = Lookups(lambda id: self._api.get(f"streams/{id}")["stream"])

    def receive(self) -> Iterator[Payload]:
        if self._queue is None:
            self._register()
        while not self._stop.is_set() and self._queue:
            queue, last = self._queue
            try:
                answer = self._api.get("events", {"queue_id": queue, "last_event_id": last}, self._wait_s)
            except ChatError as error:
                if error.code == "BAD_EVENT_QUEUE_ID":  # it was away for over ten minutes
                    self._queue = None
                raise
            for event in answer["events"]:
                last = max(last, int(event["id"]))
                self._queue = queue, last
                if event.get("type") != "heartbeat":
                    yield event

    def _register(self) -> None:
        self._own_id = self._api.get("users/me")["user_id"]
        self._people.learn_users(self._api.get("users")["members"])
        wanted = {"event_types": json.dumps(EVENT_TYPES), "apply_markdown": "false"}
        queue = self._api.send_form("POST", "register", wanted)
        self._wait_s = float(queue.get("event_queue_longpoll_timeout_seconds", 90)) + POLL_MARGIN_S
        self._queue = str(queue["queue_id"]), int(queue["last_event_id"])

    def interpret(self, payload: Payload) -> Iterator[ChatEvent]:
        match payload["type"]:
            case "message":
                row = payload["message"]
                if self._is_public(row) and self._find_first(row) == str(row["id"]):
                    yield Started(self._to_message(row, str(row["id"])))
            case "update_message" if "orig_subject" in payload:
                self._topics.clear()  # messages have moved to another topic
            case "update_message" if "content" in payload and payload["content"] != payload.get("orig_content"):
                row = self._api.get(f"messages/{int(payload['message_id'])}", {"apply_markdown": "false"})["message"]
                if self._is_public(row):
                    yield Edited(self._to_message(row, self._find_first(row)))
            case "delete_message":
                ids = payload.get("message_ids") or [payload["message_id"]]
                yield from (Removed("", str(id)) for id in ids)
            case "reaction" if payload["op"] == "add" and not self._is_bot_id(payload["user_id"]):
                if emoji := _emoji(payload):
                    yield Reacted("", str(payload["message_id"]), emoji, str(payload["user_id"]))

    def reply(self, to: ChatMessage, text: str) -> str:
        row = self._api.get(f"messages/{to.id}")["message"]  # the topic may have been renamed
        fields = {"type": "stream", "to": row["stream_id"], "topic": row["subject"], "content": text}
        return str(self._api.send_form("POST", "messages", fields)["id"])

    def edit(self, channel: str, id: str, text: str) -> None:
        self._api.send_form("PATCH", f"messages/{id}", {"content": text})

    def delete(self, channel: str, id: str) -> None:
        try:
            self._api.send_form("DELETE", f"messages/{id}", {})
        except ChatError:  # organizations may forbid it
            self.edit(channel, id, TAKEN_BACK)

    def read_thread(self, channel: str, id: str) -> Sequence[ChatMessage]:
        row = self._api.get(f"messages/{id}", {"apply_markdown": "false"})["message"]
        if not self._is_public(row):
            return []
        rows = self._read_topic(row, MAX_THREAD)
        return [self._to_message(each, str(rows[0]["id"])) for each in rows]

    def link(self, message: ChatMessage) -> str:
        channel, _, first = message.thread.partition("/")
        return message_link(self._address, channel, self._channel_of[channel]["name"], first)

    def _is_public(self, row: Mapping[str, Any]) -> bool:
        """Return whether a message is in a public channel to look at."""
        if row.get("type") not in ("stream", "channel"):
            return False
        channel = self._channel_of[str(row["stream_id"])]
        return not channel["invite_only"] and self._is_wanted(str(row["stream_id"]), channel["name"])

    def _find_first(self, row: Mapping[str, Any]) -> str:
        """Return the id of the first message of a message's topic."""
        topic = str(row["stream_id"]), row["subject"].casefold()
        if topic not in self._topics:
            if len(self._topics) >= MAX_TOPICS:
                self._topics.clear()
            self._topics[topic] = str(self._read_topic(row, 1)[0]["id"])
        return self._topics[topic]

    def _read_topic(self, row: Mapping[str, Any], n: int) -> list[Mapping[str, Any]]:
        """Return the n oldest messages of a message's topic."""
        narrow = [{"operator": "stream", "operand": row["stream_id"]}, {"operator": "topic", "operand": row["subject"]}]
        query = {"anchor": "oldest", "num_before": 0, "num_after": n, "apply_markdown": "false"}
        found = self._api.get("messages", {**query, "narrow": json.dumps(narrow)})["messages"]
        return sorted(found, key=lambda each: int(each["id"])) or [row]

    def _to_message(self, row: Mapping[str, Any], first: str) -> ChatMessage:
        is_bot = self._is_bot_id(row["sender_id"]) or self._people.is_bot(row)
        content = Message(plain_text(row), str(row["sender_id"]), float(row["timestamp"]), is_bot, is_solution(row))
        return ChatMessage("", str(row["id"]), f"{row['stream_id']}/{first}", content)

    def _is_bot_id(self, id: Any) -> bool:
        return id == self._own_id or self._people.is_bot({"sender_id": id})


def _emoji(reaction: Payload) -> Emoji | None:
    if reaction["emoji_name"] in SOLVED_EMOJIS:
        return "solved"
    return EMOJI_BY_CODE.get(reaction["emoji_code"]) if reaction.get("reaction_type") == "unicode_emoji" else None
