"""An archive in one file, made while it is in use: everything that cannot be made again, which an index can.

A backup is a plain tar: `backup.json`, which says what it is and the SHA-256 of every file, then `archive.sqlite` as
one transaction saw it, and the archive's other files (models, calibrations). It comes into being under another name and
is renamed once it is on the disk; so is what is restored from it.
"""

import fcntl
import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from askalike.clock import now
from askalike.errors import ArchiveError
from askalike.files import fsync_path
from askalike.store.archive import Archive
from askalike.store.content import content_hash
from askalike.store.database import DATABASE_FILE, storage_errors
from askalike.store.migrations import MIGRATIONS

FORMAT_VERSION = 1
MANIFEST_FILE = "backup.json"
EXCLUDED_FOLDERS = ("index",)
"""What can be made again."""
MAX_MANIFEST_BYTES = 16 << 20
COPY_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """What a backup says of itself. content: the archive's content hash; files: name → SHA-256."""

    format: int
    made_at: str
    questions: int
    schema: int
    content: str
    files: Mapping[str, str]


def backup(directory: Path, file: Path) -> BackupManifest:
    """Saves the archive in a directory into a file, which must not be there yet; others may go on writing meanwhile.

    Needs room for twice the backup while it is made. Raises ArchiveError.
    """
    if file.exists():
        raise ArchiveError(f"{file}: is there already; choose another name, or remove it first")
    if directory.resolve() in file.resolve().parents:
        raise ArchiveError(f"{file}: lies in the archive that it is to save; choose another place")
    with Archive.open(directory) as archive, _scratch_folder(file) as new, storage_errors(file):
        content, packed = new / "content", new / "packed"
        shutil.copytree(directory, content, ignore=_ignore_rebuildable(directory))
        with closing(sqlite3.connect(content / DATABASE_FILE)) as copy:
            archive._connection.backup(copy)  # one transaction's state; it keeps no writer waiting
        about = _build_manifest(content)
        _pack(packed, about, content)
        fsync_path(packed)
        os.replace(packed, file)
        fsync_path(file.parent)
    return about


def restore(file: Path, directory: Path) -> BackupManifest:
    """Makes the archive that a backup holds, in a new or empty directory, once every byte of it is checked.

    Raises ArchiveError where the file is no backup or damaged, and where the directory holds anything.
    """
    if not file.is_file():
        raise ArchiveError(f"{file}: is no file; expected one made by: askalike backup")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ArchiveError(f"{directory}: is there already; a backup is restored into a new or empty directory")
    with _scratch_folder(directory) as new, storage_errors(directory):
        content = new / "content"
        about = _unpack(file, content)
        _verify_content(content, about, file)
        for path in (*content.rglob("*"), content):
            fsync_path(path)
        os.replace(content, directory)
        fsync_path(directory.parent)
    return about


def _ignore_rebuildable(directory: Path) -> Callable[[Any, list[str]], set[str]]:
    """What `copytree` is to leave out: the database, which is copied apart, and what is made again or being made."""

    def named(folder: Any, names: list[str]) -> set[str]:
        top = Path(folder) == directory
        return {
            n for n in names if n.endswith(".new") or (top and (n in EXCLUDED_FOLDERS or n.startswith(DATABASE_FILE)))
        }

    return named


def _build_manifest(content: Path) -> BackupManifest:
    with Archive.open(content) as archive:
        schema, questions, held = len(MIGRATIONS), len(archive.view()), content_hash(archive)
    sums = {
        path.relative_to(content).as_posix(): _file_sha256(path)
        for path in sorted(content.rglob("*"))
        if path.is_file()
    }
    return BackupManifest(FORMAT_VERSION, now(), questions, schema, held, sums)


def _pack(tar_path: Path, manifest: BackupManifest, content: Path) -> None:
    said = json.dumps(asdict(manifest), indent=1, ensure_ascii=False).encode()
    with tarfile.open(tar_path, "w", format=tarfile.PAX_FORMAT) as tar:
        first = tarfile.TarInfo(MANIFEST_FILE)
        first.size = len(said)
        tar.addfile(first, io.BytesIO(said))
        for name in manifest.files:
            tar.add(content / name, name)


def _unpack(file: Path, content: Path) -> BackupManifest:
    """What the backup says of itself; its files, each with the sum that it should have, are in `content` then."""
    try:
        with tarfile.open(file, "r:") as tar:
            about = _read_manifest(tar, file)
            for member in tar:
                if member.name != MANIFEST_FILE:
                    _extract_member(tar, member, content, about, file)
    except (tarfile.TarError, EOFError):
        raise ArchiveError(f"{file}: is no backup, or was cut short; take another one") from None
    if missing := [name for name in about.files if not (content / name).is_file()]:
        raise ArchiveError(f"{file}: {missing[0]} is missing in it; take another backup")
    return about


def _read_manifest(tar: tarfile.TarFile, file: Path) -> BackupManifest:
    first = tar.next()
    given = (
        tar.extractfile(first) if first and first.name == MANIFEST_FILE and first.size <= MAX_MANIFEST_BYTES else None
    )
    try:
        values = json.loads(given.read()) if given else {}
        if values["format"] == FORMAT_VERSION:
            return BackupManifest(**values)
    except (ValueError, TypeError, KeyError):
        pass
    raise ArchiveError(f"{file}: expected a backup of format {FORMAT_VERSION}, made by: askalike backup")


def _extract_member(
    tar: tarfile.TarFile, member: tarfile.TarInfo, content: Path, manifest: BackupManifest, file: Path
) -> None:
    name = PurePosixPath(member.name)
    source = tar.extractfile(member) if member.isreg() else None
    if source is None or name.is_absolute() or ".." in name.parts or member.name not in manifest.files:
        raise ArchiveError(f"{file}: holds {member.name!r}, which no backup does; nothing was restored")
    target = content / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as out:
        shutil.copyfileobj(source, out, COPY_CHUNK_BYTES)
    if _file_sha256(target) != manifest.files[member.name]:
        raise ArchiveError(f"{file}: {member.name} is damaged in it (its SHA-256 differs); take another backup")


def _verify_content(content: Path, manifest: BackupManifest, file: Path) -> None:
    """Opens the archive, which brings an older schema up to date, and compares what it holds with what was saved."""
    with Archive.open(content) as archive:
        if manifest.schema == len(MIGRATIONS) and content_hash(archive) != manifest.content:
            raise ArchiveError(f"{file}: holds other data than was saved (content hash); take another backup")


@contextmanager
def _scratch_folder(path: Path) -> Iterator[Path]:
    """An empty folder beside `path`, for one process at a time; what one that was killed left there is removed."""
    new = path.with_name(f"{path.name}.new")
    try:
        with _lock_folder(new):
            try:
                _clear_folder(new)
                yield new
            finally:
                shutil.rmtree(new, ignore_errors=True)
    except BlockingIOError:
        raise ArchiveError(f"{new}: another process is at work there; wait until it has finished") from None
    except OSError as error:
        why = error.strerror or error
        raise ArchiveError(f"{path}: cannot be written ({why}); free some space or choose another place") from None


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Makes a folder and holds its lock. Raises BlockingIOError where another process does."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _clear_folder(folder: Path) -> None:
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _file_sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
