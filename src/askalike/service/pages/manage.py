"""*Manage*: what an operator looks after: sources, keys, backups, disk and versions, each with its command."""

import platform
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from fastapi import APIRouter, Request, Response

from askalike.core.files import measure_folder
from askalike.service.pages.auth import OperatorArchive
from askalike.service.pages.rendering import render_page
from askalike.store import Archive
from askalike.store.backup import LastBackup, read_last_backup
from askalike.store.database import DATABASE_FILE, SCHEMA_VERSION
from askalike.store.deployments import get_archive_encoder
from askalike.store.keys import ApiKey, list_keys
from askalike.store.sources import SourceSummary, last_imports, summarise_sources

router = APIRouter()


@dataclass(frozen=True, slots=True)
class ArchiveCare:
    """An archive as the page shows it. sizes: of its database, its indexes and all of its directory, in bytes."""

    sources: Sequence[SourceSummary]
    imports: Mapping[str, tuple[str, int]]
    """Source → the reader of its last import, and the rows that this rejected."""
    keys: Sequence[ApiKey]
    backup: LastBackup | None
    database_bytes: int
    index_bytes: int
    folder_bytes: int
    free_bytes: int
    versions: Mapping[str, str]


@router.get("/a/{archive}/manage")
async def get_manage(archive: OperatorArchive, request: Request) -> Response:
    """Show the page."""
    ranker = archive.model
    care = await archive.run_on_store(lambda store: load_care(store, ranker))
    return render_page(request, "manage.html", care=care, quote=shlex.quote)


def load_care(archive: Archive, ranker: str) -> ArchiveCare:
    """Return what an operator looks after."""
    encoder = get_archive_encoder(archive)
    versions = {
        "askalike": version("askalike"),
        "Python": platform.python_version(),
        "schema": str(SCHEMA_VERSION),
        "ranker": ranker,
        "encoder": encoder.source if encoder else "",
    }
    return ArchiveCare(
        summarise_sources(archive),
        last_imports(archive),
        list_keys(archive),
        read_last_backup(archive.path),
        sum(path.stat().st_size for path in archive.path.glob(f"{DATABASE_FILE}*")),
        measure_folder(archive.path / "index") if (archive.path / "index").is_dir() else 0,
        measure_folder(archive.path),
        shutil.disk_usage(archive.path).free,
        {name: text for name, text in versions.items() if text},
    )
