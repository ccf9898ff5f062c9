"""Sets up a cluster, tells how far its indexes are behind an archive, merges and drops them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from askalike import Archive, Ranker
from askalike.plugin.index import SearchIndexError, pending_changes
from askalike_opensearch.connection import OpenSearchConnection, connect
from askalike_opensearch.engine import NAME, PREFIX, archive_prefix
from askalike_opensearch.index import GENERATION, OpenSearchIndex, expunge

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


def index_status(archive: Archive, ranker: Ranker) -> list[OpenSearchStatus]:
    """Return the state of all indexes of a ranker and an archive in the cluster. Raises EngineError."""
    view = archive.view()
    cluster = connect_to(archive)
    statuses = []
    command = f"askalike index {archive.path} --ranker {ranker.name} --engine {NAME}+{cluster.address}"
    for index in ranker.indexes(view, refresh=False):
        if not isinstance(index, OpenSearchIndex):
            continue
        try:
            index.refresh()
        except SearchIndexError:
            behind = view.change
            advice = f"it was built with other settings or another version; run: {command} --rebuild"
        else:
            behind = pending_changes(view, index.state.change)[0]
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
