"""Reads topics of Zulip: responses of its API (`GET /api/v1/messages`), or a data export of the organization.

An export has `realm.json` (people, channels) and `messages-000001.json`, …; the API's people are those of
`GET /api/v1/users`, whose response may be one of the files.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from pydantic import Field

from askalike.core.errors import InputError
from askalike.core.records import Place, RejectedRow
from askalike.readers._json import read_json_values
from askalike.readers._source import SourceFiles, find_files, reject
from askalike.readers._threads import (
    SOLVED_EMOJIS,
    Conversation,
    Message,
    ThreadReader,
    begin_conversation,
    parse_sent_at,
)
from askalike.readers._values import list_objects, split_cell, to_text
from askalike.store.drafts import LocatedThread
from askalike.text.clean import readable_text

REALM_FILE = "realm.json"
CHANNEL_RECIPIENT = 2
"""The type of recipients that are channels, in an export."""
MENTION = re.compile(r"@_?\*\*([^*|\n]+)(?:\|\d+)?\*\*|#\*\*([^*\n]+)\*\*")
RESOLVED_MARK = "✔ "
"""Prefix of the names of resolved topics in Zulip."""

Row = Mapping[str, Any]


class ZulipReader(ThreadReader):
    """Topics of Zulip that begin with a question, as drafts for review: PATHs are responses of its API, or an export.

    Never reads private channels or direct messages. Drafts are hidden until a moderator accepts them.

    Examples:

    ```
    askalike import zulip messages.json -o help --site https://chat.example.org
    askalike import zulip messages.json -o help --channels help,support
    ```
    """

    channels: str | None = Field(None, description="the channels to read, e.g. help,support")
    site: str | None = Field(None, description="the organization's address, for links to its messages")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedThread]:
        """Yield a draft for each topic of these channels. Raises InputError."""
        files = find_files(paths, "messages*.json", REALM_FILE)
        source.facts["name"] = paths[0].resolve().name.partition(".")[0]
        source.expect(files)
        people = ZulipDirectory()
        wanted = split_cell(self.channels, ",")
        topics: dict[tuple[str, str], _Topic] = {}
        skipped: set[tuple[str, str]] = set()
        for file in sorted(files, key=lambda file: (file.name != REALM_FILE, str(file))):
            for place, row in _read_messages(file, people, source):
                if isinstance(row, RejectedRow):
                    yield row, place
                elif (channel := people.channel_of(row, source)) and (not wanted or channel[1] in wanted):
                    _add_message(row, place, channel, topics, skipped, people, source)
        for (channel_id, _), topic in topics.items():
            link = message_link(self.site, *topic.channel, topic.first_id) if self.site else None
            if draft := self.to_draft(topic.conversation, f"{channel_id}/{topic.first_id}", link, source):
                yield draft, topic.place


class _Topic(NamedTuple):
    """A topic: its conversation, its first message's id and place, and the id and name of its channel."""

    conversation: Conversation
    first_id: str
    channel: tuple[str, str]
    place: Place


class ZulipDirectory:
    """The bots and public channels named in the files."""

    def __init__(self) -> None:
        self._bots: set[str] = set()
        self._channels: dict[str, tuple[str, str]] = {}
        """In an export: recipient → id and name of its channel."""

    def learn_realm(self, realm: Row) -> None:
        """Take people and channels from an export's `realm.json`."""
        users, internal = (list_objects(realm.get(f"zerver_userprofile{end}")) for end in ("", "_crossrealm"))
        self._bots |= {to_text(user.get("id")) for user in [*internal, *(u for u in users if u.get("is_bot"))]}
        names = {
            to_text(s.get("id")): to_text(s.get("name"))
            for s in list_objects(realm.get("zerver_stream"))
            if not s.get("invite_only")
        }
        for recipient in list_objects(realm.get("zerver_recipient")):
            if recipient.get("type") == CHANNEL_RECIPIENT and (id := to_text(recipient.get("type_id"))) in names:
                self._channels[to_text(recipient.get("id"))] = id, names[id]

    def learn_users(self, members: Sequence[Any]) -> None:
        """Take people from a response of `GET /api/v1/users`."""
        self._bots |= {to_text(m.get("user_id")) for m in list_objects(members) if m.get("is_bot")}

    def channel_of(self, row: Row, source: SourceFiles) -> tuple[str, str] | None:
        """Return the id and name of a message's channel; None for a direct message, or in a private channel."""
        if "recipient" in row:
            found = self._channels.get(to_text(row["recipient"]))
        else:
            is_channel = row.get("type") in ("stream", "channel") and isinstance(row.get("display_recipient"), str)
            found = (to_text(row.get("stream_id")), to_text(row.get("display_recipient"))) if is_channel else None
        source.note("direct messages, and messages in private channels, left out", found is None)
        return found

    def is_bot(self, row: Row) -> bool:
        """Return whether a bot wrote a message; without a list of people bots are known by their addresses."""
        address = to_text(row.get("sender_email"))
        is_internal = row.get("sender_realm_str") == "zulipinternal"
        return to_text(_sender(row)) in self._bots or is_internal or bool(re.search(r"-bot@", address))


def _add_message(
    row: Row,
    place: Place,
    channel: tuple[str, str],
    topics: dict[tuple[str, str], _Topic],
    skipped: set[tuple[str, str]],
    people: ZulipDirectory,
    source: SourceFiles,
) -> None:
    """Begin a topic with a message, or add the message to its topic. skipped: topics that begin without a question."""
    key = channel[0], to_text(row.get("subject")).removeprefix(RESOLVED_MARK).casefold()
    message = Message(plain_text(row), to_text(_sender(row)), row["sent_at"], people.is_bot(row), is_solution(row))
    if key in topics:
        topics[key].conversation.add(message)
    elif key not in skipped:
        if conversation := begin_conversation(message, source):
            topics[key] = _Topic(conversation, to_text(row["id"]), channel, place)
        else:
            skipped.add(key)


def _read_messages(
    file: Path, people: ZulipDirectory, source: SourceFiles
) -> Iterator[tuple[Place, Row | RejectedRow]]:
    """Yield the messages in a file; its people and channels are added to `people`. Raises InputError."""
    is_empty = True
    for place, document in read_json_values(source, file):
        is_empty = False
        if not isinstance(document, dict):
            raise InputError(f"{place}: expected a response of Zulip's API, or a file of an export")
        if "zerver_stream" in document:
            people.learn_realm(document)
            continue
        if isinstance(document.get("members"), list):
            people.learn_users(document["members"])
            continue
        messages = document.get("messages", document.get("zerver_message"))
        if not isinstance(messages, list):
            problem = to_text(document.get("msg")) or "it has no messages"
            raise InputError(f"{place}: {problem}; expected a response of Zulip's API, or a file of an export")
        solved = {
            to_text(r.get("message")) for r in list_objects(document.get("zerver_reaction")) if _marks_solution(r)
        }
        for row in messages:
            sent_at = _sent_at(row) if isinstance(row, dict) and row.get("id") else None
            if sent_at is None:
                yield place, reject(place, "expected a message with its id and date", row)
            else:
                yield place, {**row, "solved": to_text(row["id"]) in solved, "sent_at": sent_at}
    if is_empty:
        raise InputError(f"{file}: is empty; expected a response of Zulip's API, or a file of an export")


def _sender(row: Row) -> Any:
    return row.get("sender_id", row.get("sender"))


def _sent_at(row: Row) -> float | None:
    return parse_sent_at(row.get("timestamp", row.get("date_sent")))


def message_link(site: str, channel_id: str, channel: str, id: str) -> str:
    """Return the address of a message. site: the organization's address; channel: the name of the channel."""
    place = quote(f"{channel_id}-{channel}".replace(" ", "-"), safe="").replace(".", "%2E").replace("%", ".")
    return f"{site.rstrip('/')}/#narrow/channel/{place}/near/{id}"


def is_solution(row: Row) -> bool:
    """Return whether a reaction marks a message as the solution."""
    return bool(row.get("solved")) or any(_marks_solution(reaction) for reaction in list_objects(row.get("reactions")))


def _marks_solution(reaction: Row) -> bool:
    return to_text(reaction.get("emoji_name")) in SOLVED_EMOJIS


def plain_text(row: Row) -> str:
    """Return a message's Markdown with the names of people and channels, or its HTML as plain text."""
    content = to_text(row.get("content"))
    if row.get("content_type") == "text/html":
        return readable_text(content, "html").strip()
    return MENTION.sub(lambda match: f"@{match[1]}" if match[1] else f"#{match[2]}", content)
