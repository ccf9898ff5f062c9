"""Reads the export of a Slack workspace: `channels.json`, `users.json`, and a folder of daily files per channel."""

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Place
from askalike.readers._json import read_json_values
from askalike.readers._source import SourceFiles, reject
from askalike.readers._threads import (
    SOLVED_EMOJIS,
    Conversation,
    Message,
    ThreadReader,
    begin_conversation,
    parse_sent_at,
)
from askalike.readers._values import as_object, list_objects, split_cell, to_text
from askalike.store.drafts import LocatedThread

OF_PEOPLE = ("", "file_share", "thread_broadcast", "me_message", "bot_message")
"""Subtypes of messages written by people or bots; all others are about the channel."""
DAY_FILES = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].json"
REFERENCE = re.compile(r"<(?P<kind>[@#!]?)(?P<target>[^<>|]*)(?:\|(?P<label>[^<>]*))?>")

Row = Mapping[str, Any]


class SlackReader(ThreadReader):
    """Threads of Slack that begin with a question, as drafts for review: PATH is the folder of an unpacked export.

    Reads public channels only. Drafts are hidden until a moderator accepts them, by `askalike drafts` or on the page
    Drafts.

    Examples:

    ```
    askalike import slack export -o desk
    askalike import slack export -o desk --channels help,support
    ```
    """

    channels: str | None = Field(None, description="the channels to read, e.g. help,support")
    workspace: str | None = Field(None, description="the workspace's address, for links: https://NAME.slack.com")

    def read(self, paths: Sequence[Path], source: SourceFiles) -> Iterator[LocatedThread]:
        """Yield a draft for each thread of these channels. Raises InputError or SettingsError."""
        source.facts["name"] = ", ".join(path.resolve().name for path in paths)
        for folder in paths:
            channels = _find_channels(folder, split_cell(self.channels, ","))
            source.expect(file for channel in channels for file in channel.days)
            people = SlackUsers.load(folder, source)
            for channel in channels:
                yield from self._read_channel(channel, people, source)

    def _read_channel(self, channel: "_Channel", people: "SlackUsers", source: SourceFiles) -> Iterator[LocatedThread]:
        """Yield the drafts of a channel after reading all its daily files, as a thread may last for days."""
        threads: dict[str, tuple[Conversation, Place]] = {}
        for file in channel.days:
            for place, row in read_json_values(source, file):
                at = parse_sent_at(row.get("ts")) if isinstance(row, dict) else None
                if at is None:
                    yield reject(place, "expected a message with its ts", row), place
                    continue
                _add_message(row, at, place, threads, people, source)
        for ts, (thread, place) in threads.items():
            link = message_link(self.workspace, channel.id, ts) if self.workspace else None
            if draft := self.to_draft(thread, f"{channel.id}/{ts}", link, source):
                yield draft, place


class _Channel(NamedTuple):
    id: str
    days: Sequence[Path]


class SlackUsers:
    """The users in `users.json`, which an export may lack."""

    def __init__(self, users: Sequence[Row]) -> None:
        self._users = {to_text(user.get("id")): user for user in users}

    @classmethod
    def load(cls, folder: Path, source: SourceFiles) -> "SlackUsers":
        """Return the users of an export; without a file of them nobody is known, which is noted."""
        path = folder / "users.json"
        if not path.is_file():
            source.note("exports without users.json (people have no names, and bots are known by their messages alone)")
            return cls([])
        return cls(_read_objects(path))

    def name(self, id: str) -> str:
        """Return a person's name; `someone` if it is not known."""
        user = self._users.get(id, {})
        display_name = as_object(user.get("profile")).get("display_name")
        names = (to_text(field) for field in (display_name, user.get("real_name"), user.get("name")))
        return next(filter(None, names), "someone")

    def is_bot(self, row: Row) -> bool:
        """Return whether a bot wrote a message."""
        user = to_text(row.get("user"))
        known = self._users.get(user, {}).get("is_bot") is True
        return known or user == "USLACKBOT" or bool(row.get("bot_id")) or row.get("subtype") == "bot_message"

    def plain_text(self, text: Any) -> str:
        """Return a message without Slack's markup for people, channels and links."""
        return html.unescape(REFERENCE.sub(self._resolve, to_text(text))).strip()

    def _resolve(self, match: re.Match[str]) -> str:
        kind, target, label = match["kind"], match["target"], match["label"]
        if kind == "@":
            return f"@{label or self.name(target)}"
        if kind:
            return label if label and kind == "!" else f"{'#' if kind == '#' else '@'}{label or target.split('^')[0]}"
        return f"{label} ({target})" if label and label not in target else target


def _add_message(
    row: Row,
    at: float,
    place: Place,
    threads: dict[str, tuple[Conversation, Place]],
    people: SlackUsers,
    source: SourceFiles,
) -> None:
    """Begin a thread with a message, or add the message to the thread that it belongs to."""
    if to_text(row.get("subtype")) not in OF_PEOPLE:
        return
    ts = to_text(row["ts"])
    root = to_text(row.get("thread_ts"))
    message = Message(
        people.plain_text(row.get("text")),
        to_text(row.get("user") or row.get("bot_id")),
        at,
        people.is_bot(row),
        is_solution(row),
    )
    if root and root != ts:
        if root in threads:
            threads[root][0].add(message)
    elif (root or row.get("reply_count") or row.get("replies")) and (thread := begin_conversation(message, source)):
        threads[ts] = thread, place


def message_link(workspace: str, channel: str, ts: str) -> str:
    """Return the address of a message. workspace: the workspace's address; channel: an id."""
    return f"{workspace.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"


def is_solution(row: Row) -> bool:
    """Return whether a reaction marks a message as the solution."""
    return any(to_text(reaction.get("name")) in SOLVED_EMOJIS for reaction in list_objects(row.get("reactions")))


def _find_channels(folder: Path, wanted: Sequence[str]) -> list[_Channel]:
    """Return the public channels of an export, or the wanted ones among them."""
    if not folder.is_dir():
        advice = "unpack it, e.g. unzip export.zip -d FOLDER, and name the folder" if folder.exists() else "not there"
        raise InputError(f"{folder}: is not a folder; {advice}")
    listing = folder / "channels.json"
    if not listing.is_file():
        raise InputError(f"{folder}: no channels.json in it; expected the folder of a Slack export")
    ids = {to_text(row.get("name")): to_text(row.get("id")) for row in _read_objects(listing)}
    if unknown := [name for name in wanted if name.removeprefix("#") not in ids]:
        known = ", ".join(sorted(ids)) or "none"
        raise SettingsError(f"--channels {', '.join(unknown)}: no public channel of that name; there are: {known}")
    names = [name.removeprefix("#") for name in wanted] or list(ids)
    folders = {path.name: path for path in folder.iterdir()}  # a name of a channel may lead out of the export
    return [_Channel(ids[n] or n, sorted(folders[n].glob(DAY_FILES)) if n in folders else ()) for n in names]


def _read_objects(path: Path) -> list[Row]:
    """Return the objects of a list in a small file. Raises InputError."""
    try:
        return list_objects(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({error}); export it again") from None
