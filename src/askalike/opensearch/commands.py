"""askalike opensearch: a cluster that holds the indexes of archives. An example of another package's commands."""

import json as json_format
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, BadParameter, Option, Typer

from askalike import rankers
from askalike.core.config import parse_assignments
from askalike.core.errors import SettingsError
from askalike.core.values import FIELDS, check_fields, format_count, parse_url
from askalike.store import Archive

opensearch_command = Typer(
    help="""Set up and inspect an OpenSearch cluster that holds indexes.

    Examples:

    ```
    askalike opensearch init http://127.0.0.1:9200
    askalike opensearch status DIR --opensearch http://127.0.0.1:9200
    ```
    """,
    no_args_is_help=True,
)
VARIABLE = "ASKALIKE_OPENSEARCH"


def checked(parse: Callable[[str], str]) -> Callable[[str | None], str | None]:
    """Return an option's callback, which parses a text with `parse`; its ValueErrors become usage errors."""

    def parse_option(text: str | None) -> str | None:
        try:
            return text and parse(text)
        except ValueError as error:
            raise BadParameter(str(error)) from None

    return parse_option


def check_assignments(texts: list[str] | None) -> list[str]:
    """Return assignments KEY=VALUE unchanged. Raises SettingsError for another text."""
    parse_assignments(texts or [])
    return texts or []


Url = Annotated[
    str, Argument(metavar="URL", envvar=VARIABLE, callback=checked(parse_url), help="The cluster's address.")
]
UrlOption = Annotated[
    str | None,
    Option("--opensearch", metavar="URL", envvar=VARIABLE, callback=checked(parse_url), help="The cluster's address."),
]
Ranker = Annotated[
    str | None,
    Option(
        "--ranker", "-r", metavar="NAME", envvar="ASKALIKE_RANKER", help="The ranker.", show_default="the active one"
    ),
]
Assignments = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", callback=check_assignments, help="A setting of the ranker; may be repeated."),
]
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
Directory = Annotated[Path, Argument(metavar="DIR", envvar="ASKALIKE_DIR", help="The archive's directory.")]


@opensearch_command.command("init")
def init_command(
    url: Url,
    shards: Annotated[int, Option(min=1, help="Shards per index.")] = 1,
    replicas: Annotated[int, Option(min=0, help="Replicas per shard.")] = 1,
) -> None:
    """Set the shards and replicas of new indexes.

    Examples:

    ```
    askalike opensearch init http://127.0.0.1:9200
    askalike opensearch init http://127.0.0.1:9200 --shards 3 --replicas 2
    ```
    """
    from askalike.opensearch.management import init_cluster

    counts = f"{format_count(shards, 'shard')}, {format_count(replicas, 'replica')}"
    print(f"OpenSearch {init_cluster(url, shards, replicas)}: new indexes have {counts}")


@opensearch_command.command("status")
def status_command(
    directory: Directory,
    opensearch: UrlOption = None,
    ranker: Ranker = None,
    settings: Assignments = None,
    fields: Fields = None,
    json: Annotated[bool, Option("--json", help="Print one JSON object instead of text.")] = False,
) -> None:
    """Show how far a ranker's indexes are behind the archive, and how to repair them.

    Examples:

    ```
    askalike opensearch status DIR --opensearch http://127.0.0.1:9200
    askalike opensearch status DIR --ranker bm25 --json
    ```
    """
    from askalike.opensearch.management import index_status

    with _open_archive(directory, opensearch) as archive:
        values = parse_assignments(settings or []) | ({"fields": fields} if fields else {})
        statuses = index_status(archive, rankers.create(ranker, values, archive))
    if json:
        print(json_format.dumps([asdict(status) for status in statuses], indent=1))
        return
    for status in statuses:
        documents, changes = format_count(status.documents, "document"), format_count(status.behind, "change")
        print(f"{status.name}: {status.health}, {documents}, {status.replaced} replaced, {changes} behind")
        if status.advice:
            print(f"askalike: {status.name}: {status.advice}", file=sys.stderr)


@opensearch_command.command("merge")
def merge_command(directory: Directory, opensearch: UrlOption = None) -> None:
    """Remove replaced documents from the term statistics; rewrites the indexes.

    Examples:

    ```
    askalike opensearch merge DIR
    askalike opensearch merge DIR --opensearch http://127.0.0.1:9200
    ```
    """
    from askalike.opensearch.management import merge_indexes

    with _open_archive(directory, opensearch) as archive:
        remaining = merge_indexes(archive)
    later = "; the cluster keeps them for another half minute, repeat then" if remaining else ""
    print(f"{format_count(remaining, 'replaced document')} left{later}")


@opensearch_command.command("drop")
def drop_command(
    directory: Directory,
    opensearch: UrlOption = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Confirm the removal.")] = False,
) -> None:
    """Remove every index of an archive from the cluster; the archive is untouched.

    Examples:

    ```
    askalike opensearch drop DIR --yes
    askalike opensearch drop DIR --opensearch http://127.0.0.1:9200 --yes
    ```
    """
    from askalike.opensearch.management import drop_indexes

    if not yes:
        raise SettingsError(f"opensearch drop removes every index of {directory} from the cluster; confirm with --yes")
    with _open_archive(directory, opensearch) as archive:
        names = drop_indexes(archive)
    print(f"{format_count(len(names), 'index')} removed")


def _open_archive(directory: Path, url: str | None) -> Archive:
    if url is None:
        raise SettingsError(f"no cluster is named; give --opensearch URL, or set {VARIABLE}")
    return Archive.open(directory, f"opensearch+{url}")
