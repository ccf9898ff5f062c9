"""Sets up a cluster, tells how far its indexes are behind an archive, merges and drops them."""

import json as json_format
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option, Typer

from askalike import rankers
from askalike.core.config import parse_assignments
from askalike.core.errors import SearchIndexError, SettingsError
from askalike.core.values import FIELDS, check_fields, format_count, parse_url
from askalike.opensearch.connection import OpenSearchConnection, connect
from askalike.opensearch.engine import NAME, PREFIX, archive_prefix
from askalike.opensearch.index import GENERATION, OpenSearchIndex, expunge
from askalike.store import Archive

TEMPLATE = "askalike"
MAX_CLAUSES = 8_192
"""Maximum number of distinct words of a query."""


@dataclass(frozen=True, slots=True)
class OpenSearchStatus:
    """One index of an archive in a cluster.

    behind: the number of the archive's changes that are not indexed yet. replaced: the number of replaced or deleted
    documents that are still in the term statistics. advice: what to do; empty if nothing.
    """

    name: str
    generations: Sequence[str]
    health: str
    documents: int
    replaced: int
    behind: int
    advice: str


def connect_to(archive: Archive) -> OpenSearchConnection:
    """Return the connection to the cluster of an archive that was opened with one."""
    return connect(str(archive.engine).removeprefix(f"{NAME}+"))


def init_cluster(url: str, shards: int, replicas: int) -> str:
    """Set the numbers of shards and replicas of new indexes in a cluster; return the cluster's version.

    Raises EngineError.
    """
    cluster = connect(url)
    settings = {"index.number_of_shards": shards, "index.number_of_replicas": replicas}
    template = {"index_patterns": [f"{PREFIX}*"], "template": {"settings": settings}, "priority": 100}
    cluster.request("PUT", f"/_index_template/{TEMPLATE}", template)
    limits = {"persistent": {"indices.query.bool.max_clause_count": MAX_CLAUSES}}
    cluster.request("PUT", "/_cluster/settings", limits)
    return cluster.version


def index_status(archive: Archive, ranker: rankers.Ranker) -> list[OpenSearchStatus]:
    """Return the state of all indexes of a ranker and an archive in the cluster. Raises EngineError."""
    view = archive.view()
    cluster, statuses = connect_to(archive), []
    command = f"askalike index {archive.path} --ranker {ranker.name} --opensearch {cluster.address}"
    for index in ranker.indexes(view, refresh=False):
        if not isinstance(index, OpenSearchIndex):
            continue
        try:
            index.refresh()
        except SearchIndexError:
            behind, advice = (
                view.change,
                f"it was built with other settings or another version; run: {command} --rebuild",
            )
        else:
            behind = view.pending_changes(index.state.change)[0]
            advice = f"it is behind the archive; run: {command}" if behind else ""
        statuses.append(_describe(cluster, index, behind, advice))
    return statuses


def drop_indexes(archive: Archive) -> list[str]:
    """Remove all indexes of an archive from its cluster; return their names. The archive is not changed."""
    cluster = connect_to(archive)
    names = archive_generations(cluster, archive)
    for name in names:
        cluster.request("DELETE", f"/{name}", missing={})
    return names


def archive_generations(cluster: OpenSearchConnection, archive: Archive) -> list[str]:
    """Return the names of all indexes of an archive in a cluster."""
    prefix = archive_prefix(archive.path, archive.view().change_date(1))
    names = cluster.request("GET", f"/{prefix}*/_settings", missing={}, filter_path="*.settings.index.uuid")
    return sorted(name for name in names if GENERATION.search(name))


def merge_indexes(archive: Archive) -> int:
    """Remove replaced documents from the term statistics of an archive's indexes; return how many remain for now."""
    cluster = connect_to(archive)
    return sum(expunge(cluster, name) for name in archive_generations(cluster, archive))


def _describe(
    cluster: OpenSearchConnection, index: OpenSearchIndex[Any, Any], behind: int, advice: str
) -> OpenSearchStatus:
    generations = index.generations()
    current = index.current_generation()
    if current is None:
        return OpenSearchStatus(index.name, generations, "absent", 0, 0, behind, advice)
    stats = cluster.request("GET", f"/{current}/_stats/docs")["_all"]["primaries"]["docs"]
    health = cluster.request("GET", f"/_cluster/health/{current}")["status"]
    if health == "red":
        advice = "some shards have no copy: restart the missing nodes, or rebuild it with --rebuild"
    return OpenSearchStatus(
        index.name, generations, health, int(stats["count"]) - 1, int(stats["deleted"]), behind, advice
    )


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
    if not yes:
        raise SettingsError(f"opensearch drop removes every index of {directory} from the cluster; confirm with --yes")
    with _open_archive(directory, opensearch) as archive:
        names = drop_indexes(archive)
    print(f"{format_count(len(names), 'index')} removed")


def _open_archive(directory: Path, url: str | None) -> Archive:
    if url is None:
        raise SettingsError(f"no cluster is named; give --opensearch URL, or set {VARIABLE}")
    return Archive.open(directory, f"opensearch+{url}")
