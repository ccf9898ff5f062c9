"""A damaged database is never saved, checked or served as a good one, and is told in one line."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from askalike.core.errors import ArchiveError
from askalike.core.records import Question
from askalike.health import run_checks
from askalike.store import Archive
from askalike.store.backup import backup
from askalike.store.database import DATABASE_FILE, MAX_PATH_BYTES
from preloaded import run_preloaded

PAGE_BYTES = 4096


def make_archive(path: Path) -> Path:
    with Archive.create(path) as archive:
        archive.upsert([Question(f"q{n}", f"How do I mend bicycle {n}?", "b" * 300, tags=("a",)) for n in range(400)])
    return path


def replace_page(path: Path, page: int, content: bytes) -> None:
    file = path / DATABASE_FILE
    whole = file.read_bytes()
    file.write_bytes(whole[: page * PAGE_BYTES] + content + whole[(page + 1) * PAGE_BYTES :])


def is_damaged(path: Path, pragma: str) -> bool:
    with closing(sqlite3.connect(path / DATABASE_FILE)) as connection:
        try:
            return connection.execute(f"PRAGMA {pragma}(1)").fetchone() != ("ok",)
        except sqlite3.DatabaseError:
            return True


@pytest.mark.parametrize("seed", range(12))
def test_random_damaged_page_is_noticed_everywhere(tmp_path: Path, seed: int) -> None:
    path, dice = make_archive(tmp_path / "a"), random.Random(seed)
    replace_page(
        path, dice.randrange(1, (path / DATABASE_FILE).stat().st_size // PAGE_BYTES), dice.randbytes(PAGE_BYTES)
    )
    assert is_damaged(path, "integrity_check")
    expected = f"{path / DATABASE_FILE}: .*damaged.*restore a backup"
    with pytest.raises(ArchiveError, match=expected) as caught, Archive.open(path) as archive:
        run_checks(archive)
    assert "\n" not in str(caught.value)
    if is_damaged(path, "quick_check"):
        with pytest.raises(ArchiveError, match=f"{path / DATABASE_FILE}: .*restore a backup"):
            backup(path, tmp_path / "b.tar")
        assert not (tmp_path / "b.tar").exists()


def test_search_in_a_damaged_database_is_one_line(tmp_path: Path) -> None:
    path = make_archive(tmp_path / "a")
    for page in range(1, (path / DATABASE_FILE).stat().st_size // PAGE_BYTES):
        replace_page(path, page, b"\xff" * PAGE_BYTES)
    for arguments in (["search", path, "bicycle"], ["info", path], ["serve", path, "--port", "0"]):
        code, said = run_preloaded(*arguments)
        assert (code, said.count("\n")) == (2, 1), said
        assert "damaged" in said


@pytest.mark.parametrize("content", [b"", None])
def test_a_file_without_an_archives_tables_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = make_archive(tmp_path / "a")
    (path / DATABASE_FILE).unlink()
    if content is None:
        with closing(sqlite3.connect(path / DATABASE_FILE)) as connection:
            connection.execute("CREATE TABLE other (a)")
    else:
        (path / DATABASE_FILE).write_bytes(content)
    for attempt in (lambda: Archive.open(path), lambda: backup(path, tmp_path / "b.tar")):
        with pytest.raises(ArchiveError, match=r"none of an archive's tables: it is empty, or another program's"):
            attempt()
    if content is not None:
        assert (path / DATABASE_FILE).read_bytes() == content
    with Archive.create(path) as archive:  # what an import does, once somebody wants one
        assert len(archive.view()) == 0


def test_new_databases_and_backups_are_private(tmp_path: Path) -> None:
    path = make_archive(tmp_path / "a")
    backup(path, tmp_path / "b.tar")
    for file in (path / DATABASE_FILE, tmp_path / "b.tar"):
        assert file.stat().st_mode & 0o777 == 0o600


def test_path_too_long_for_sqlite_is_told(tmp_path: Path) -> None:
    path = tmp_path
    while len(str(path / DATABASE_FILE)) <= MAX_PATH_BYTES - 60:
        path /= "d" * 50
    path /= "e" * (MAX_PATH_BYTES - len(str(path / "x" / DATABASE_FILE)) + 1)
    assert len(str(path / DATABASE_FILE)) == MAX_PATH_BYTES
    with Archive.create(path) as archive:
        archive.upsert([Question("a", "A title")])
    with pytest.raises(ArchiveError, match=f"has {MAX_PATH_BYTES + 1} bytes; SQLite takes up to {MAX_PATH_BYTES}"):
        Archive.create(path.with_name(path.name + "e"))
