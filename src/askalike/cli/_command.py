"""A command: how it finds its archive, and the format of its help."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from askalike.cli._combinations import check_combinations

DIRECTORY_VARIABLE = "ASKALIKE_DIR"
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
        rest = self._parse_args(ctx, args)
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
        with suppress(
            typer.TyperException
        ):  # the first argument is an optional one, such as the question of suggest-tags
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
