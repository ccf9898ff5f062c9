"""A command: how it finds its archive, its renamed options, and the format of its help."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from askalike.cli._combinations import check_combinations

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""typer's exception for an invalid command line, which has no public name."""
DIRECTORY_VARIABLE = "ASKALIKE_DIR"
RENAMED_OPTIONS: dict[str, dict[str, str | None]] = {
    "calibrate": {"--queries": "--sample"},
    "check": {"--ignore": "--skip"},
    "experiment": {"--resume": None},
    "export": {"--out": "--output"},
    "replay": {"--since": "--after", "--until": "--before"},
    "serve": {"--option": "--set"},
    "split": {"--replace": "--force"},
    "suggest-tags": {"--queries": "--sample"},
}
"""Command → former name of an option → its name; None for an option that was removed. Kept until version 2."""
VALUE_NAMES = {"str": "TEXT", "path": "FILE", "Path": "FILE", "int": "N", "float": "NUMBER"}
"""Python type → name of its values in the help."""


class CommandGroup(TyperGroup):
    """A group of commands whose help shows names of values instead of Python types."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the group's parameters as its help shows them."""
        return _name_values(super().get_params(ctx), ctx)


class ArchiveCommand(TyperCommand):
    """A command that takes its archive from ASKALIKE_DIR if the command line has none."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's parameters as its help shows them."""
        return _name_values(super().get_params(ctx), ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the rest of the usage line after the command's name, such as `DIR TEXT` or `[DIR]`."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; if an argument is missing, the archive's directory may come from ASKALIKE_DIR."""
        rest = self._parse_args(ctx, _replace_renamed_options(args, RENAMED_OPTIONS.get(str(self.name), {})))
        if not ctx.resilient_parsing:
            check_combinations(ctx)
        return rest

    def _parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        directory = os.environ.get(DIRECTORY_VARIABLE)
        if not directory or not any(p.envvar == DIRECTORY_VARIABLE for p in self.params):
            return super().parse_args(ctx, args)
        try:
            rest = super().parse_args(ctx, list(args))
        except typer.BadParameter as error:
            if not hasattr(error, "param_type"):  # only the error of a missing parameter has it
                raise
            return super().parse_args(ctx, [directory, *args])
        given = ctx.params.get("directory")
        if given is None or Path(given).is_dir():
            return rest
        with suppress(USAGE_ERROR):  # the first argument is an optional one, such as the question of suggest-tags
            return super().parse_args(ctx, [directory, *args])
        return super().parse_args(ctx, list(args))


def _name_values(parameters: list[Any], ctx: Any) -> list[Any]:
    """Give each option a name for its value: `a|b` for a choice, `N` for an integer, nothing for a flag."""
    for parameter in parameters:
        if isinstance(parameter, TyperArgument):
            parameter.display_type_rich = _show_nothing  # type: ignore[method-assign]  # its own name says it all
        elif getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.metavar is None:
            kind = (
                parameter.display_type(ctx).strip("<>").removeprefix("list[").removesuffix("]").removesuffix(" range")
            )
            parameter.metavar = VALUE_NAMES.get(kind, kind)
    return parameters


def _show_nothing(ctx: Any) -> None:
    """Show no type for an argument: its name makes it clear."""


def _replace_renamed_options(args: list[str], renamed: dict[str, str | None]) -> list[str]:
    """Return the command line with the current names of options; report those replaced on stderr."""
    replaced = []
    for word in args:
        old, equals, value = word.partition("=")
        if old not in renamed:
            replaced.append(word)
            continue
        new = renamed[old]
        print(f"askalike: {old} is {f'now {new}' if new else 'no longer needed'}", file=sys.stderr)
        if new:
            replaced.append(f"{new}{equals}{value}")
    return replaced
