"""Names for commands: the shared options, rules for options that depend on each other, and output.

A command is a function with typer's annotations, or a `typer.Typer` with several; `askalike.plugin.Command` describes
it, and is registered in the group `askalike.commands`. Its docstring is its help. Raise `askalike.AskalikeError` for
what a user can correct: it becomes one line on stderr, with exit code 2.
"""

from askalike.cli.command import DIRECTORY_VARIABLE, Excludes, Needs, rules
from askalike.cli.options import (
    Assignments,
    Directory,
    Engine,
    Fields,
    Json,
    RankerName,
    assignment,
    checked,
    parse_settings,
    value,
)
from askalike.cli.output import print_remark, to_json
from askalike.core.output import raw_stream
from askalike.core.values import format_count, format_duration, parse_url

__all__ = [
    "DIRECTORY_VARIABLE",
    "Assignments",
    "Directory",
    "Engine",
    "Excludes",
    "Fields",
    "Json",
    "Needs",
    "RankerName",
    "assignment",
    "checked",
    "format_count",
    "format_duration",
    "parse_settings",
    "parse_url",
    "print_remark",
    "raw_stream",
    "rules",
    "to_json",
    "value",
]
