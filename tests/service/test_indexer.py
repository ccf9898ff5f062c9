"""The indexer, in this process."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from askalike import rankers
from askalike.core.config import validate_settings
from askalike.core.errors import ArchiveError, AskalikeError, SettingsError
from askalike.core.records import Question
from askalike.search.encoder_installation import adopt_encoder
from askalike.search.interim import AT_ONCE
from askalike.service.processes import indexer as indexer_module
from askalike.service.processes.indexer import Indexer
from askalike.service.settings import ServiceSettings
from askalike.store import Archive, deployments
from askalike.store.query_log import LoggedQuery, insert_feedback, log_query
from askalike.store.retention import delete_older_than, get_keep_days
from database import run_sql
from small_models import WORDS, write_encoder
from waiting import wait_for


@contextmanager
def full_disk() -> Iterator[None]:
    """Have every write to a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_ranker_is_used_once_its_changes_are_indexed(archive: Path) -> None:
    with Archive.open(archive) as opened:
        deployments.serve_ranker(opened, "lm_jelinek_mercer", {}, "a test")
        indexer = Indexer(archive, ServiceSettings(archives=(archive,), propose=0))
        indexer.index_changes()
        deployed = deployments.serve_ranker(opened, "bm25", {"tokenizer": "ptb"}, "a test")
        indexer.switch_ranker()
        builder = indexer._builder._process
        assert builder
        wait_for(lambda: builder.exit_code == 0)
        with opened.open_writer() as writer:
            writer.put(Question("new", "Does it index what is new?"))
        with full_disk(), pytest.raises(AskalikeError):
            indexer.switch_ranker()
        assert deployments.ready_ranker(opened) != deployed
        indexer.index_changes()
        indexer.switch_ranker()
        assert deployments.ready_ranker(opened) == deployed


def test_words_serve_until_many_vectors_are_built(archive: Path, tmp_path: Path) -> None:
    encoder = write_encoder(tmp_path / "small", list(dict.fromkeys(WORDS)))
    with Archive.open(archive) as opened:
        adopt_encoder(opened, str(encoder), name="small")
        indexer = Indexer(archive, ServiceSettings(archives=(archive,), propose=0))
        indexer.index_changes()
        encoded = deployments.ready_ranker(opened)
        assert encoded
        assert "small" in encoded.part_names
        opened.upsert(Question(f"new{n}", f"how do i cook rice {n}") for n in range(AT_ONCE + 1))
        indexer.wait(0)
        indexer.index_changes()
        assert deployments.ready_ranker(opened) is None
        rankers.open_current(rankers.create(encoded.ranker, encoded.settings, opened), opened.view())  # as the builder
        indexer._builder.ensure_built = lambda number: True  # type: ignore[method-assign]
        indexer.switch_ranker()
        assert deployments.ready_ranker(opened) == encoded


def test_moved_archive_gets_no_index_in_place(archive: Path) -> None:
    indexer = Indexer(archive, ServiceSettings(archives=(archive,), propose=0))
    indexer.index_changes()
    archive.rename(archive.with_name("moved"))
    indexer.wait(0)
    with pytest.raises(ArchiveError, match=r"archive.sqlite was removed, moved or replaced while it is open"):
        indexer.index_changes()
    assert not archive.exists()


def test_old_queries_and_feedback_are_deleted_unasked(archive: Path) -> None:
    indexer = Indexer(archive, ServiceSettings(archives=(archive,), propose=0, keep_days=1))
    with Archive.open(archive) as opened:
        log_query(opened, LoggedQuery("old", "", (), "bm25"))
        insert_feedback(opened, LoggedQuery("old", "", (), "bm25"), "none_of_these", None)
        for table in ("query_log", "feedback"):
            run_sql(opened, f"UPDATE {table} SET created_at = '2020'")
        insert_feedback(opened, LoggedQuery("new", "", (), "bm25"), "none_of_these", None)
        indexer.delete_expired()
        assert delete_older_than(opened, 0)[:2] == (0, 1)


def test_posts_are_kept_for_the_last_named_days(archive: Path) -> None:
    Indexer(archive, ServiceSettings(archives=(archive,), propose=0, keep_days=7))
    Indexer(archive, ServiceSettings(archives=(archive,), propose=0))
    with Archive.open(archive) as opened:
        assert get_keep_days(opened) == 7
    with pytest.raises(SettingsError, match="keep_days is 0"):
        validate_settings(ServiceSettings, {"archives": [archive], "take_questions": True, "keep_days": 0}, "serve")


def test_deleted_text_is_overwritten_once_readers_end(archive: Path, monkeypatch) -> None:
    indexer = Indexer(archive, ServiceSettings(archives=(archive,), propose=0, keep_days=1))
    overwritten = [False, True]
    tried_at = list[float]()
    now = 0.0

    def delete(_: Archive) -> SimpleNamespace:
        tried_at.append(now)
        return SimpleNamespace(is_overwritten=overwritten.pop(0))

    monkeypatch.setattr(indexer_module, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(indexer_module, "delete_expired", delete)
    while now < 3_000:
        indexer.delete_expired()
        now += 10
    assert tried_at == [0.0, 60.0]


def test_duplicates_are_looked_for_less_during_searches(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, found_at = 0.0, list[float]()

    def look_for_a_second(_: object) -> bool:
        nonlocal now
        found_at.append(now)
        now += 1
        return True

    monkeypatch.setattr(indexer_module, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(indexer_module.Proposer, "step", look_for_a_second)
    searching = True
    indexer = Indexer(archive, ServiceSettings(archives=(archive,), propose=0.5), lambda: searching)
    while len(found_at) < 3:
        indexer.propose_duplicates()
        now += 0.25
    assert np.diff(found_at).tolist() == pytest.approx([11, 11], abs=0.5)
    searching = False
    while len(found_at) < 6:
        indexer.propose_duplicates()
        now += 0.25
    assert np.diff(found_at)[3:].tolist() == pytest.approx([2, 2], abs=0.5)
