"""A command: how it finds its archive, and the format of its help."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from askalike.core.errors import SettingsError
from askalike.core.output import safe_output

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
DIRECTORY_VARIABLE = "ASKALIKE_DIR"
VALUE_NAMES = {"str": "TEXT", "path": "FILE", "Path": "FILE", "int": "N", "float": "NUMBER"}
"""Python type → name of its values in the help."""


class _HelpWithExamples:
    """Prints a help with its block of examples, to which rich would add blank lines."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        from rich.markdown import CodeBlock, Markdown  # only a help needs them
        from rich.padding import Padding

        class Examples(CodeBlock):
            def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
                self.text.rstrip()
                yield Padding(self.text, (0, 1))

        Markdown.elements["fence"] = Examples
        super().format_help(ctx, formatter)  # type: ignore[misc]


class CommandGroup(_HelpWithExamples, TyperGroup):
    """A group of commands whose help shows names of values instead of Python types."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the group's parameters as its help shows them."""
        return _name_values(super().get_params(ctx), ctx)


class ArchiveCommand(_HelpWithExamples, TyperCommand):
    """A command that takes its archive from ASKALIKE_DIR if the command line has none."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the command's parameters as its help shows them."""
        return _name_values(super().get_params(ctx), ctx)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; control characters of texts that it prints are escaped."""
        with safe_output():
            return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the rest of the usage line after the command's name, such as `DIR TEXT` or `[DIR]`."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line; if an argument is missing, the archive's directory may come from ASKALIKE_DIR."""
        implied: Implied | None = getattr(self.callback, "implied", None)
        rest = self._parse_args(ctx, implied.complete(args) if implied else args)
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
            parameter.display_type_rich = lambda ctx: None  # type: ignore[method-assign]  # its own name says it all
        elif getattr(parameter, "is_flag", False):
            parameter.metavar = ""
        elif parameter.metavar is None:
            kind = (
                parameter.display_type(ctx).strip("<>").removeprefix("list[").removesuffix("]").removesuffix(" range")
            )
            parameter.metavar = VALUE_NAMES.get(kind, kind)
    return parameters


class Needs(NamedTuple):
    """The options have an effect only if another parameter is set; if there are `values`, only if it is one of them.

    options: names of the parameters in Python, separated by spaces.
    """

    options: str
    other: str
    values: tuple[str, ...] = ()

    def describe_conflict(self, context: Any, given: Sequence[str]) -> str | None:
        """Return what is wrong if these options were given; None if nothing is."""
        value = context.params[self.other]
        if value in self.values if self.values else value:
            return None
        verb, choice = "needs" if len(given) == 1 else "need", f" {_join(self.values, 'or')}" if self.values else ""
        return f"{_join(given)} {verb} {_name(context, self.other)}{choice}"


class Excludes(NamedTuple):
    """The options have no effect if another parameter is set; see Needs."""

    options: str
    other: str

    def describe_conflict(self, context: Any, given: Sequence[str]) -> str | None:
        """See Needs."""
        if not context.params[self.other]:
            return None
        return f"{_join([_name(context, self.other), *given])} exclude each other; give one of them"


class Implied(NamedTuple):
    """What an option stands for that may be without a value: `value`, unless one of `values` follows."""

    option: str
    value: str
    values: tuple[str, ...]

    def complete(self, args: Sequence[str]) -> list[str]:
        """Return a command line in which the option has its value."""
        pairs = zip(args, [*args[1:], ""], strict=False)
        return [
            f"{arg}={self.value}" if arg == self.option and follower not in self.values else arg
            for arg, follower in pairs
        ]


def rules(*rules: Needs | Excludes, implied: Implied | None = None) -> Callable[[FunctionT], FunctionT]:
    """Give a command rules for its options. They do not apply to values from environment variables or defaults."""

    def attach(function: FunctionT) -> FunctionT:
        function.rules, function.implied = rules, implied  # type: ignore[attr-defined]
        return function

    return attach


def check_combinations(context: Any) -> None:
    """Raise SettingsError if an option of a command line would be ignored."""
    for rule in getattr(context.command.callback, "rules", ()):
        given = [_name(context, option) for option in rule.options.split() if _is_given(context, option)]
        if given and (conflict := rule.describe_conflict(context, given)):
            raise SettingsError(f"{conflict}; see: {context.command_path} --help")


def _join(names: Sequence[str], conjunction: str = "and") -> str:
    """Return `a`, `a and b`, or `a, b and c`."""
    *first, last = names
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def _is_given(context: Any, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _name(context: Any, name: str) -> str:
    """Return the name of a parameter as typed, or as in the help."""
    parameter = next(each for each in context.command.params if each.name == name)
    options: Iterable[str] = parameter.opts
    return next((option for option in options if option.startswith("-")), str(parameter.metavar))
