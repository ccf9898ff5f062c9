"""askalike serve: archives over HTTP."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from askalike.cli._options import RankerOption, SettingsOption, announce_compilation
from askalike.config import parse_assignments, validate_settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR…", help="The archives' directories.")],
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes one that is free.")] = 8080,
    ranker: RankerOption = None,
    settings: SettingsOption = None,
    workers: Annotated[int, typer.Option(help="How many processes answer.")] = 1,
    allow_origin: Annotated[
        list[str] | None, typer.Option(metavar="ORIGIN", help="A site whose pages may ask; may be repeated.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="A setting of the service; see service.md")
    ] = None,
) -> None:
    """Serve archives over HTTP: similar questions as they are typed, for people and other programs."""
    from askalike.service import require_extra
    from askalike.service.settings import ServiceSettings

    require_extra()
    given = {"archives": directories, "host": host, "port": port, "ranker": ranker, "workers": workers}
    given |= {"allow_origins": allow_origin or []}
    values = given | {"values": parse_assignments(settings or [])} | parse_assignments(option or [])
    chosen = validate_settings(ServiceSettings, values, "serve")
    announce_compilation()
    from askalike.service.processes.supervisor import supervise

    supervise(chosen, lambda where: print(f"askalike: serving at {where}", file=sys.stderr, flush=True))
