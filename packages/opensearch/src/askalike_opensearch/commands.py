"""askalike opensearch: set up a cluster, and look after the indexes in it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from askalike import Archive, SettingsError, build
from askalike.plugin.commands import (
    Assignments,
    Directory,
    Engine,
    Fields,
    Json,
    RankerName,
    checked,
    format_count,
    parse_settings,
    parse_url,
    print_remark,
    to_json,
)
from askalike_opensearch.engine import NAME
from askalike_opensearch.maintenance import drop_indexes, index_status, init_cluster, merge_indexes

opensearch_command = Typer(
    help="""Set up and inspect an OpenSearch cluster that holds indexes.

    Examples:

    ```
    askalike opensearch init http://127.0.0.1:9200
    askalike opensearch status DIR --engine opensearch+http://127.0.0.1:9200
    ```
    """,
    no_args_is_help=True,
)


@opensearch_command.command("init")
def init_command(
    url: Annotated[
        str,
        Argument(
            metavar="URL",
            callback=checked(lambda text: parse_url(text.removeprefix(f"{NAME}+"))),
            help="The cluster's address.",
        ),
    ],
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
    engine: Engine = None,
    ranker: RankerName = None,
    settings: Assignments = None,
    fields: Fields = None,
    json: Json = False,
) -> None:
    """Show how far a ranker's indexes are behind the archive, and how to repair them.

    Examples:

    ```
    askalike opensearch status DIR --engine opensearch+http://127.0.0.1:9200
    askalike opensearch status DIR --ranker bm25 --json
    ```
    """
    with _open_archive(directory, engine) as archive:
        statuses = index_status(archive, build(ranker, parse_settings(settings, fields), archive))
    if json:
        print(to_json([asdict(status) for status in statuses]))
        return
    for status in statuses:
        documents, changes = format_count(status.documents, "document"), format_count(status.behind, "change")
        print(f"{status.name}: {status.health}, {documents}, {status.replaced} replaced, {changes} behind")
        if status.advice:
            print_remark(f"askalike: {status.name}: {status.advice}")


@opensearch_command.command("merge")
def merge_command(directory: Directory, engine: Engine = None) -> None:
    """Remove replaced documents from the term statistics; rewrites the indexes.

    Examples:

    ```
    askalike opensearch merge DIR
    askalike opensearch merge DIR --engine opensearch+http://127.0.0.1:9200
    ```
    """
    with _open_archive(directory, engine) as archive:
        remaining = merge_indexes(archive)
    later = "; the cluster keeps them for another half minute, repeat then" if remaining else ""
    print(f"{format_count(remaining, 'replaced document')} left{later}")


@opensearch_command.command("drop")
def drop_command(
    directory: Directory,
    engine: Engine = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Confirm the removal.")] = False,
) -> None:
    """Remove every index of an archive from the cluster; the archive is untouched.

    Examples:

    ```
    askalike opensearch drop DIR --yes
    askalike opensearch drop DIR --engine opensearch+http://127.0.0.1:9200 --yes
    ```
    """
    if not yes:
        raise SettingsError(f"opensearch drop removes every index of {directory} from the cluster; confirm with --yes")
    with _open_archive(directory, engine) as archive:
        names = drop_indexes(archive)
    print(f"{format_count(len(names), 'index')} removed")


def _open_archive(directory: Path, engine: str | None) -> Archive:
    if engine is None:
        raise SettingsError(f"no cluster is named; give --engine {NAME}+URL, or set ASKALIKE_ENGINE")
    return Archive.open(directory, engine)
