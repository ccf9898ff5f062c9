"""Slack in Socket Mode (api.slack.com/apis/socket-mode, 2026): events by a websocket, the rest by its Web API."""

from collections.abc import Collection, Iterator, Mapping, Sequence
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
from askalike.integrations.bots.websocket import open_socket
from askalike.readers import SOLVED_EMOJIS, Message
from askalike.readers.slack import SlackUsers, is_solution, message_link

RECEIVE_S = 0.5
OF_PEOPLE = ("", "file_share", "me_message")
"""Subtypes of people's messages that may begin a thread."""
FATAL = ("invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type")
FATAL_AT_FIRST = (*FATAL, "missing_scope", "no_permission")
"""The errors after which no connection can be made."""
EMOJI_BY_NAME: Mapping[str, Emoji] = {"+1": "up", "thumbsup": "up", "-1": "down", "thumbsdown": "down"}
MAX_THREAD = 200
PARSE = "none"
"""Names and addresses in a text are not made links. Without it the two methods that write have different defaults."""


class SlackChat(Chat):
    """The public channels of a workspace that the app's bot is in; what is not in a thread may begin one."""

    name = "slack"
    credentials = ("SLACK_APP_TOKEN", "SLACK_BOT_TOKEN")
    default_address = "https://slack.com/api"

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        app, bot = (
            ApiClient(self._address, {"Authorization": f"Bearer {self._credentials[name]}"}, self._stop)
            for name in self.credentials
        )
        self._app, self._bot = app, bot
        self._people = SlackUsers([])
        self._own_id, self._workspace = "", "https://slack.com"
        self._channel_of = Lookups(lambda id: self._call("conversations.info", channel=id)["channel"])

    def receive(self) -> Iterator[Payload]:
        own = _call(self._bot, "auth.test", FATAL_AT_FIRST)
        self._own_id, self._workspace = own["user_id"], own["url"]
        address = _call(self._app, "apps.connections.open", FATAL_AT_FIRST)["url"]
        with open_socket(address) as socket:
            while not self._stop.is_set():
                envelope = socket.receive(RECEIVE_S) or {}
                if id := envelope.get("envelope_id"):  # Slack sends it again if it is not acknowledged within 3 s
                    socket.send({"envelope_id": id})
                if envelope.get("type") == "disconnect":
                    if envelope.get("reason") == "link_disabled":
                        raise RefusedBotError("Slack: Socket Mode is switched off; switch it on in the app's settings")
                    return
                if envelope.get("type") == "events_api":
                    yield envelope["payload"]["event"]

    def interpret(self, payload: Payload) -> Iterator[ChatEvent]:
        kind, subtype = payload["type"], payload.get("subtype", "")
        if kind == "reaction_added" and payload["item"]["type"] == "message" and payload["user"] != self._own_id:
            if emoji := _emoji(payload["reaction"]):
                yield Reacted(payload["item"]["channel"], payload["item"]["ts"], emoji, payload["user"])
        elif kind != "message" or payload.get("channel_type") != "channel":
            return
        elif subtype == "message_deleted":
            yield Removed(payload["channel"], payload["deleted_ts"])
        elif subtype == "message_changed":
            yield from self._interpret_change(payload["channel"], payload["message"], payload.get("previous_message"))
        elif subtype in OF_PEOPLE and "thread_ts" not in payload and self._is_public(payload["channel"]):
            yield Started(self._to_message(payload["channel"], payload))

    def _interpret_change(self, channel: str, row: Mapping[str, Any], before: Any) -> Iterator[ChatEvent]:
        if row.get("subtype") == "tombstone":  # what is left of a deleted message with replies
            yield Removed(channel, row["ts"])
            return
        is_first = row.get("thread_ts", row["ts"]) == row["ts"]
        if is_first and row.get("text") != (before or {}).get("text") and self._is_public(channel):
            yield Edited(self._to_message(channel, row))

    def reply(self, to: ChatMessage, text: str) -> str:
        fields = {"channel": to.channel, "thread_ts": to.id, "unfurl_links": "false"}
        return str(self._call("chat.postMessage", text=text, parse=PARSE, **fields)["ts"])

    def edit(self, channel: str, id: str, text: str) -> None:
        self._call("chat.update", channel=channel, ts=id, text=text, parse=PARSE)

    def delete(self, channel: str, id: str) -> None:
        self._call("chat.delete", channel=channel, ts=id)

    def read_thread(self, channel: str, id: str) -> Sequence[ChatMessage]:
        if not self._is_public(channel):
            return []
        rows = self._call("conversations.replies", channel=channel, ts=id, limit=MAX_THREAD)["messages"]
        if rows and (first := rows[0].get("thread_ts", rows[0]["ts"])) != rows[0]["ts"]:
            rows = self._call("conversations.replies", channel=channel, ts=first, limit=MAX_THREAD)["messages"]
        return [self._to_message(channel, row) for row in rows]

    def link(self, message: ChatMessage) -> str:
        channel, _, first = message.thread.partition("/")
        return message_link(self._workspace, channel, first)

    def escape(self, text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    def format_link(self, title: str, url: str) -> str:
        return f"<{url}|{title}>"

    def _is_public(self, id: str) -> bool:
        """Return whether a channel is a public one to look at."""
        channel = self._channel_of[id]
        return (
            bool(channel.get("is_channel")) and not channel.get("is_private") and self._is_wanted(id, channel["name"])
        )

    def _to_message(self, channel: str, row: Mapping[str, Any]) -> ChatMessage:
        author = row.get("user") or row.get("bot_id") or ""
        is_bot = self._people.is_bot(row) or author == self._own_id
        content = Message(
            self._people.plain_text(row.get("text")), author, float(row["ts"]), is_bot, is_solution(row)
        )  # fmt: skip
        return ChatMessage(channel, row["ts"], f"{channel}/{row.get('thread_ts', row['ts'])}", content)

    def _call(self, method: str, **fields: Any) -> Mapping[str, Any]:
        return _call(self._bot, method, FATAL, fields)


def _call(api: ApiClient, method: str, fatal: Collection[str], fields: Mapping[str, Any] = {}) -> Mapping[str, Any]:
    """Return the answer of a method. Raises ChatError, for a fatal error RefusedBotError."""
    answer = api.send_form("POST", method, fields)
    if isinstance(answer, dict) and answer.get("ok"):
        return answer
    code = str(answer.get("error") or "no answer") if isinstance(answer, dict) else "no answer"
    raise (RefusedBotError if code in fatal else ChatError)(f"Slack: {method}: {code}", code)


def _emoji(name: str) -> Emoji | None:
    plain = name.partition("::")[0]  # without the colour of the skin
    return "solved" if plain in SOLVED_EMOJIS else EMOJI_BY_NAME.get(plain)
