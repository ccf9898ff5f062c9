"""Names for commands: the shared options, rules for options that depend on each other, and output.

A command is a function with typer's annotations, or a `typer.Typer` with several; `askalike.plugin.Command` describes
it, and is registered in the group `askalike.commands`. Its docstring is its help. Raise `askalike.AskalikeError` for
what a user can correct: it becomes one line on stderr, with exit code 2.
"""

from askalike.cli.command import DIRECTORY_VARIABLE, Excludes, Needs, rules
from askalike.cli.options import (
    MEASURES_HELP,
    RANKER_HELP,
    RULE_HELP,
    Assignments,
    Before,
    Directory,
    Engine,
    Fields,
    Jobs,
    Json,
    QrelsFile,
    RankerName,
    Ray,
    RuleName,
    Seed,
    announce_compilation,
    assignment,
    build_ranker,
    check_measures,
    checked,
    output,
    parse_settings,
    qrels,
    share,
    split_list,
    url,
    value,
)
from askalike.cli.output import lines_without_terminal, nested_progress_bars, print_remark, progress_bar, to_json
from askalike.core.config import DateText, FieldNames, describe_errors, format_path, parse_assignments
from askalike.core.files import measure_folder, write_atomically, write_output
from askalike.core.iteration import OpenBar
from askalike.core.output import raw_stream
from askalike.core.parallel import has_workers, map_pieces, use_workers
from askalike.core.values import format_count, format_duration, now, parse_first_moment, parse_url

__all__ = [
    "DIRECTORY_VARIABLE",
    "MEASURES_HELP",
    "RANKER_HELP",
    "RULE_HELP",
    "Assignments",
    "Before",
    "DateText",
    "Directory",
    "Engine",
    "Excludes",
    "FieldNames",
    "Fields",
    "Jobs",
    "Json",
    "Needs",
    "OpenBar",
    "QrelsFile",
    "RankerName",
    "Ray",
    "RuleName",
    "Seed",
    "announce_compilation",
    "assignment",
    "build_ranker",
    "check_measures",
    "checked",
    "describe_errors",
    "format_count",
    "format_duration",
    "format_path",
    "has_workers",
    "lines_without_terminal",
    "map_pieces",
    "measure_folder",
    "nested_progress_bars",
    "now",
    "output",
    "parse_assignments",
    "parse_first_moment",
    "parse_settings",
    "parse_url",
    "print_remark",
    "progress_bar",
    "qrels",
    "raw_stream",
    "rules",
    "share",
    "split_list",
    "to_json",
    "url",
    "use_workers",
    "value",
    "write_atomically",
    "write_output",
]
