"""A bot in a thread, between a small server of its chat and a real service."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from aiohttp import ClientSession

from askalike_chat.answered import AnsweredThreads
from askalike_chat.bot import Bot, BotSettings, run_bot
from askalike_chat.command import chat_class
from askalike_chat.service import Limits, Service as Client
from chat_servers import ChatServer
from conftest import KINDS
from service.serving import Service
from waiting import wait_for

LOST_CARD = "Hello all! I have lost my library card. What should I do?"
LATE_BOOK = "My book is late. How much is the fine for a late book?"
OFF_TOPIC = "Does anybody know a good pizzeria in Rome?"


def product_of(server: ChatServer) -> Any:
    return next(name for name, kind in KINDS.items() if isinstance(server, kind))


def page_of(service: Service) -> str:
    """The address of the archive that a service serves."""
    return f"{service.url.geturl()}/a/{service.archive_path.name}"


@contextmanager
def bot_for(
    server: Any, service: Service, state: Path | None = None, key: str = "", **limits: Any
) -> Iterator[list[BaseException]]:
    """Run the server's bot in a thread until the block ends; yields what ended it early."""
    product, ended = product_of(server), []
    loop = asyncio.new_event_loop()

    async def run() -> None:
        async with ClientSession() as session:
            chat = chat_class(product)(session, server.address, server.credentials)
            client = Client(session, page_of(service), key, Limits(**limits or {"min_similarity": 0.3}))
            with AnsweredThreads(state) as answered:
                bot = Bot(chat, client, BotSettings(source=product), answered)
                await run_bot(chat, bot, first_pause_s=0.02)

    serving = loop.create_task(run())

    def run_loop() -> None:
        try:
            loop.run_until_complete(serving)
        except asyncio.CancelledError:
            pass
        except BaseException as error:
            ended.append(error)
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()

    thread = Thread(target=run_loop, daemon=True)
    thread.start()
    try:
        wait_for(lambda: server.connections or ended)
        yield ended
    finally:
        if not ended:
            loop.call_soon_threadsafe(serving.cancel)
        thread.join(10)
    assert not thread.is_alive()


def settle(server: Any) -> None:
    """Return once all events so far have had their effect: a last question is answered."""
    first = server.ask(LOST_CARD)
    wait_for(lambda: any(server.is_ours(m) and server.is_reply(m, first) for m in list(server.messages)))
