"""What the action for GitHub and the bot of a chat really write about the example archive, as pages to be pictured."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from threading import Event, Thread
from unittest.mock import patch

from film_typing import EXAMPLE
from markdown_it import MarkdownIt

ASKED = "My bike was stolen, what do I do?"
TOLD = "It is not where I left it."
PREVALENCE, THRESHOLD = 0.3, 0.5
HAND = "M1 9h4v9h-4zM6 9L10 2Q13 2 12 8H18Q19 8 18.6 10L16.5 17Q16 18 15 18H6z"
THUMB = f'<svg class={{}} viewBox="0 0 20 20"><path d="{HAND}"/></svg>'
EMOJIS = {"👍": THUMB.format("up"), "👎": THUMB.format("down")}
"""Drawings for machines without a font of emoji."""
STYLE = """
body { margin: 0; padding: 26px 32px; background: #fff; color: #222; font: 16px/1.5 "DejaVu Sans", sans-serif }
h1 { margin: 0; font-size: 22px } header p { margin: 2px 0 18px; color: #666 }
article { margin-top: 14px; border: 1px solid #ccc; border-left: 5px solid #999 }
article.answer { border-left-color: #0b6e4f }
article header { padding: 6px 14px; background: #f2f2f2; color: #555 } article header b { color: #222 }
article div { padding: 10px 14px } p, ul { margin: 0 0 8px } ul { padding-left: 24px } a { color: #0b57a4 }
svg { width: 19px; vertical-align: -3px; fill: #f3bd3c; stroke: #8a6410 } svg.down { transform: scaleY(-1) }
"""


@dataclass(frozen=True)
class Message:
    """What somebody wrote, in Markdown; `note` says who that is."""

    author: str
    note: str
    text: str
    is_answer: bool = False


def frame(title: str, place: str, messages: Sequence[Message]) -> str:
    """Return a plain page of ours with messages under a title, as HTML."""
    markdown = MarkdownIt("commonmark", {"breaks": True})
    shown = "".join(
        f"<article{' class=answer' if message.is_answer else ''}>"
        f"<header><b>{escape(message.author)}</b> {escape(message.note)}</header>"
        f"<div>{markdown.render(message.text)}</div></article>"
        for message in messages
    )
    head = f"<header><h1>{escape(title)}</h1><p>{escape(place)}</p></header>"
    for emoji, drawing in EMOJIS.items():
        shown = shown.replace(emoji, drawing)
    return f"<!doctype html><html lang=en><meta charset=utf-8><style>{STYLE}</style>{head}{shown}"


def calibrated_archive(folder: Path) -> Path:
    """Import and calibrate the example as docs/bots.md does; return the archive."""
    from commands import askalike

    askalike("import", "table", EXAMPLE, "-o", "riverside", cwd=folder)
    askalike("calibrate", "riverside", "--prevalence", PREVALENCE, cwd=folder)
    return folder / "riverside"


def frame_comment(folder: Path) -> str:
    """Return a new issue with the comment of the action, for which the example archive is the older issues."""
    from test_github_action import GitHubAndService, event, run

    from commands import environment

    archive, path = calibrated_archive(folder), f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    (archive / "github-action.json").write_text(json.dumps({"scale": "probability", "threshold": THRESHOLD}))
    hub = GitHubAndService()
    with patch.dict(os.environ, environment() | {"PATH": path}):
        run(hub, folder, event(title=ASKED, body=TOLD), ARCHIVE=str(archive), URL="", THRESHOLD="", CLOSED="true")
    hub.server.shutdown()
    [comment] = hub.comments
    asked = Message("ada", "opened this issue", TOLD)
    answer = Message(comment["user"]["login"], "commented", comment["body"], is_answer=True)
    return frame(f"{ASKED} #42", "An open issue", [asked, answer])


def frame_thread(folder: Path) -> str:
    """Return a topic with the answer that the bot writes to its first message."""
    from askalike.integrations.bots import chat_class
    from askalike.integrations.bots.answered import AnsweredThreads
    from askalike.integrations.bots.bot import Bot, BotSettings, run_bot
    from askalike.search.engine import LocalEngine
    from chat_servers import ZulipServer
    from waiting import wait_for

    with ZulipServer() as server, LocalEngine.open(calibrated_archive(folder)) as engine:
        stop = Event()
        chat = chat_class("zulip")(server.address, server.credentials, (), stop)
        bot = Bot(chat, engine, BotSettings(), AnsweredThreads(None))
        running = Thread(target=run_bot, args=(chat, bot, stop))
        running.start()
        wait_for(lambda: server.connections)
        server.ask(ASKED)
        [text] = wait_for(server.texts)
        stop.set()
        running.join()
    return frame(
        "Stolen bike",
        "A topic of the channel “help”",
        [Message("Ada", "asked", ASKED), Message("Question bot", "answered", text, is_answer=True)],
    )
