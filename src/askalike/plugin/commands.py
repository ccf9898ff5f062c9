"""Names for commands: the shared options, rules for options that depend on each other, and output.

A command is a function with typer's annotations, or a `typer.Typer` with several; `askalike.plugin.Command` describes
it, and is registered in the group `askalike.commands`. Its docstring is its help. Raise `askalike.AskalikeError` for
what a user can correct: it becomes one line on stderr, with exit code 2.
"""

from askalike.cli.command import (
    DIRECTORY_VARIABLE as DIRECTORY_VARIABLE,
    Excludes as Excludes,
    Needs as Needs,
    rules as rules,
)
from askalike.cli.options import (
    MEASURES_HELP as MEASURES_HELP,
    RANKER_HELP as RANKER_HELP,
    RULE_HELP as RULE_HELP,
    Assignments as Assignments,
    Before as Before,
    Directory as Directory,
    Engine as Engine,
    Fields as Fields,
    Jobs as Jobs,
    Json as Json,
    QrelsFile as QrelsFile,
    RankerName as RankerName,
    Ray as Ray,
    RuleName as RuleName,
    Seed as Seed,
    announce_compilation as announce_compilation,
    assignment as assignment,
    build_ranker as build_ranker,
    check_measures as check_measures,
    checked as checked,
    output as output,
    parse_settings as parse_settings,
    qrels as qrels,
    share as share,
    split_list as split_list,
    url as url,
    value as value,
)
from askalike.cli.output import (
    lines_without_terminal as lines_without_terminal,
    nested_progress_bars as nested_progress_bars,
    print_remark as print_remark,
    progress_bar as progress_bar,
    to_json as to_json,
)
from askalike.core.config import (
    DateText as DateText,
    FieldNames as FieldNames,
    describe_errors as describe_errors,
    format_path as format_path,
    parse_assignments as parse_assignments,
)
from askalike.core.files import (
    measure_folder as measure_folder,
    write_atomically as write_atomically,
    write_output as write_output,
)
from askalike.core.iteration import OpenBar as OpenBar
from askalike.core.output import raw_stream as raw_stream
from askalike.core.parallel import has_workers as has_workers, map_pieces as map_pieces, use_workers as use_workers
from askalike.core.values import (
    format_count as format_count,
    format_duration as format_duration,
    now as now,
    parse_first_moment as parse_first_moment,
    parse_url as parse_url,
)
