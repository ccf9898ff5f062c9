"""The command `bot`, as askalike's and as `askalike-chat`."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import typer
from aiohttp import ClientSession, DummyCookieJar
from typer import Argument, Option

from askalike_chat.answered import AnsweredThreads
from askalike_chat.bot import Bot, BotSettings, run_bot
from askalike_chat.chat import Chat
from askalike_chat.errors import BotError
from askalike_chat.log import start_log
from askalike_chat.service import Limits, Service

Product = Literal["zulip", "slack", "discord"]
ADDRESS_VARIABLE, KEY_VARIABLE = "ZULIP_SITE", "ASKALIKE_KEY"
ZULIPRC = {"email": "ZULIP_EMAIL", "key": "ZULIP_API_KEY", "site": ADDRESS_VARIABLE}
SERVICE_HELP = "The archive in a running service, such as https://questions.example/a/desk."


@dataclass(frozen=True, slots=True)
class BotOptions:
    """What the command line says. values: the tokens, by the names of their variables; key: the service's."""

    product: Product
    service: str
    key: str
    values: Mapping[str, str]
    address: str | None
    channels: Sequence[str]
    limits: Limits
    archive_url: str | None
    source: str
    state: Path
    dry_run: bool


def bot_command(
    product: Annotated[Product, Argument(metavar="PRODUCT", help="The chat: zulip, slack or discord.")],
    service: Annotated[str, Argument(metavar="SERVICE", help=SERVICE_HELP)],
    key_file: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            help="A file with a key of the service, of scope write.",
            show_default=f"{KEY_VARIABLE}, or no key",
        ),
    ] = None,
    credentials: Annotated[
        Path | None,
        Option(metavar="FILE", help="A file of lines NAME=VALUE, or a zuliprc.", show_default="environment variables"),
    ] = None,
    address: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="The address of a Zulip organization, or another one of the API.",
            show_default=f"{ADDRESS_VARIABLE}, or the product's",
        ),
    ] = None,
    channels: Annotated[
        str, Option(metavar="NAMES", help="Names or ids of public channels.", show_default="all that the bot is in")
    ] = "",
    min_probability: Annotated[
        float | None,
        Option(min=0, max=1, help="Minimum probability of an answer.", show_default="the archive decides"),
    ] = None,
    min_similarity: Annotated[
        float | None,
        Option(min=0, max=1, help="Minimum similarity of an answer.", show_default="the archive decides"),
    ] = None,
    without: Annotated[
        list[str] | None,
        Option(metavar="STATE", help="Leave out closed, locked, outdated or unanswered questions; may be repeated."),
    ] = None,
    archive_url: Annotated[
        str | None,
        Option(
            metavar="URL",
            help="The archive's public page, to link questions without an address.",
            show_default="SERVICE, unless that is on this machine",
        ),
    ] = None,
    source: Annotated[
        str | None, Option(metavar="NAME", help="The source of drafts, as in imports.", show_default="the chat's name")
    ] = None,
    state: Annotated[
        Path | None,
        Option(metavar="FILE", help="The file that remembers what was answered.", show_default="one for each archive"),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print what it would say, and write nothing.")] = False,
) -> None:
    """Answer each new thread of a chat once, with earlier questions, if one of them likely asks the same.

    Reactions to an answer are feedback; ✅ on a person's answer keeps the thread as a draft.

    Examples:

    ```
    askalike bot zulip https://questions.example/a/desk --credentials zuliprc --channels help --dry-run
    SLACK_APP_TOKEN=… SLACK_BOT_TOKEN=… askalike bot slack https://questions.example/a/desk --key-file key
    askalike bot discord http://127.0.0.1:8080/a/desk --credentials discord.env --min-probability 0.8
    ```
    """  # fmt: skip
    try:
        if min_probability is not None and min_similarity is not None:
            raise BotError("--min-similarity and --min-probability exclude each other; use one of them")
        limits = Limits(min_probability=min_probability, min_similarity=min_similarity, without=tuple(without or ()))
        chosen = BotOptions(
            product, service, read_key(key_file), read_credentials(credentials, chat_class(product).credentials),
            address, [name.strip() for name in channels.split(",") if name.strip()], limits, archive_url,
            source or product, state or default_state(product, service), dry_run,
        )  # fmt: skip
        asyncio.run(_run(chosen))
    except BotError as error:
        print(_in_one_line(f"askalike: {error}"), file=sys.stderr)
        raise typer.Exit(2) from None


async def _run(chosen: BotOptions) -> None:
    """Serve until the process is asked to end. Raises BotError."""
    chat_type = chat_class(chosen.product)
    place = chosen.address or chat_type.default_address or chosen.values.get(ADDRESS_VARIABLE)
    if place is None:
        raise BotError(f"{chosen.product}: which organization? expected --address https://…, or {ADDRESS_VARIABLE}")
    settings = BotSettings(chosen.archive_url, chosen.source, _print_answer if chosen.dry_run else None)
    async with ClientSession(cookie_jar=DummyCookieJar()) as session:
        service = Service(session, chosen.service, chosen.key, chosen.limits)
        chat = chat_type(session, place, chosen.values, chosen.channels)
        with AnsweredThreads(None if chosen.dry_run else chosen.state) as answered:
            await service.require_ready()
            start_log()
            serving = asyncio.create_task(run_bot(chat, Bot(chat, service, settings, answered)))
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
            with suppress(asyncio.CancelledError):
                await serving


def chat_class(product: Product) -> type[Chat]:
    """Return the subclass of `Chat` in a product's file."""
    return getattr(import_module(f"askalike_chat.{product}"), f"{product.title()}Chat")  # type: ignore[no-any-return]


def default_state(product: str, service: str) -> Path:
    """Return the file in which a product's bot remembers what it has answered from an archive."""
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    parts = urlsplit(service)
    name = re.sub(r"[^A-Za-z0-9.]+", "-", f"{parts.netloc}{parts.path}").strip("-")
    return folder / "askalike-chat" / f"{product}-{name}.jsonl"


def read_key(path: Path | None) -> str:
    """Return the key of the service from a file or the environment; "" without one. Raises BotError."""
    key = _read_lines(path)[0].strip() if path else os.environ.get(KEY_VARIABLE, "").strip()
    if path and not key:
        raise BotError(f"{path}: is empty; expected a key, as askalike keys create prints it")
    return _check_token("the key" if path else KEY_VARIABLE, key)


def read_credentials(path: Path | None, names: Sequence[str]) -> Mapping[str, str]:
    """Return the values of these variables, and of ADDRESS_VARIABLE, from a file and the environment.

    In a file of Zulip (`[api]`, `email=…`, `key=…`, `site=…`) they have other names. Raises BotError.
    """
    values = {name: os.environ[name].strip() for name in (*names, ADDRESS_VARIABLE) if os.environ.get(name)}
    if path:
        lines = (line for line in _read_lines(path) if "=" in line and not line.lstrip().startswith("#"))
        pairs = (line.partition("=") for line in lines)
        values |= {ZULIPRC.get(name.strip(), name.strip()): value.strip().strip("\"'") for name, _, value in pairs}
    if missing := [name for name in names if not values.get(name)]:
        raise BotError(f"no {' and no '.join(missing)}; set the variable, or name a file with --credentials")
    for name in names:
        _check_token(name, values[name])
    return values


def _read_lines(path: Path) -> Sequence[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines() or [""]
    except (OSError, ValueError) as error:
        raise BotError(f"{path}: cannot be read ({error})") from None


def _check_token(name: str, token: str) -> str:
    if not (token.isascii() and token.isprintable()):
        raise BotError(f"{name} has characters that no token has; copy it again, as one line")
    return token


def _print_answer(thread: str, text: str) -> None:
    lines = (_in_one_line(line) for line in text.splitlines())
    print(f"{thread}: " + "\n".join(lines) + "\n", flush=True)


def _in_one_line(text: str) -> str:
    """Return a text without what a terminal would obey."""
    return "".join(c if c.isprintable() or c == "\u200b" else c.encode("unicode_escape").decode() for c in text)


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="markdown")
app.command()(bot_command)


def main() -> None:
    """Run `askalike-chat`."""
    app(prog_name="askalike-chat")
