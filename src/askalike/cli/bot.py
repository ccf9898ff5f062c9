"""askalike bot: answers new threads of a chat that were asked before, and stays silent unless sure."""

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Annotated

from typer import Argument, Option

import askalike.cli._options as options
from askalike.core.errors import InputError, SettingsError
from askalike.core.filters import Filter
from askalike.integrations.bots import Product, require_extra

ADDRESS_VARIABLE = "ZULIP_SITE"
ZULIPRC = {"email": "ZULIP_EMAIL", "key": "ZULIP_API_KEY", "site": ADDRESS_VARIABLE}


def bot_command(
    product: Annotated[Product, Argument(metavar="PRODUCT", help="The chat: zulip, slack or discord.")],
    directory: options.Directory,
    credentials: Annotated[
        Path | None,
        options.value("FILE", "A file of lines NAME=VALUE, or a zuliprc.", "environment variables"),
    ] = None,
    address: Annotated[
        str | None,
        options.url("The address of a Zulip organization, or another one of the API.", "ZULIP_SITE, or the product's"),
    ] = None,
    channels: Annotated[str, options.value("NAMES", "Names or ids of public channels.", "all that the bot is in")] = "",
    min_probability: options.Probability = None,
    min_similarity: Annotated[
        float | None, options.share("Minimum similarity in an archive that is not calibrated.", "silence")
    ] = None,
    archive_url: Annotated[
        str | None,
        options.url(
            "The archive in a service, to link questions without an address: https://questions.example/a/desk.",
            "no link",
        ),
    ] = None,
    source: Annotated[
        str | None, options.value("NAME", "The source of drafts, as in imports.", "the chat's name")
    ] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print what it would say, and write nothing in the chat or archive.")
    ] = False,
    ranker: options.RankerName = None,
    settings: options.Assignments = None,
    fields: options.Fields = None,
    engine: options.Engine = None,
    without: options.Without = None,
) -> None:
    """Answer new threads of a chat with what was asked before, once each, and only if that is likely.

    Reactions to an answer are feedback; ✅ on a person's answer keeps the thread as a draft.

    Examples:

    ```
    askalike bot zulip DIR --credentials zuliprc --channels help --dry-run
    SLACK_APP_TOKEN=… SLACK_BOT_TOKEN=… askalike bot slack DIR
    askalike bot discord DIR --credentials discord.env --min-probability 0.8
    ```
    """
    require_extra(product)
    from askalike.integrations.bots import chat_class
    from askalike.integrations.bots.answered import AnsweredThreads
    from askalike.integrations.bots.bot import Bot, BotSettings, run_bot, state_path
    from askalike.service.log import start_log

    chat_type, stop = chat_class(product), Event()
    values = read_credentials(credentials, chat_type.credentials)
    place = address or chat_type.default_address or values.get(ADDRESS_VARIABLE)
    if place is None:
        raise SettingsError(f"{product}: which organization? expected --address https://…, or {ADDRESS_VARIABLE}")
    chat = chat_type(place, values, options.split_list(channels), stop)
    filter = Filter(without=tuple(without or ()))  # type: ignore[arg-type]
    with (
        options.open_engine(directory, engine, ranker, settings, fields, filter) as opened,
        AnsweredThreads(None if dry_run else state_path(directory, product)) as answered,
    ):
        if opened.calibration is None and min_similarity is None:
            advice = opened.calibration_advice or f"run: askalike calibrate {directory}, or name a --min-similarity"
            raise SettingsError(f"{directory}: not calibrated, so that nothing is known to be likely; {advice}")
        chosen = BotSettings(
            min_probability, min_similarity, archive_url, source or product, _print_answer if dry_run else None
        )
        bot = Bot(chat, opened, chosen, answered)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        start_log()
        run_bot(chat, bot, stop)


def read_credentials(path: Path | None, names: Sequence[str]) -> Mapping[str, str]:
    """Return the values of these variables, and of ADDRESS_VARIABLE, from a file and the environment.

    In a file of Zulip (`[api]`, `email=…`, `key=…`, `site=…`) they have other names. Raises InputError, SettingsError.
    """
    values = {name: os.environ[name].strip() for name in (*names, ADDRESS_VARIABLE) if os.environ.get(name)}
    if path:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: cannot be read ({error}); expected lines NAME=VALUE") from None
        pairs = (line.partition("=") for line in lines if "=" in line and not line.lstrip().startswith("#"))
        values |= {ZULIPRC.get(name.strip(), name.strip()): value.strip().strip("\"'") for name, _, value in pairs}
    if missing := [name for name in names if not values.get(name)]:
        raise SettingsError(f"no {' and no '.join(missing)}; set the variable, or name a file with --credentials")
    if odd := [name for name in names if not (values[name].isascii() and values[name].isprintable())]:
        raise SettingsError(f"{odd[0]} has characters that no token has; copy it again, as one line")
    return values


def _print_answer(thread: str, text: str) -> None:
    print(f"{thread}: {text}\n", flush=True)
