"""A worker has a less busy one make a search, and makes it itself where none answers."""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack

import pytest

from askalike.service.peers import PeerRouter, WorkerSlot, create_loads_file
from waiting import run

V1 = "/v1/riverside"


async def shout(message: bytes) -> bytes:
    return message.upper()


@pytest.fixture
def three_workers(tmp_path):
    create_loads_file(tmp_path, 3)
    return [PeerRouter(WorkerSlot(tmp_path, number, 3)) for number in range(3)]


def test_the_least_busy_worker_is_found(three_workers):
    first, second, third = three_workers
    assert first.find_less_busy() is None
    with first.counted(), second.counted():
        assert [worker.find_less_busy() for worker in three_workers] == [2, 2, None]
    with first.counted(), second.counted(), third.counted(), third.counted():
        assert [first.find_less_busy(), second.find_less_busy()] == [None, None]
        assert {third.find_less_busy() for _ in range(100)} == {0, 1}
    assert [worker.find_less_busy() for worker in three_workers] == [None] * 3


def test_a_worker_that_starts_again_makes_no_search(three_workers, tmp_path):
    three_workers[1].counted().__enter__()  # it is killed meanwhile
    PeerRouter(WorkerSlot(tmp_path, 1, 3))
    with three_workers[0].counted():
        assert 1 in {three_workers[0].find_less_busy() for _ in range(100)}


def test_messages_of_any_length_are_answered_side_by_side(three_workers):
    first, second, _ = three_workers
    messages = [b"", b"a", b"b" * 3_000_000, *(str(n).encode() for n in range(20))]

    async def talk() -> list[bytes]:
        async with first.serve(shout), second.serve(shout):
            once = await asyncio.gather(*(first.forward(1, message) for message in messages))
            return [*once, *(await asyncio.gather(*(first.forward(1, message) for message in messages)))]

    assert run(talk()) == [message.upper() for message in messages] * 2


def test_a_worker_that_is_not_there_or_ends_meanwhile_is_an_error(three_workers):
    first, second, _ = three_workers

    async def end(message: bytes) -> bytes:
        raise EOFError

    async def ask(answer=None) -> None:
        async with AsyncExitStack() as stack:
            if answer:
                await stack.enter_async_context(second.serve(answer))
            await first.forward(1, b"?")

    with pytest.raises(OSError, match="worker-1|No such file"):
        run(ask())
    with pytest.raises(EOFError):
        run(ask(end))


def test_in_a_folder_with_a_long_name_nobody_is_asked(tmp_path):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    create_loads_file(folder, 2)
    one, other = (PeerRouter(WorkerSlot(folder, number, 2)) for number in range(2))

    async def ask() -> None:
        async with other.serve(shout):
            await one.forward(1, b"?")

    with pytest.raises(OSError, match="path too long"):
        run(ask())


def test_answers_are_the_same_whichever_worker_makes_them(serve, archive):
    served = serve(archive, options=("--workers", "2", "--set", "requests_per_s=0"))
    queries = [{"title": title, "prefix": True, "explain": True} for title in ("dough", "starter", "xyzzy", "crust of")]
    alone = [served.send("POST", f"{V1}/similar", query).json["results"] for query in queries]
    assert any(alone)
    with ThreadPoolExecutor(8) as threads:
        for _ in range(20):
            answers = list(threads.map(lambda query: served.send("POST", f"{V1}/similar", query), queries * 10))
            assert [answer.json["results"] for answer in answers] == alone * 10
            assert {answer.headers["content-type"] for answer in answers} == {"application/json"}
            passed_on = re.search(
                r'askalike_passed_on_total{archive="riverside"} (.*)', served.get("/metrics").body.decode()
            )
            if passed_on and float(passed_on[1]):
                break
        else:
            pytest.fail("no search was passed on")
    text = served.get("/metrics").body.decode()
    searched = re.search(r'askalike_search_seconds_count{archive="riverside"} (.*)', text)
    answered = re.search(r'askalike_request_seconds_count{endpoint="post_similar"} (.*)', text)
    assert float(searched[1]) == float(answered[1])
