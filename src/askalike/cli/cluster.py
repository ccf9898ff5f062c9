"""askalike cluster: an OpenSearch cluster that holds the indexes of archives."""

from dataclasses import asdict
from typing import Annotated

from typer import Argument, Option, Typer

from askalike.cli._options import Assignments, Directory, EngineUrl, Fields, Json, RankerName, build_ranker, checked
from askalike.cli._output import print_remark, to_json
from askalike.core.addresses import parse_url
from askalike.core.counts import format_count
from askalike.core.errors import SettingsError
from askalike.store import Archive

cluster_command = Typer(
    help="""Set up and inspect an OpenSearch cluster that holds indexes.

    Examples:

    ```
    askalike cluster init http://127.0.0.1:9200
    askalike cluster status DIR --engine http://127.0.0.1:9200
    ```
    """,
    no_args_is_help=True,
)
Url = Annotated[
    str,
    Argument(metavar="URL", envvar="ASKALIKE_ENGINE", callback=checked(parse_url), help="The cluster's address."),
]


@cluster_command.command("init")
def init_cluster_command(
    url: Url,
    shards: Annotated[int, Option(min=1, help="Shards per index.")] = 1,
    replicas: Annotated[int, Option(min=0, help="Replicas per shard.")] = 1,
) -> None:
    """Set the shards and replicas of new indexes.

    Examples:

    ```
    askalike cluster init http://127.0.0.1:9200
    askalike cluster init http://127.0.0.1:9200 --shards 3 --replicas 2
    ```
    """
    from askalike.search.opensearch import init_cluster

    counts = f"{format_count(shards, 'shard')}, {format_count(replicas, 'replica')}"
    print(f"OpenSearch {init_cluster(url, shards, replicas)}: new indexes have {counts}")


@cluster_command.command("status")
def cluster_status_command(
    directory: Directory,
    engine: EngineUrl = None,
    ranker: RankerName = None,
    settings: Assignments = None,
    fields: Fields = None,
    json: Json = False,
) -> None:
    """Show how far a ranker's indexes are behind the archive, and how to repair them.

    Examples:

    ```
    askalike cluster status DIR --engine http://127.0.0.1:9200
    askalike cluster status DIR --ranker bm25 --json
    ```
    """
    from askalike.search.opensearch import cluster_status

    with _open_archive(directory, engine) as archive:
        statuses = cluster_status(archive, build_ranker(archive, ranker, settings, fields))
    if json:
        print(to_json([asdict(status) for status in statuses]))
        return
    for status in statuses:
        documents, changes = format_count(status.documents, "document"), format_count(status.behind, "change")
        print(f"{status.name}: {status.health}, {documents}, {status.replaced} replaced, {changes} behind")
        if status.advice:
            print_remark(f"askalike: {status.name}: {status.advice}")


@cluster_command.command("merge")
def merge_indexes_command(directory: Directory, engine: EngineUrl = None) -> None:
    """Remove replaced documents from the term statistics; rewrites the indexes.

    Examples:

    ```
    askalike cluster merge DIR
    askalike cluster merge DIR --engine http://127.0.0.1:9200
    ```
    """
    from askalike.search.opensearch import merge_indexes

    with _open_archive(directory, engine) as archive:
        remaining = merge_indexes(archive)
    later = "; the cluster keeps them for another half minute, repeat then" if remaining else ""
    print(f"{format_count(remaining, 'replaced document')} left{later}")


@cluster_command.command("drop")
def drop_indexes_command(
    directory: Directory,
    engine: EngineUrl = None,
    yes: Annotated[bool, Option("--yes", "-y", help="Confirm the removal.")] = False,
) -> None:
    """Remove every index of an archive from the cluster; the archive is untouched.

    Examples:

    ```
    askalike cluster drop DIR --yes
    askalike cluster drop DIR --engine http://127.0.0.1:9200 --yes
    ```
    """
    from askalike.search.opensearch import drop_indexes

    if not yes:
        raise SettingsError(f"cluster drop removes every index of {directory} from the cluster; confirm with --yes")
    with _open_archive(directory, engine) as archive:
        names = drop_indexes(archive)
    print(f"{format_count(len(names), 'index')} removed")


def _open_archive(directory: Directory, engine: str | None) -> Archive:
    if engine is None:
        raise SettingsError("no cluster is named; give --engine URL, or set ASKALIKE_ENGINE")
    return Archive.open(directory, engine)
