import asyncio

import pytest

from askalike.core.errors import SettingsError
from askalike.core.filters import Filter
from askalike.core.types import Answer, Question
from askalike.search.engine import LocalEngine, SearchRequest
from askalike.service import queues
from askalike.service.queues import MAX_BATCH, BoundedExecutor, OverloadedError, RequestBatcher, WriteBatcher
from askalike.service.settings import ServiceSettings
from askalike.store import Archive, MissingRecordError
from askalike.store.editing import put_records
from waiting import run

TITLES = ["boil an egg", "cook rice", "egg timer", "boil rice", "hens", "boil", "fry an egg", "rice timer", "cook hens"]


class CountingEngine(LocalEngine):
    """Remembers the titles of each batch."""

    def search_batch(self, requests):
        self.batches = [*getattr(self, "batches", []), [request.title for request in requests]]
        return super().search_batch(requests)


@pytest.fixture
def engine(tmp_path):
    from askalike import rankers

    with Archive.create(tmp_path / "eggs") as archive:
        archive.upsert(Question(f"q{n}", f"How to {title}?", tags=("food",)) for n, title in enumerate(TITLES))
        with CountingEngine(archive, rankers.create("bm25", {}, archive)) as engine:
            yield engine


def found(result):
    return [(hit.question.id, hit.score) for hit in result]


def test_searches_that_wait_are_made_together_with_equal_results(engine):
    batcher = RequestBatcher()
    pending = [batcher.add(SearchRequest(title, prefix=True)) for title in TITLES]
    results = [found(each.search(engine)) for each in pending]
    assert engine.batches == [TITLES[:MAX_BATCH], TITLES[MAX_BATCH:]]
    assert results == [found(engine.search(title, prefix=True)) for title in TITLES]
    assert all(results)


def test_one_that_is_too_short_leaves_the_others_their_hits(engine):
    short, long = SearchRequest("x", prefix=True), SearchRequest("boil an egg", prefix=True)
    alone = [found(engine.search(request.title, prefix=True)) for request in (short, long)]
    assert [found(result) for result in engine.search_batch([short, long])] == alone
    assert [found(result) for result in engine.search_batch([long, short])] == alone[::-1]
    assert not alone[0]


def test_one_that_nobody_waits_for_is_not_made(engine):
    batcher = RequestBatcher()
    first, given_up, last = (batcher.add(SearchRequest(title)) for title in TITLES[:3])
    given_up.is_awaited = False
    first.search(engine)
    last.search(engine)
    assert engine.batches == [[TITLES[0], TITLES[2]]]


def test_an_error_reaches_its_own_request_alone(engine):
    batcher = RequestBatcher()
    good = batcher.add(SearchRequest("boil an egg"))
    bad = batcher.add(SearchRequest("cook rice", filter=Filter(tags=("nowhere",))))
    assert found(good.search(engine)) == found(engine.search("boil an egg"))
    with pytest.raises(SettingsError, match="nowhere"):
        bad.search(engine)


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


def test_writes_at_the_same_time_are_one_commit_and_each_gets_its_own_answer(tmp_path):
    records = [Question("a", "One?"), Answer("x", "nowhere", "No."), Question("b", "Two?"), Question("a", "Three?")]
    (first, bad, second, last), commits = write_all(tmp_path / "archive", records)
    assert ([first.created, second.created, last.created], commits) == ([1, 1, 0], 1)
    assert isinstance(bad, MissingRecordError)
    with Archive.open(tmp_path / "archive") as archive:
        assert {id: q.title for id, q in archive.view().get_questions("ab").items()} == {"a": "Three?", "b": "Two?"}


def test_more_writes_than_may_wait_are_turned_away(tmp_path):
    outcomes, _ = write_all(tmp_path / "archive", [Question(f"q{n}", "How?") for n in range(5)], max_waiting=3)
    assert [type(outcome) is OverloadedError for outcome in outcomes] == [False] * 3 + [True] * 2


def test_a_write_soon_after_another_one_waits_while_people_search_and_is_dropped_if_nobody_waits_for_it(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(queues, "WRITE_WINDOW_S", 3_600)
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
