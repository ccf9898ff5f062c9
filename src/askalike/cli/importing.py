"""`askalike import READER PATH... -o DIR`: one subcommand per registered reader, its options those of its settings."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from askalike.cli._output import print_json
from askalike.cli._progress import byte_progress_bar
from askalike.config import Settings
from askalike.readers import import_archive
from askalike.registry import load, names
from askalike.store import ArchiveSummary
from askalike.store.importing import REJECTS_FILE

COMMON_PARAMETERS: dict[str, Any] = {
    "paths": Annotated[list[Path], typer.Argument(metavar="PATH", help="the files or folders to read")],
    "output": Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="the archive; made if not there")],
    "strict": Annotated[bool, typer.Option("--strict", help="stop at the first row that cannot be taken")],
    "language": Annotated[str | None, typer.Option(metavar="XX", help="the archive's language; else it is detected")],
    "as_json": Annotated[bool, typer.Option("--json", help="print one JSON object")],
}
COMMON_DEFAULTS: dict[str, Any] = {"strict": False, "language": None, "as_json": False}


class _ReaderCommands(TyperGroup):
    """The registered readers as commands. A reader is imported when its command is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(names("reader"))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        reader = load("reader", cmd_name)
        one = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        one.command(cmd_name, help=reader.__doc__)(_build_command(cmd_name))
        return typer.main.get_command(one)


def register(app: typer.Typer) -> None:
    """Add `import` to the application."""
    group = typer.Typer(cls=_ReaderCommands, no_args_is_help=True)
    app.add_typer(group, name="import", help="Read an archive, an FAQ or a data set into DIR.")
    group.callback()(lambda: None)


def _build_command(reader: str) -> Callable[..., None]:
    """Return the command of one reader: the parameters of all, and an option for each of its settings."""

    def run(**values: Any) -> None:
        paths, output, strict, language, as_json = (values.pop(name) for name in COMMON_PARAMETERS)
        with byte_progress_bar() as progress:
            summary = import_archive(
                reader, paths, output, options=values, language=language, strict=strict, progress=progress
            )
        _print_summary(summary, output, as_json)

    parameters = {**COMMON_PARAMETERS, **_setting_options(load("reader", reader))}
    run.__annotations__ = parameters
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=_default_value(reader, name)
            )
            for name, kind in parameters.items()
        ]
    )
    return run


def _setting_options(settings_class: type[Settings]) -> dict[str, Any]:
    return {
        name: Annotated[field.annotation, typer.Option(help=field.description)]
        for name, field in settings_class.model_fields.items()
    }


def _default_value(reader: str, name: str) -> Any:
    fields = load("reader", reader).model_fields
    return fields[name].default if name in fields else COMMON_DEFAULTS.get(name, inspect.Parameter.empty)


def _print_summary(summary: ArchiveSummary, output: Path, as_json: bool) -> None:
    """Print notes on stderr, and the counts on stdout as one line or one JSON object."""
    for what, count in summary.notes.items():
        print(f"{count} {what}", file=sys.stderr)
    if summary.rejected:
        print(f"{summary.rejected} rows rejected: see {output / REJECTS_FILE}", file=sys.stderr)
    if as_json:
        print_json(asdict(summary) | {"archive": str(output)})
    else:
        print(summary)
