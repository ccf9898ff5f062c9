"""Options that several commands share, and the functions that parse them."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, BadParameter, Option

from askalike import rankers
from askalike.cli.command import DIRECTORY_VARIABLE
from askalike.cli.output import print_remark
from askalike.core.config import parse_assignments
from askalike.core.errors import SettingsError
from askalike.core.filters import LEFT_OUT, Filter, parse_left_out
from askalike.core.values import FIELDS, check_fields, parse_limit, parse_tag, parse_url
from askalike.index.engine import parse_address
from askalike.rankers import Ranker
from askalike.store import Archive

if TYPE_CHECKING:
    from askalike.search.archive_retriever import ArchiveRetriever


def checked(parse: Callable[[str], Any]) -> Callable[[Any], Any]:
    """Return an option's callback, which parses each text with `parse`; its ValueErrors become usage errors."""

    def parse_option(value: Any) -> Any:
        try:
            return [parse(one) for one in value] if isinstance(value, list) else None if value is None else parse(value)
        except ValueError as error:
            raise BadParameter(str(error)) from None

    return parse_option


def check_assignment(text: str) -> str:
    """Return KEY=VALUE unchanged. Raises SettingsError for a text in another format."""
    parse_assignments([text])
    return text


def value(name: str, help: str, shown: str | bool = True, parse: Callable[[str], Any] | None = None) -> Any:
    """Return an option. name: of its value in the help. shown: its default there. parse: see `checked`."""
    return Option(metavar=name, callback=checked(parse) if parse else None, help=help, show_default=shown)


def _read_body(text: str) -> str:
    """Return a body, which is standard input for `-`: an argument has at most 128 kB. Raises ValueError."""
    try:
        return sys.stdin.buffer.read().decode() if text == "-" else text
    except UnicodeDecodeError as error:
        raise ValueError(f"standard input is not UTF-8 (byte {error.start})") from None


def url(help: str, shown: str | bool = True) -> Any:
    """Return an option for an address; see `value`."""
    return value("URL", help, shown, parse_url)


def share(help: str, shown: str | bool = True) -> Any:
    """Return an option for a number from 0 to 1. shown: its default in the help."""
    return Option(min=0, max=1, help=help, show_default=shown)


def qrels() -> Any:
    """Return the option for a file of judgements."""
    return value("FILE", "Relevance judgements, in the format of TREC, BEIR or SemEval.")


def output(name: str, help: str, shown: str | bool = True) -> Any:
    """Return the option -o for what is written; see `value`."""
    return Option("-o", "--output", metavar=name, help=help, show_default=shown)


def assignment(help: str) -> Any:
    """Return the option --set KEY=VALUE. help: what it sets."""
    return Option("--set", metavar="KEY=VALUE", callback=checked(check_assignment), help=f"{help}; may be repeated.")


MEASURES_HELP = "Measures as ir-measures writes them, with commas or spaces."
RULE_HELP = "How ties, self-hits and unanswered queries count."
ENGINE_VARIABLE = "ASKALIKE_ENGINE"
RANKER_HELP = f"A model of the archive, or one of: {', '.join(rankers.names())}."
Directory = Annotated[Path, Argument(metavar="DIR", envvar=DIRECTORY_VARIABLE, help="The archive's directory.")]
LabelledArchive = Annotated[
    Path | None, Argument(metavar="DIR", envvar=DIRECTORY_VARIABLE, help="An archive with labels.")
]
RankerName = Annotated[
    str | None,
    Option("--ranker", "-r", metavar="NAME", envvar="ASKALIKE_RANKER", help=RANKER_HELP, show_default="the active one"),
]
Assignments = Annotated[list[str] | None, assignment("A setting of the ranker")]
Fields = Annotated[
    str | None,
    Option(
        "--fields",
        metavar="FIELDS",
        autocompletion=lambda incomplete: [name for name in FIELDS if name.startswith(incomplete)],
        callback=checked(check_fields),
        help="The fields of questions to search: title, body, text (both), answer (the accepted one), or several.",
        show_default="those of the ranker",
    ),
]
Engine = Annotated[
    str | None,
    Option(
        "--engine",
        metavar="NAME+URL",
        envvar=ENGINE_VARIABLE,
        callback=checked(parse_address),
        help="The engine that holds the indexes, instead of the archive's directory.",
    ),
]
Jobs = Annotated[int, Option("--jobs", min=1, help="Number of processes that share the work.")]
Ray = Annotated[
    str | None, Option("--ray", metavar="HOST:PORT", help="Share the work on a running Ray cluster, instead of --jobs.")
]
Json = Annotated[bool, Option("--json", help="Print one JSON object instead of text.")]
Probability = Annotated[
    float | None,
    share("Minimum probability that a hit asks the same; needs a calibration.", "the calibration's threshold"),
]
Depth = Annotated[int, Option("-k", min=1, help="Documents per query.")]
RuleName = Literal["trec_eval", "semeval", "beir", "lei"]
Seed = Annotated[int, Option(min=0, help="Seed of everything that is drawn at random.")]
Port = Annotated[int, Option(min=0, max=65535, help="The port; 0 picks a free one.")]
Body = Annotated[
    str, value("TEXT", "The question's body; - reads it from standard input, for any length.", parse=_read_body)
]
Tags = Annotated[
    list[str] | None,
    Option("--tag", metavar="TAG", callback=checked(parse_tag), help="Only questions with this tag; may be repeated."),
]
Before = Annotated[
    str | None,
    Option("--before", metavar="DATE", callback=checked(parse_limit), help="Only questions asked before this date."),
]
After = Annotated[
    str | None,
    Option(
        "--after", metavar="DATE", callback=checked(parse_limit), help="Only questions asked on or after this date."
    ),
]
Without = Annotated[
    list[str] | None,
    Option(
        "--without",
        metavar="STATE",
        callback=checked(parse_left_out),
        help=f"Leave out {', '.join(LEFT_OUT[:-1])} or {LEFT_OUT[-1]} questions; may be repeated.",
    ),
]
QrelsFile = Annotated[Path | None, qrels()]


def check_measures(text: str) -> str:
    """Return a list of measures unchanged. Raises SettingsError for an unknown one."""
    from askalike.evaluation.measures import canonical_name

    if not (names := split_list(text)):
        raise SettingsError("no measure is named; expected for instance AP, RR, P@5, Success@1")
    for name in names:
        canonical_name(name)
    return text


def check_measure(text: str) -> str:
    """Return the name of one measure unchanged. Raises SettingsError for any other text."""
    if len(split_list(text)) != 1:
        raise SettingsError(f"measure {text!r}: expected one measure, such as nDCG@10")
    return check_measures(text)


def announce_compilation() -> bool:
    """Explain on stderr why the first search after an installation is slow, and return whether it is."""
    from askalike.index.lexical.query_batch import search_queries

    if must_compile := not search_queries.is_cached:
        print_remark("askalike: compiling the search for this machine, once; this can take a minute …")
    return must_compile


def build_ranker(archive: Archive, name: str | None, settings: list[str] | None, fields: str | None) -> Ranker:
    """Return the ranker given by --ranker, --set and --fields, to search with; by default the active one."""
    announce_compilation()
    return rankers.create(name, parse_settings(settings, fields), archive)


@contextmanager
def open_retriever(
    directory: Path, engine: str | None, ranker: str | None, settings: list[str] | None, fields: str | None,
    filter: Filter | None = None,
) -> "Iterator[ArchiveRetriever]":  # fmt: skip
    """Yield a retriever for people who wait for an answer, with the ranker of `build_ranker`.

    It says why words answer, see `ArchiveRetriever`.
    """
    from askalike.search.archive_retriever import ArchiveRetriever

    with Archive.open(directory, engine) as archive:
        chosen = build_ranker(archive, ranker, settings, fields)
        with ArchiveRetriever(archive, chosen, filter=filter, waits=bool(ranker)) as opened:
            if remark := opened.remark:
                print_remark(f"askalike: {remark}")
            yield opened


def parse_settings(settings: list[str] | None, fields: str | None = None) -> dict[str, object]:
    """Return the settings given by --set and --fields, as setting → value."""
    return parse_assignments(settings or []) | ({"fields": fields} if fields else {})


def split_list(text: str) -> list[str]:
    """Return the names in a list separated by commas or spaces."""
    return text.replace(",", " ").split()
