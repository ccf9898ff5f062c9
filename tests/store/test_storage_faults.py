"""Each write fails once, at every position: nothing acknowledged is lost, and the checks tell the truth."""

import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from askalike.core.errors import ArchiveError
from askalike.core.records import Question
from askalike.store.archive import Archive

N_QUESTIONS = 40
STEP_BYTES = 3_000
"""Smaller than a page of the database, so that each page is cut off once, and some in the middle."""


def batch(number: int) -> list[Question]:
    return [Question(f"{number}-{n}", f"Question {n} of batch {number}", "b" * 200) for n in range(N_QUESTIONS)]


def test_failing_commit_is_undone_at_any_byte(tmp_path: Path, limit_file_size: Callable[[int], None]) -> None:
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


def test_commit_is_on_disk_before_acknowledgement(archive: Archive) -> None:
    assert archive._connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL: each commit is synced
    assert archive._connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_new_archives_folder_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("askalike.store.archive.fsync_path", synced.append)
    Archive.create(tmp_path / "x" / "y" / "a").close()
    assert synced == [tmp_path, tmp_path / "x", tmp_path / "x" / "y"]
