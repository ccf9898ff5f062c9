"""Backups of an archive in one file, made while the archive is in use; indexes are left out, as they can be rebuilt.

A backup is a plain tar: `backup.json` with the SHA-256 of every file, `archive.sqlite` as of one transaction, and the
archive's other files (models, calibrations). Backups, and restored archives, are renamed into place once on disk.
"""

import io
import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, NamedTuple

from pydantic import ConfigDict, TypeAdapter, ValidationError

from askalike.core.errors import ArchiveError
from askalike.core.files import (
    PARTIAL_SUFFIX,
    compute_sha256,
    folder_errors,
    fsync_folder,
    fsync_path,
    scratch_folder,
    write_atomically,
)
from askalike.core.values import now
from askalike.store.archive import Archive
from askalike.store.contents import content_hash
from askalike.store.database import DATABASE_FILE, FILE_MODE, SCHEMA_VERSION, require_intact, storage_errors
from askalike.store.keys import delete_keys

FORMAT_VERSION = 1
MANIFEST_FILE = "backup.json"
EXCLUDED_FOLDERS = ("index",)
"""Folders that can be rebuilt."""
LAST_BACKUP_FILE = "last-backup.json"
"""In an archive's directory: what is known of its last backup."""
MAX_MANIFEST_BYTES = 16 << 20
COPY_CHUNK_BYTES = 1 << 20
IF_UNWRITABLE = "free some space or choose another place"


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """The description of a backup. content_hash: the archive's; files: file name → SHA-256."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(strict=True, extra="forbid")

    format: int
    created_at: str
    questions: int
    schema: int
    content_hash: str
    files: Mapping[str, str]


def backup(directory: Path, file: Path) -> BackupManifest:
    """Save the archive in a directory to a new file; other processes may continue to write the archive.

    Temporarily needs twice the size of the backup on disk. Raises ArchiveError.
    """
    if file.exists():
        raise ArchiveError(f"{file}: already exists; choose another name, or remove it first")
    if not file.parent.is_dir():
        problem = "no such folder; create it first, or mount its disk"
        raise ArchiveError(f"{file.parent}: {problem}")
    if directory.resolve() in file.resolve().parents:
        raise ArchiveError(f"{file}: lies inside the archive; choose another place")
    errors = folder_errors(file, IF_UNWRITABLE)
    with Archive.open(directory) as archive, errors, scratch_folder(file) as scratch, storage_errors(file):
        scratch.chmod(0o700)
        content, packed = scratch / "content", scratch / "packed"
        shutil.copytree(directory, content, ignore=_ignore_rebuildable(directory))
        for folder in (content, *filter(Path.is_dir, content.rglob("*"))):
            folder.chmod(0o755)  # folders copied from a read-only archive could be neither written nor removed
        with closing(sqlite3.connect(content / DATABASE_FILE)) as copy:
            archive._connection.backup(copy)  # the state of one transaction, without blocking writers
            require_intact(copy, directory, "quick_check")
        manifest = _build_manifest(content)
        _pack(packed, manifest, content)
        packed.chmod(FILE_MODE)
        fsync_path(packed)
        os.replace(packed, file)
        fsync_path(file.parent)
    return manifest


class LastBackup(NamedTuple):
    """The last backup of an archive: its file, when it was saved, its questions, and whether it was verified."""

    file: str
    saved_at: str
    questions: int
    is_verified: bool


def note_backup(directory: Path, file: Path, manifest: BackupManifest, is_verified: bool) -> None:
    """Note a backup in the archive's directory, for the operator's page; an archive that is read-only has no note."""
    last = LastBackup(str(file.resolve()), manifest.created_at, manifest.questions, is_verified)
    with suppress(OSError):
        write_atomically(directory / LAST_BACKUP_FILE, json.dumps(last._asdict()) + "\n")


def read_last_backup(directory: Path) -> LastBackup | None:
    """Return the note of the archive's last backup; None if there is none that can be read."""
    try:
        return LastBackup(**json.loads((directory / LAST_BACKUP_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def verify_backup(file: Path) -> BackupManifest:
    """Restore a backup to a temporary folder next to it, as proof that it can be; return its manifest.

    Raises ArchiveError if it cannot be restored, or there is no space.
    """
    target = file.with_name(f"{file.name}.verified")
    with folder_errors(target, IF_UNWRITABLE), scratch_folder(target) as scratch:
        return _unpack_verified(file, scratch / "content")


def restore(file: Path, directory: Path, *, with_keys: bool = True) -> BackupManifest:
    """Restore the archive in a backup to a new or empty directory, after verifying its content.

    with_keys: False to leave its keys and sessions out: whoever made the backup may have one.
    Raises ArchiveError if the file is not a backup or is damaged, and if the directory is not empty.
    """
    if not file.is_file():
        raise ArchiveError(f"{file}: not a file; expected one made by: askalike backup")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ArchiveError(f"{directory}: already exists; a backup is restored into a new or empty directory")
    with folder_errors(directory, IF_UNWRITABLE), scratch_folder(directory) as scratch:
        content = scratch / "content"
        manifest = _unpack_verified(file, content)
        if not with_keys:
            with Archive.open(content) as archive:
                delete_keys(archive)
        fsync_folder(content)
        os.replace(content, directory)
        fsync_path(directory.parent)
    return manifest


def _unpack_verified(file: Path, content: Path) -> BackupManifest:
    """Unpack a backup into a new folder and return its manifest. Raises ArchiveError for anything wrong with it."""
    manifest = _unpack(file, content)
    with storage_errors(content), Archive.open(content) as archive:
        archive.require_intact()
        if (content_hash(archive), len(archive.view())) != (manifest.content_hash, manifest.questions):
            raise ArchiveError(f"{file}: differs from the saved data (content hash); use another backup")
    return manifest


def _ignore_rebuildable(directory: Path) -> Callable[[Any, list[str]], set[str]]:
    """Return a filter for `copytree` that leaves out the database, indexes, and files that are being written."""

    def ignored_names(folder: Any, names: list[str]) -> set[str]:
        ignored = {name for name in names if name.endswith(PARTIAL_SUFFIX)}
        if Path(folder) == directory:
            left_out = (*EXCLUDED_FOLDERS, LAST_BACKUP_FILE)
            ignored |= {name for name in names if name in left_out or name.startswith(DATABASE_FILE)}
        return ignored

    return ignored_names


def _build_manifest(content: Path) -> BackupManifest:
    with Archive.open(content) as archive:
        schema = SCHEMA_VERSION
        questions = len(archive.view())
        content_id = content_hash(archive)
    paths = (path for path in sorted(content.rglob("*")) if path.is_file())
    sums = {path.relative_to(content).as_posix(): compute_sha256(path) for path in paths}
    return BackupManifest(FORMAT_VERSION, now(), questions, schema, content_id, sums)


def _pack(tar_path: Path, manifest: BackupManifest, content: Path) -> None:
    text = json.dumps(asdict(manifest), indent=1, ensure_ascii=False).encode()
    with tarfile.open(tar_path, "w", format=tarfile.PAX_FORMAT) as tar:
        first = tarfile.TarInfo(MANIFEST_FILE)
        first.size = len(text)
        tar.addfile(first, io.BytesIO(text))
        for name in manifest.files:
            tar.add(content / name, name)


def _unpack(file: Path, content: Path) -> BackupManifest:
    """Unpack a backup into `content`, checking the SHA-256 of each file; return its manifest."""
    try:
        with tarfile.open(file, "r:") as tar:
            manifest = _read_manifest(tar, file)
            for member in tar:
                if member.name != MANIFEST_FILE:
                    _extract_member(tar, member, content, manifest, file)
    except (tarfile.TarError, EOFError):
        raise ArchiveError(f"{file}: not a backup, or truncated; use another one") from None
    if missing := [name for name in manifest.files if not (content / name).is_file()]:
        raise ArchiveError(f"{file}: {missing[0]} is missing in it; use another backup")
    return manifest


def _read_manifest(tar: tarfile.TarFile, file: Path) -> BackupManifest:
    first = tar.next()
    is_manifest = first is not None and first.name == MANIFEST_FILE and first.size <= MAX_MANIFEST_BYTES
    stream = tar.extractfile(first) if first and is_manifest else None
    with suppress(ValidationError):
        manifest = TypeAdapter(BackupManifest).validate_json(stream.read() if stream else b"")
        if manifest.format == FORMAT_VERSION:
            return manifest
    raise ArchiveError(f"{file}: expected a backup of format {FORMAT_VERSION}, made by: askalike backup")


def _extract_member(
    tar: tarfile.TarFile, member: tarfile.TarInfo, content: Path, manifest: BackupManifest, file: Path
) -> None:
    name = PurePosixPath(member.name)
    is_stored = member.isreg() and not member.issparse()  # ten kilobytes can declare a sparse file of any size
    source = tar.extractfile(member) if is_stored and member.name in manifest.files else None
    is_outside = name.is_absolute() or ".." in name.parts or name.parts[:1] in [(each,) for each in EXCLUDED_FOLDERS]
    if source is None or is_outside:
        raise ArchiveError(f"{file}: contains {member.name!r}, which is not part of a backup; nothing was restored")
    target = content / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE_MODE), "wb") as out:
            shutil.copyfileobj(source, out, COPY_CHUNK_BYTES)
    except (FileExistsError, NotADirectoryError):
        raise ArchiveError(f"{file}: contains {member.name!r} twice, or as a folder; use another backup") from None
    if compute_sha256(target) != manifest.files[member.name]:
        raise ArchiveError(f"{file}: {member.name} is damaged (its SHA-256 differs); use another backup")
