"""Options that only have an effect together with others: a command refuses them if it would ignore them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from askalike.core.errors import SettingsError


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


RULES: Mapping[str, Sequence[Needs | Excludes]] = {
    "answer": (
        Needs("sure", "mode", ("auto",)),
        Needs("endpoint", "mode", ("grounded",)),
        Needs("model", "mode", ("generate", "auto", "grounded")),
        Needs("ranker settings fields min_probability", "mode", ("nearest", "auto", "grounded")),
    ),
    "drafts": (
        Excludes("reject", "accept"),
        Needs("title answer", "accept"),
        Excludes("min_questions json", "accept"),
        Excludes("min_questions json", "reject"),
    ),
    "evaluate": (
        Needs("endpoint model", "grounded"),
        Excludes("directory ranker settings fields engine split k grounded", "run"),
    ),
    "import": (Needs("download", "encoder"), Needs("seed", "sample")),
    "index": (Excludes("memory", "engine"),),
    "mcp": (Needs("host port require_keys", "http"),),
    "models": (Excludes("json", "remove"),),
    "suggest-tags": (Needs("sample seed", "evaluate"), Excludes("body k", "evaluate")),
}
"""The rules of each command. They do not apply to values from environment variables or defaults."""


def check_combinations(context: Any) -> None:
    """Raise SettingsError if an option of a command line would be ignored."""
    _, command = f"{context.command_path} ".split(" ")[:2]
    for rule in RULES.get(command, ()):
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
