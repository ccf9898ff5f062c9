"""Simulated users who type, and a site that writes, as an open loop: requests are sent on schedule, answered or not.

Latencies are measured from the scheduled time, so that a slow service cannot hide delays (coordinated omission).
"""

import asyncio
import json
import random
import time
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

EVERY_S = 0.25  # interval between the requests of a client while somebody types
MIN_TIMEOUT_S = 30
STEP = 3  # number of characters typed in an interval


@dataclass
class Outcome:
    """The outcome of requests: seconds of those answered, and the errors of those that failed."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Pool:
    """Persistent connections; another one is opened if none is free."""

    def __init__(self, host: str, port: int) -> None:
        self._where = host, port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, method: str, path: str, body: bytes) -> int:
        """Return the status of the response, which is read to its end. Raises TimeoutError if there is none."""
        async with asyncio.timeout(MIN_TIMEOUT_S):
            return await self._ask(method, path, body)

    async def _ask(self, method: str, path: str, body: bytes) -> int:
        while self._free and self._free[-1][0].at_eof():  # the service closes idle connections
            self._free.pop()[1].close()
        if self._free:
            with suppress(ConnectionError, asyncio.IncompleteReadError):  # it was closed just now: try again
                return await self._sent(*self._free.pop(), method, path, body)
        return await self._sent(*await asyncio.open_connection(*self._where), method, path, body)

    async def _sent(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, method: str, path: str, body: bytes
    ) -> int:
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        answer = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in answer.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        self._free.append((reader, writer))
        return int(answer[9:12])

    def close(self) -> None:
        for _, writer in self._free:
            writer.close()


async def on_time(due: float, asking: Coroutine[Any, Any, int], outcome: Outcome) -> None:
    """Send a request at its scheduled time (on the loop's clock), and record its outcome."""
    await asyncio.sleep(max(0.0, due - time.perf_counter()))
    try:
        status = await asking
    except (OSError, EOFError, asyncio.LimitOverrunError) as error:
        outcome.errors.append(type(error).__name__)
        return
    if status in (200, 201):
        outcome.seconds.append(time.perf_counter() - due)
    else:
        outcome.errors.append(str(status))


def typed(
    titles: Sequence[str], start: float, seconds: float, chance: random.Random, fields: Mapping[str, Any]
) -> list[tuple[float, bytes]]:
    """Return the schedule of one client: prefixes of increasing length of one title after the other.

    fields: what each request has besides its title.
    """
    asked: list[tuple[float, bytes]] = []
    due = start + chance.random() * EVERY_S
    while True:
        title = chance.choice(titles)
        for end in range(STEP, len(title) + STEP, STEP):
            if due >= start + seconds:
                return asked
            asked.append((due, json.dumps({"title": title[:end], "prefix": True, **fields}).encode()))
            due += EVERY_S


def written(titles: Sequence[str], start: float, seconds: float, per_s: int) -> list[tuple[float, str, bytes]]:
    """Return the schedule of a site's writes: single questions at equal intervals."""
    stamp = time.time_ns()
    rows = ((start + n / per_s, f"w{stamp}-{n}", titles[n % len(titles)]) for n in range(int(seconds * per_s)))
    return [(due, id, json.dumps({"title": f"{title} {id}", "body": title}).encode()) for due, id, title in rows]


async def load(
    host: str,
    port: int,
    archive: str,
    titles: Sequence[str],
    clients: int,
    writes_per_s: int,
    seconds: float,
    **fields: Any,
) -> tuple[Outcome, Outcome]:
    """Return the outcome of searches, and of writes. fields: see `typed`."""
    chance, pool, start = random.Random(1), Pool(host, port), time.perf_counter() + 0.2
    asks, writes = Outcome(), Outcome()
    similar, questions = f"/v1/{archive}/similar", f"/v1/{archive}/questions"
    due = [
        on_time(at, pool.ask("POST", similar, body), asks)
        for _ in range(clients)
        for at, body in typed(titles, start, seconds, chance, fields)
    ]
    due += [
        on_time(at, pool.ask("PUT", f"{questions}/{id}", body), writes)
        for at, id, body in written(titles, start, seconds, writes_per_s)
    ]
    await asyncio.gather(*due)
    pool.close()
    return asks, writes


async def saturate(
    host: str, port: int, archive: str, titles: Sequence[str], at_once: int, seconds: float, **fields: Any
) -> float:
    """Return the responses per second to this number of clients that send the next request after each response."""
    chance, pool, done = random.Random(2), Pool(host, port), 0
    until = time.perf_counter() + seconds

    async def asking() -> None:
        nonlocal done
        while time.perf_counter() < until:
            title = chance.choice(titles)
            body = {"title": title[: chance.randint(STEP, len(title))], "prefix": True, **fields}
            with suppress(OSError, EOFError):
                status = await pool.ask("POST", f"/v1/{archive}/similar", json.dumps(body).encode())
                done += status == 200

    await asyncio.gather(*(asking() for _ in range(at_once)))
    pool.close()
    return done / seconds
