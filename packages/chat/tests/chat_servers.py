"""Small servers that speak the protocols of Zulip, Slack and Discord on 127.0.0.1, and misbehave when asked to."""

import json
import re
import time
from collections import deque
from collections.abc import Mapping
from itertools import count
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from http_servers import LocalServer, QuietHandler

Fields = Mapping[str, Any]
Answer = tuple[int, Any]
BOT, ASKER, HELPER, OTHER_BOT = 1, 2, 3, 4
"""The people of each server; the products write them in their own ways."""


class ChatServer:
    """A chat with one public and one private channel. Messages are dictionaries, as the product sends them."""

    token = "secret-token"
    id_key, text_key = "id", "content"
    credentials: ClassVar[Mapping[str, str]]

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.faults: deque[Answer] = deque()
        """What the next requests that write get as their answer, with `Retry-After: 0.05`."""
        self.written: list[Fields] = []
        """The fields of the requests that have written something."""
        self.is_locked_out = False
        self.connections = 0
        self._ids = count(101)
        server = self

        class Handler(QuietHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(size).decode()
                parts = urlsplit(self.path)
                is_json = "json" in self.headers.get("Content-Type", "")
                fields = dict(parse_qsl(parts.query)) | (json.loads(raw) or {} if is_json else dict(parse_qsl(raw)))
                status, answer = server.take(self.command, parts.path, fields, self.headers.get("Authorization", ""))
                body = json.dumps(answer).encode() if answer is not None else b""
                self.reply(body, status, retry_after="0.05", content_type="application/json")

            do_GET = do_POST = do_PATCH = do_DELETE = handle_any

        self._http = LocalServer(Handler)
        self.address = self._http.address

    def __enter__(self) -> "ChatServer":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.server_close()

    def take(self, method: str, path: str, fields: Fields, authorization: str) -> Answer:
        """Return the answer to a request."""
        self.requests.append(f"{method} {path}")
        if self.is_locked_out or self.token not in self.decode(authorization):
            return self.refuse()
        if self.is_write(method, path) and self.faults:
            return self.faults.popleft()
        if self.is_write(method, path):
            self.written.append(fields)
        return self.answer(method, path, fields)

    def decode(self, authorization: str) -> str:
        return authorization

    def texts(self) -> list[str]:
        """What the bot has written, as it stands."""
        return [str(message[self.text_key]) for message in self.messages if self.is_ours(message)]

    def id_of(self, message: Fields) -> str:
        return str(message[self.id_key])

    def find(self, id: Any) -> dict[str, Any]:
        return next(message for message in self.messages if self.id_of(message) == str(id))

    # what each product does in its own way
    def refuse(self) -> Answer: ...
    def is_write(self, method: str, path: str) -> bool: ...
    def answer(self, method: str, path: str, fields: Fields) -> Answer: ...
    def emit(self, event: Any) -> None: ...
    def disconnect(self) -> None: ...
    def ask(self, text: str, person: int = ASKER, **fields: Any) -> str: ...
    def reply(self, first: str, text: str, person: int = HELPER) -> str: ...
    def edit(self, id: str, text: str) -> None: ...
    def delete(self, id: str) -> None: ...
    def react(self, id: str, emoji: str, person: int = ASKER) -> None: ...
    def is_ours(self, message: Fields) -> bool: ...
    def is_reply(self, message: Fields, first: str) -> bool: ...


class ZulipServer(ChatServer):
    """One event queue; its events are kept until their ids are named as the last ones taken."""

    credentials: ClassVar = {"ZULIP_EMAIL": "dup-bot@example.org", "ZULIP_API_KEY": ChatServer.token}
    EMOJIS: ClassVar = {"👍": ("+1", "1f44d"), "👎": ("-1", "1f44e"), "✅": ("check", "2705"), "🎉": ("tada", "1f389")}

    def __init__(self) -> None:
        super().__init__()
        self.events: list[dict[str, Any]] = []
        self.queue = "q0"
        self._event_ids = count()
        self._news = Event()
        self._topics = count(1)

    def decode(self, authorization: str) -> str:
        from base64 import b64decode

        return b64decode(authorization.removeprefix("Basic ")).decode()

    def refuse(self) -> Answer:
        return 401, {"result": "error", "code": "INVALID_API_KEY", "msg": "Invalid API key"}

    def is_write(self, method: str, path: str) -> bool:
        return method != "GET" and path.startswith("/api/v1/messages")

    def answer(self, method: str, path: str, fields: Fields) -> Answer:
        path = path.removeprefix("/api/v1/")
        id = path.rpartition("/")[2]
        if path == "events":
            return self._next_events(fields)
        if path == "register":
            self.connections += 1
            self.queue = f"q{self.connections}"
            self.events.clear()
            return 200, {"queue_id": self.queue, "last_event_id": -1, "event_queue_longpoll_timeout_seconds": 5}
        if path == "users/me":
            return 200, {"user_id": BOT}
        if path == "users":
            return 200, {"members": [{"user_id": OTHER_BOT, "is_bot": True}, {"user_id": ASKER, "is_bot": False}]}
        if path.startswith("streams/"):
            return 200, {"stream": {"stream_id": int(id), "name": "help", "invite_only": id == "8"}}
        if path == "messages" and method == "POST":
            return 200, {"id": self._add(BOT, fields["content"], fields["topic"], int(fields["to"]))["id"]}
        if path == "messages":
            [channel, topic] = [each["operand"] for each in json.loads(fields["narrow"])]
            found = [m for m in self.messages if (m["stream_id"], m["subject"]) == (channel, topic)]
            return 200, {"messages": found[: int(fields["num_after"]) + 1]}
        if method == "PATCH":
            self.find(id)["content"] = fields["content"]
        elif method == "DELETE":
            self.messages.remove(self.find(id))
        return 200, {"result": "success", "message": None if method == "DELETE" else self.find(id)}

    def _next_events(self, fields: Fields) -> Answer:
        if fields["queue_id"] != self.queue:
            return 400, {"result": "error", "code": "BAD_EVENT_QUEUE_ID", "msg": "Bad event queue ID"}
        last = int(fields["last_event_id"])
        self._news.wait(1.0)
        self._news.clear()
        self.events = [event for event in self.events if event["id"] > last]
        return 200, {"events": self.events or [{"id": last, "type": "heartbeat"}]}

    def emit(self, event: Any) -> None:
        self.events.append({"id": next(self._event_ids), **event})
        self._news.set()

    def disconnect(self) -> None:
        self.queue = "gone"
        self._news.set()

    def _add(self, person: int, text: str, topic: str, channel: int) -> dict[str, Any]:
        message = {
            "id": next(self._ids), "type": "stream", "stream_id": channel, "display_recipient": "help",
            "subject": topic, "content": text, "content_type": "text/x-markdown", "sender_id": person,
            "sender_email": f"user{person}@example.org", "timestamp": int(time.time()), "reactions": [],
        }  # fmt: skip
        self.messages.append(message)
        self.emit({"type": "message", "message": message, "flags": []})
        return message

    def ask(self, text: str, person: int = ASKER, **fields: Any) -> str:
        channel = 8 if fields.get("private") else 7
        return str(self._add(person, text, f"topic {next(self._topics)}", channel)["id"])

    def reply(self, first: str, text: str, person: int = HELPER) -> str:
        begun = self.find(first)
        return str(self._add(person, text, begun["subject"], begun["stream_id"])["id"])

    def edit(self, id: str, text: str) -> None:
        message = self.find(id)
        event = {"type": "update_message", "message_id": int(id), "content": text, "orig_content": message["content"]}
        message["content"] = text
        self.emit(event)

    def delete(self, id: str) -> None:
        self.messages.remove(self.find(id))
        self.emit({"type": "delete_message", "message_ids": [int(id)]})

    def react(self, id: str, emoji: str, person: int = ASKER) -> None:
        name, code = self.EMOJIS[emoji]
        given = {"emoji_name": name, "emoji_code": code, "reaction_type": "unicode_emoji", "user_id": person}
        self.find(id)["reactions"].append(given)
        self.emit({"type": "reaction", "op": "add", "message_id": int(id), **given})

    def is_ours(self, message: Fields) -> bool:
        return bool(message["sender_id"] == BOT)

    def is_reply(self, message: Fields, first: str) -> bool:
        return bool(message["subject"] == self.find(first)["subject"])


class SocketServer(ChatServer):
    """A chat whose events come by a websocket."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[dict[str, Any]] = []
        self._outgoing: Queue[Any] = Queue()
        self._sockets = serve(self._serve, "127.0.0.1", 0, compression=None)
        self.socket_address = f"ws://127.0.0.1:{self._sockets.socket.getsockname()[1]}"
        Thread(target=self._sockets.serve_forever, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._outgoing.put("close")
        super().__exit__()
        self._sockets.shutdown()

    def _serve(self, socket: ServerConnection) -> None:
        self.connections += 1
        message: Any = None
        try:
            self.welcome(socket)
            listener = Thread(target=self._listen, args=(socket,), daemon=True)
            listener.start()
            while listener.is_alive():
                try:
                    message = self._outgoing.get(timeout=0.05)
                except Empty:
                    continue
                if message == "close":
                    return socket.close(1012)
                if message == "ping":
                    assert socket.ping().wait(5)
                else:
                    socket.send(message if isinstance(message, str) else json.dumps(message))
                message = None
        except ConnectionClosed:
            if message:
                self._outgoing.put(message)  # for the next connection
        return None

    def _listen(self, socket: ServerConnection) -> None:
        try:
            for message in socket:
                self.received.append(json.loads(message))
                self.hear(socket, self.received[-1])
        except ConnectionClosed:
            pass

    def welcome(self, socket: ServerConnection) -> None: ...

    def hear(self, socket: ServerConnection, message: Fields) -> None: ...

    def send_raw(self, message: Any) -> None:
        """Send something as it is; `ping` is a ping, which must be answered."""
        self._outgoing.put(message)

    def disconnect(self) -> None:
        self._outgoing.put("close")


class SlackServer(SocketServer):
    """Socket Mode, and the methods of the Web API that the bot calls."""

    id_key, text_key = "ts", "text"
    credentials: ClassVar = {
        "SLACK_APP_TOKEN": f"xapp-{ChatServer.token}",
        "SLACK_BOT_TOKEN": f"xoxb-{ChatServer.token}",
    }
    EMOJIS: ClassVar = {"👍": "+1::skin-tone-3", "👎": "thumbsdown", "✅": "white_check_mark", "🎉": "tada"}

    def refuse(self) -> Answer:
        return 200, {"ok": False, "error": "invalid_auth"}

    def is_write(self, method: str, path: str) -> bool:
        return path.startswith("/chat.")

    def answer(self, method: str, path: str, fields: Fields) -> Answer:
        name = path.removeprefix("/")
        if name == "auth.test":
            return 200, {"ok": True, "user_id": f"U{BOT}", "bot_id": "B1", "url": "https://acme.slack.com/"}
        if name == "apps.connections.open":
            return 200, {"ok": True, "url": f"{self.socket_address}/link?ticket=1"}
        if name == "conversations.info":
            is_private = fields["channel"] == "C8"
            return 200, {"ok": True, "channel": {"name": "help", "is_channel": True, "is_private": is_private}}
        if name == "conversations.replies":
            first = self.find(fields["ts"])
            if first["thread_ts" if "thread_ts" in first else "ts"] != first["ts"]:
                return 200, {"ok": True, "messages": [first]}
            return 200, {
                "ok": True,
                "messages": [m for m in self.messages if m.get("thread_ts", m["ts"]) == first["ts"]],
            }
        if name in ("chat.postMessage", "chat.update"):
            assert fields["parse"] == "none"
        if name == "chat.postMessage":
            message = self._add(BOT, fields["text"], fields["thread_ts"], bot_id="B1")
            return 200, {"ok": True, "ts": message["ts"]}
        if name == "chat.update":
            self.find(fields["ts"])["text"] = fields["text"]
        elif name == "chat.delete":
            self.messages.remove(self.find(fields["ts"]))
        return 200, {"ok": True}

    def __init__(self) -> None:
        super().__init__()
        self.unacknowledged: dict[str, Any] = {}

    def welcome(self, socket: ServerConnection) -> None:
        socket.send(json.dumps({"type": "hello", "num_connections": 1}))
        for envelope in list(self.unacknowledged.values()):
            socket.send(json.dumps(envelope))

    def hear(self, socket: ServerConnection, message: Fields) -> None:
        self.unacknowledged.pop(message["envelope_id"], None)

    def emit(self, event: Any) -> None:
        id, payload = f"e{next(self._ids)}", {"type": "event_callback", "event": event}
        self.unacknowledged[id] = {"type": "events_api", "envelope_id": id, "payload": payload}
        self._outgoing.put(self.unacknowledged[id])

    def _add(self, person: int, text: str, thread: str = "", channel: str = "C7", **fields: Any) -> dict[str, Any]:
        ts = f"{time.time():.0f}.{next(self._ids):06}"
        root = {"thread_ts": thread} if thread else {}
        message = {"type": "message", "user": f"U{person}", "text": text, "ts": ts, **root, **fields}
        self.messages.append(message)
        self.emit({**message, "channel": channel, "channel_type": "channel"})
        return message

    def ask(self, text: str, person: int = ASKER, **fields: Any) -> str:
        channel = "C8" if fields.get("private") else "C7"
        return str(self._add(person, text.replace("&", "&amp;"), channel=channel, **self._mark(person))["ts"])

    def reply(self, first: str, text: str, person: int = HELPER) -> str:
        return str(self._add(person, text, first, **self._mark(person))["ts"])

    def _mark(self, person: int) -> Fields:
        return {"bot_id": "B9"} if person in (BOT, OTHER_BOT) else {}

    def _change(self, subtype: str, **fields: Any) -> None:
        self.emit({"type": "message", "subtype": subtype, "channel": "C7", "channel_type": "channel", **fields})

    def edit(self, id: str, text: str) -> None:
        message = self.find(id)
        before = dict(message)
        message["text"] = text
        self._change("message_changed", message=message, previous_message=before)

    def delete(self, id: str) -> None:
        self.messages.remove(self.find(id))
        if any(message.get("thread_ts") == id for message in self.messages):
            self._change("message_changed", message={"subtype": "tombstone", "ts": id, "text": "deleted"})
        else:
            self._change("message_deleted", deleted_ts=id)

    def react(self, id: str, emoji: str, person: int = ASKER) -> None:
        self.find(id).setdefault("reactions", []).append({"name": self.EMOJIS[emoji]})
        item = {"type": "message", "channel": "C7", "ts": id}
        self.emit({"type": "reaction_added", "user": f"U{person}", "reaction": self.EMOJIS[emoji], "item": item})

    def is_ours(self, message: Fields) -> bool:
        return bool(message["user"] == f"U{BOT}")

    def is_reply(self, message: Fields, first: str) -> bool:
        return message.get("thread_ts") == first


class DiscordServer(SocketServer):
    """The gateway with heartbeats and sessions that can be resumed, and the routes of messages."""

    credentials: ClassVar = {"DISCORD_TOKEN": ChatServer.token}
    PRIVATE: ClassVar = [{"id": "1", "type": 0, "allow": "0", "deny": str(1 << 10)}]
    CHANNELS: ClassVar[Mapping[str, Fields]] = {
        "7": {"id": "7", "type": 0, "name": "help", "guild_id": "1"},
        "8": {"id": "8", "type": 0, "name": "board", "guild_id": "1", "permission_overwrites": PRIVATE},
        "9": {"id": "9", "type": 15, "name": "forum", "guild_id": "1"},
    }

    def __init__(self) -> None:
        super().__init__()
        self.posts: dict[str, Fields] = {}
        self.close_code = 0
        self.intervals: deque[str] = deque()
        """What the next connections are told instead of a time between heartbeats, as JSON."""
        self.dispatched: list[dict[str, Any]] = []
        self._sequence = count(1)

    def refuse(self) -> Answer:
        return 401, {"message": "401: Unauthorized", "code": 0}

    def is_write(self, method: str, path: str) -> bool:
        return method != "GET"

    def answer(self, method: str, path: str, fields: Fields) -> Answer:
        if path == "/gateway/bot":
            return 200, {"url": self.socket_address}
        channel, id = re.fullmatch(r"/channels/(\d+)(?:/messages)?(?:/(\d+))?", path).groups()  # type: ignore[union-attr]
        if not path.endswith("/messages") and not id:
            return 200, self.CHANNELS.get(channel) or self.posts[channel]
        if method == "POST":
            assert fields["allowed_mentions"] == {"parse": []}
            first = (fields["message_reference"] or {})["message_id"]
            return 200, self._add(BOT, fields["content"], channel, message_reference={"message_id": first})
        if method == "PATCH":
            self.find(id)["content"] = fields["content"]
        elif method == "DELETE":
            self.messages.remove(self.find(id))
            return 204, None
        if id:
            return 200, self.find(id)
        return 200, [m for m in reversed(self.messages) if m["channel_id"] == channel]

    def welcome(self, socket: ServerConnection) -> None:
        interval = self.intervals.popleft() if self.intervals else "200"
        socket.send(f'{{"op": 10, "d": {{"heartbeat_interval": {interval}}}}}')

    def hear(self, socket: ServerConnection, message: Fields) -> None:
        if message["op"] == 2 and self.close_code:
            socket.close(self.close_code)
        elif message["op"] == 2:
            ready = {"session_id": "s1", "resume_gateway_url": self.socket_address, "user": {"id": str(BOT)}}
            socket.send(json.dumps({"op": 0, "t": "READY", "s": next(self._sequence), "d": ready}))
        elif message["op"] == 6:
            for event in [event for event in self.dispatched if event["s"] > message["d"]["seq"]]:
                socket.send(json.dumps(event))
        elif message["op"] == 1:
            socket.send(json.dumps({"op": 11}))

    def emit(self, event: Any) -> None:
        name, fields = event
        self.dispatched.append({"op": 0, "t": name, "s": next(self._sequence), "d": fields})
        self._outgoing.put(self.dispatched[-1])

    def _add(self, person: int, text: str, channel: str = "7", id: str = "", **fields: Any) -> dict[str, Any]:
        author = {"id": str(person), "bot": person in (BOT, OTHER_BOT)}
        at = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
        message = {
            "id": id or str(next(self._ids)), "channel_id": channel, "content": text, "author": author, "timestamp": at,
            "type": 19 if "message_reference" in fields else 0, "edited_timestamp": None, **fields,
        }  # fmt: skip
        self.messages.append(message)
        self.emit(("MESSAGE_CREATE", {**message, "guild_id": "1"}))
        return message

    def ask(self, text: str, person: int = ASKER, **fields: Any) -> str:
        return str(self._add(person, text, "8" if fields.get("private") else "7")["id"])

    def post(self, title: str, text: str) -> str:
        """Add a post to the forum."""
        id = str(next(self._ids))
        self.posts[id] = {"id": id, "type": 11, "name": title, "parent_id": "9", "guild_id": "1"}
        self._add(ASKER, text, id, id)
        return id

    def reply(self, first: str, text: str, person: int = HELPER) -> str:
        channel = self.find(first)["channel_id"]
        reference = {} if channel in self.posts else {"message_reference": {"message_id": first}}
        return str(self._add(person, text, channel, **reference)["id"])

    def edit(self, id: str, text: str) -> None:
        message = self.find(id)
        message |= {"content": text, "edited_timestamp": message["timestamp"]}
        self.emit(("MESSAGE_UPDATE", {**message, "guild_id": "1"}))

    def delete(self, id: str) -> None:
        message = self.find(id)
        self.messages.remove(message)
        self.emit(("MESSAGE_DELETE", {"id": id, "channel_id": message["channel_id"], "guild_id": "1"}))

    def react(self, id: str, emoji: str, person: int = ASKER) -> None:
        message = self.find(id)
        message.setdefault("reactions", []).append({"count": 1, "emoji": {"id": None, "name": emoji}})
        given = {"user_id": str(person), "message_id": id, "channel_id": message["channel_id"], "guild_id": "1"}
        member = {"user": {"id": str(person), "bot": person in (BOT, OTHER_BOT)}}
        self.emit(("MESSAGE_REACTION_ADD", {**given, "member": member, "emoji": {"id": None, "name": emoji}}))

    def is_ours(self, message: Fields) -> bool:
        return bool(message["author"]["id"] == str(BOT))

    def is_reply(self, message: Fields, first: str) -> bool:
        return (message.get("message_reference") or {}).get("message_id") == first
