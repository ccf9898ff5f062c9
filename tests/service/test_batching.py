import pytest

from askalike.core.errors import SettingsError
from askalike.core.filters import Filter
from askalike.core.types import Question
from askalike.search.engine import LocalEngine, SearchRequest
from askalike.service.state.batching import MAX_BATCH, RequestBatcher
from askalike.store import Archive

TITLES = ["boil an egg", "cook rice", "egg timer", "boil rice", "hens", "boil"]


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
