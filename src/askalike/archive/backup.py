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

from askalike.archive.content import content_hash
from askalike.archive.migrations import MIGRATIONS
from askalike.archive.store import FILE, Archive, storage_errors
from askalike.clock import now
from askalike.disk import synced
from askalike.errors import ArchiveError

FORMAT = 1
ABOUT = "backup.json"
LEFT_OUT = ("index",)
"""What can be made again."""
LONGEST_ABOUT = 16 << 20
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup says of itself. content: the archive's content hash; files: name → SHA-256."""

    format: int
    made_at: str
    questions: int
    schema: int
    content: str
    files: Mapping[str, str]


def backup(directory: Path, file: Path) -> Backup:
    """Saves the archive in a directory into a file, which must not be there yet; others may go on writing meanwhile.

    Needs room for twice the backup while it is made. Raises ArchiveError.
    """
    if file.exists():
        raise ArchiveError(f"{file}: is there already; choose another name, or remove it first")
    if directory.resolve() in file.resolve().parents:
        raise ArchiveError(f"{file}: lies in the archive that it is to save; choose another place")
    with Archive.open(directory) as archive, _beside(file) as new, storage_errors(file):
        content, packed = new / "content", new / "packed"
        shutil.copytree(directory, content, ignore=_not_saved(directory))
        with closing(sqlite3.connect(content / FILE)) as copy:
            archive.connection.backup(copy)  # one transaction's state; it keeps no writer waiting
        about = _about(content)
        _pack(packed, about, content)
        synced(packed)
        os.replace(packed, file)
        synced(file.parent)
    return about


def restore(file: Path, directory: Path) -> Backup:
    """Makes the archive that a backup holds, in a new or empty directory, once every byte of it is checked.

    Raises ArchiveError where the file is no backup or damaged, and where the directory holds anything.
    """
    if not file.is_file():
        raise ArchiveError(f"{file}: is no file; expected one made by: askalike backup")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise ArchiveError(f"{directory}: is there already; a backup is restored into a new or empty directory")
    with _beside(directory) as new, storage_errors(directory):
        content = new / "content"
        about = _unpacked(file, content)
        _check(content, about, file)
        for path in (*content.rglob("*"), content):
            synced(path)
        os.replace(content, directory)
        synced(directory.parent)
    return about


def _not_saved(directory: Path) -> Callable[[Any, list[str]], set[str]]:
    """What `copytree` is to leave out: the database, which is copied apart, and what is made again or being made."""

    def named(folder: Any, names: list[str]) -> set[str]:
        top = Path(folder) == directory
        return {n for n in names if n.endswith(".new") or (top and (n in LEFT_OUT or n.startswith(FILE)))}

    return named


def _about(content: Path) -> Backup:
    with Archive.open(content) as archive:
        schema, questions, held = len(MIGRATIONS), len(archive.view()), content_hash(archive)
    sums = {path.relative_to(content).as_posix(): _sum(path) for path in sorted(content.rglob("*")) if path.is_file()}
    return Backup(FORMAT, now(), questions, schema, held, sums)


def _pack(packed: Path, about: Backup, content: Path) -> None:
    said = json.dumps(asdict(about), indent=1, ensure_ascii=False).encode()
    with tarfile.open(packed, "w", format=tarfile.PAX_FORMAT) as tar:
        first = tarfile.TarInfo(ABOUT)
        first.size = len(said)
        tar.addfile(first, io.BytesIO(said))
        for name in about.files:
            tar.add(content / name, name)


def _unpacked(file: Path, content: Path) -> Backup:
    """What the backup says of itself; its files, each with the sum that it should have, are in `content` then."""
    try:
        with tarfile.open(file, "r:") as tar:
            about = _said(tar, file)
            for member in tar:
                if member.name != ABOUT:
                    _write(tar, member, content, about, file)
    except (tarfile.TarError, EOFError):
        raise ArchiveError(f"{file}: is no backup, or was cut short; take another one") from None
    if missing := [name for name in about.files if not (content / name).is_file()]:
        raise ArchiveError(f"{file}: {missing[0]} is missing in it; take another backup")
    return about


def _said(tar: tarfile.TarFile, file: Path) -> Backup:
    first = tar.next()
    given = tar.extractfile(first) if first and first.name == ABOUT and first.size <= LONGEST_ABOUT else None
    try:
        values = json.loads(given.read()) if given else {}
        if values["format"] == FORMAT:
            return Backup(**values)
    except (ValueError, TypeError, KeyError):
        pass
    raise ArchiveError(f"{file}: expected a backup of format {FORMAT}, made by: askalike backup")


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, content: Path, about: Backup, file: Path) -> None:
    name = PurePosixPath(member.name)
    source = tar.extractfile(member) if member.isreg() else None
    if source is None or name.is_absolute() or ".." in name.parts or member.name not in about.files:
        raise ArchiveError(f"{file}: holds {member.name!r}, which no backup does; nothing was restored")
    target = content / name
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as out:
        shutil.copyfileobj(source, out, CHUNK)
    if _sum(target) != about.files[member.name]:
        raise ArchiveError(f"{file}: {member.name} is damaged in it (its SHA-256 differs); take another backup")


def _check(content: Path, about: Backup, file: Path) -> None:
    """Opens the archive, which brings an older schema up to date, and compares what it holds with what was saved."""
    with Archive.open(content) as archive:
        if about.schema == len(MIGRATIONS) and content_hash(archive) != about.content:
            raise ArchiveError(f"{file}: holds other data than was saved (content hash); take another backup")


@contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """An empty folder beside `path`, for one process at a time; what one that was killed left there is removed."""
    new = path.with_name(f"{path.name}.new")
    try:
        with _locked(new):
            try:
                _empty(new)
                yield new
            finally:
                shutil.rmtree(new, ignore_errors=True)
    except BlockingIOError:
        raise ArchiveError(f"{new}: another process is at work there; wait until it has finished") from None
    except OSError as error:
        why = error.strerror or error
        raise ArchiveError(f"{path}: cannot be written ({why}); free some space or choose another place") from None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Makes a folder and holds its lock. Raises BlockingIOError where another process does."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _empty(folder: Path) -> None:
    for entry in folder.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def _sum(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
