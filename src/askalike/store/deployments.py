"""The active ranker of an archive, the one deployed last and not withdrawn since, and its pre-trained encoder."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from askalike.core.values import now
from askalike.store.archive import Archive
from askalike.store.database import execute


@dataclass(frozen=True, slots=True)
class ServedRanker:
    """A deployed ranker: its name and settings, when it was deployed (ISO 8601, UTC), and the reason in a sentence.

    selection_query_ids: the ids of the queries whose labels were used to select it; empty if none were, or if unknown.
    """

    number: int
    created_at: str
    ranker: str
    settings: Mapping[str, Any]
    reason: str
    selection_query_ids: frozenset[str] = frozenset()

    @property
    def part_names(self) -> tuple[str, ...]:
        """The ranker's name and those of its parts."""
        return (self.ranker, *self.settings.get("parts", ()))


def serve_ranker(
    archive: Archive, ranker: str, settings: Mapping[str, Any], reason: str, selection_query_ids: Iterable[str] = ()
) -> ServedRanker:
    """Deploy a ranker: it becomes the default of all searches. selection_query_ids: see ServedRanker."""
    sql = "INSERT INTO deployments (created_at, ranker, settings, reason, selection_query_ids) VALUES (?, ?, ?, ?, ?)"
    execute(archive, sql, now(), ranker, json.dumps(dict(settings)), reason, json.dumps(sorted(selection_query_ids)))
    return serving_history(archive)[0]


def get_served_ranker(archive: Archive) -> ServedRanker | None:
    """Return the deployed ranker; None (the built-in default) if none was deployed or all were withdrawn."""
    return next(iter(serving_history(archive)), None)


def withdraw_ranker(archive: Archive) -> ServedRanker | None:
    """Withdraw the deployed ranker and return the previous one, now active again; None is the built-in default."""
    execute(
        archive,
        "UPDATE deployments SET withdrawn = 1 WHERE number = (SELECT MAX(number) FROM deployments WHERE NOT withdrawn)",
    )
    return get_served_ranker(archive)


def ready_ranker(archive: Archive) -> ServedRanker | None:
    """Return the ranker whose index a running service has built and uses; None is the built-in default."""
    return next(_served_rankers(archive, "ready"), None)


def mark_ready(archive: Archive, number: int | None) -> None:
    """Record that the index of a deployment is built and ready for use; None is the built-in default."""
    execute(archive, "UPDATE deployments SET ready = number IS ?1 WHERE ready OR number IS ?1", number)


def serving_history(archive: Archive) -> list[ServedRanker]:
    """Return the deployments that were not withdrawn, newest first."""
    return list(_served_rankers(archive, "NOT withdrawn ORDER BY number DESC"))


def _served_rankers(archive: Archive, condition: str) -> Iterator[ServedRanker]:
    sql = f"SELECT number, created_at, ranker, settings, reason, selection_query_ids FROM deployments WHERE {condition}"
    for number, created_at, ranker, settings, reason, query_ids in execute(archive, sql):
        ids = frozenset(json.loads(query_ids or "[]"))
        yield ServedRanker(number, created_at, ranker, json.loads(settings), reason, ids)


META_KEY = "encoder"


@dataclass(frozen=True, slots=True)
class ArchiveEncoder:
    """An archive's own encoder.

    name: its name in `models/`, also the name of its ranker. source: the folder, package or hub name that it came
    from. revision: the commit on the hub; None for a local model. digests: file name → SHA-256.
    """

    name: str
    source: str
    revision: str | None
    digests: Mapping[str, str]


def get_archive_encoder(archive: Archive) -> ArchiveEncoder | None:
    """Return the archive's encoder; None if it has none."""
    values = archive.meta.get(META_KEY)
    return ArchiveEncoder(**values) if values else None


def set_archive_encoder(archive: Archive, encoder: ArchiveEncoder | None) -> None:
    """Set the archive's encoder; None to remove it."""
    archive.set_meta(**{META_KEY: asdict(encoder) if encoder else None})
