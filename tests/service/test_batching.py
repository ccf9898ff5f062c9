import asyncio

import pytest

from askalike.core.records import Answer, Question
from askalike.service import served_archive
from askalike.service.served_archive import BoundedExecutor, OverloadedError, WriteBatcher
from askalike.service.settings import ServiceSettings
from askalike.store import Archive, MissingRecordError
from askalike.store.editing import put_records
from waiting import run


def write_all(path, records, **settings):
    """Write each record by itself, all at the same time; return what each got, and the number of commits."""
    statements, chosen = [], ServiceSettings(archives=(path,), **settings)

    async def write(batcher):
        writes = (batcher.run(lambda archive, r=record: put_records(archive, [r])) for record in records)
        return await asyncio.gather(*writes, return_exceptions=True)

    with Archive.create(path) as archive:
        archive._connection.set_trace_callback(statements.append)
        executor = BoundedExecutor(archive, chosen)
        outcomes = run(write(WriteBatcher(executor, chosen, lambda: True)))
        executor.close()
    return outcomes, statements.count("COMMIT")


def test_concurrent_writes_are_one_commit_with_own_answers(tmp_path):
    records = [Question("a", "One?"), Answer("x", "nowhere", "No."), Question("b", "Two?"), Question("a", "Three?")]
    (first, bad, second, last), commits = write_all(tmp_path / "archive", records)
    assert ([first.created, second.created, last.created], commits) == ([1, 1, 0], 1)
    assert isinstance(bad, MissingRecordError)
    with Archive.open(tmp_path / "archive") as archive:
        assert {id: q.title for id, q in archive.view().get_questions("ab").items()} == {"a": "Three?", "b": "Two?"}


def test_more_writes_than_may_wait_are_turned_away(tmp_path):
    outcomes, _ = write_all(tmp_path / "archive", [Question(f"q{n}", "How?") for n in range(5)], max_waiting=3)
    assert [type(outcome) is OverloadedError for outcome in outcomes] == [False] * 3 + [True] * 2


def test_second_write_waits_for_searches_or_is_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(served_archive, "WRITE_WINDOW_S", 3_600)
    patient, hasty = (ServiceSettings(archives=(tmp_path,), timeout_s=limit) for limit in (60, 0.05))
    searching = [True, False, True]

    async def write(executor):
        batcher = WriteBatcher(executor, patient, lambda: searching.pop(0))
        for id in "first", "second":
            await batcher.run(lambda archive, id=id: put_records(archive, [Question(id, "How?")]))
        batcher._settings = hasty
        with pytest.raises(TimeoutError):
            await batcher.run(lambda archive: put_records(archive, [Question("late", "How?")]))

    with Archive.create(tmp_path / "archive") as archive:
        executor = BoundedExecutor(archive, patient)
        run(write(executor))
        executor.close()
        assert [id for _, id, _ in archive.view().titles()] == ["first", "second"]
