"""askalike answer: a stored answer, or one that a model writes."""

import time
from typing import Annotated, Literal

import typer
from rich.console import Console

from askalike.answering.replies import DEFAULT_SURE
from askalike.cli._answers import print_reply, reply_as_json
from askalike.cli._options import (
    Directory,
    JsonOption,
    RankerOption,
    SettingsOption,
    announce_compilation,
    build_ranker,
)
from askalike.cli._output import print_json
from askalike.cli._queries import require_searchable
from askalike.engines.local import LocalEngine
from askalike.store import Archive


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(answer)


def answer(
    directory: Directory,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The question, as a person would type it.")],
    mode: Annotated[
        Literal["nearest", "generate", "auto"],
        typer.Option(help="Stored answers; text that a model writes; or whichever its probability speaks for."),
    ] = "nearest",
    k: Annotated[int, typer.Option("-k", min=1, help="How many stored answers to show.")] = 3,
    ranker: RankerOption = None,
    settings: SettingsOption = None,
    body: Annotated[str, typer.Option(help="The question's body.")] = "",
    model: Annotated[str | None, typer.Option(help="Which model of the archive writes.", show_default=False)] = None,
    min_probability: Annotated[
        float | None, typer.Option(help="No answer below this probability; needs a calibration.")
    ] = None,
    sure: Annotated[float, typer.Option(help="With auto: a stored answer from this probability on.")] = DEFAULT_SURE,
    json: JsonOption = False,
) -> None:
    """Answer a question from the archive."""
    with Archive.open(directory) as archive, LocalEngine(archive, build_ranker(archive, ranker, settings)) as engine:
        announce_compilation()
        started = time.perf_counter()
        reply = engine.answer(text, mode, k, body=body, min_probability=min_probability, sure=sure, model=model)
        took_ms = (time.perf_counter() - started) * 1000
        if reply.abstained:
            require_searchable(engine.archive, text + body)
    if json:
        print_json(reply_as_json(reply, engine.ranker.name, took_ms))
    else:
        print_reply(Console(), reply)
