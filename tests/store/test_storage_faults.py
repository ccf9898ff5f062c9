"""Each write fails once, at every position: nothing acknowledged is lost, and the checks tell the truth."""

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from askalike.core.errors import ArchiveError
from askalike.core.records import Question
from askalike.store.archive import Archive
from askalike.store.backup import backup, verify_backup
from askalike.store.database import DATABASE_FILE

N_QUESTIONS = 40
STEP_BYTES = 3_000
"""Smaller than a page of the database, so that each page is cut off once, and some in the middle."""


def batch(number: int) -> list[Question]:
    return [Question(f"{number}-{n}", f"Question {n} of batch {number}", "b" * 200) for n in range(N_QUESTIONS)]


def test_a_commit_that_fails_at_any_byte_is_undone_and_loses_nothing(
    tmp_path: Path, limit_file_size: Callable[[int], None]
) -> None:
    """No file can grow beyond a limit, as on a full disk; the limit moves through all bytes that a commit writes."""
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    acknowledged, failures, limit = 0, 0, 0
    with Archive.create(tmp_path / "a") as archive:
        while acknowledged < 4:
            limit_file_size(limit)
            try:
                archive.upsert(batch(acknowledged))
                acknowledged += 1
            except ArchiveError as error:
                failures += "\n" not in str(error)
                limit += STEP_BYTES
            limit_file_size(unlimited)
            assert len(archive.view()) == N_QUESTIONS * acknowledged
    assert failures > 20
    with Archive.open(tmp_path / "a") as archive:
        archive.require_intact(thorough=True)
        assert len(archive.view()) == N_QUESTIONS * acknowledged


def test_a_backup_that_fails_at_any_byte_leaves_no_file(tmp_path: Path, limit_file_size: Callable[[int], None]) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    with Archive.create(tmp_path / "a") as archive:
        archive.upsert(batch(0))
    failures, size = 0, (tmp_path / "a" / DATABASE_FILE).stat().st_size
    for limit in range(0, 3 * size, 4 * STEP_BYTES):
        limit_file_size(limit)
        try:
            backup(tmp_path / "a", tmp_path / "b.tar")
        except ArchiveError:
            failures += 1
            limit_file_size(unlimited)
            assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]
            continue
        break
    limit_file_size(unlimited)
    assert failures > 10
    assert verify_backup(tmp_path / "b.tar").questions == N_QUESTIONS


def test_a_commit_is_on_disk_before_it_is_acknowledged(archive: Archive) -> None:
    assert archive._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: each commit is synced
    assert archive._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_folder_of_a_new_archive_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("askalike.store.archive.fsync_path", synced.append)
    Archive.create(tmp_path / "x" / "y" / "a").close()
    assert synced == [tmp_path, tmp_path / "x", tmp_path / "x" / "y"]
