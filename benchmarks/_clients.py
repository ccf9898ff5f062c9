"""People who type, and a site that writes, as an open loop: what is due is sent when due, whatever has come back.

A latency is counted from when a request was due: a service that falls behind cannot hide it by being asked less.
"""

import asyncio
import json
import random
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

EVERY_S = 0.25  # a client asks so often while somebody types
PATIENCE_S = 30
STEP = 3  # characters typed meanwhile


@dataclass
class Outcome:
    """What came of the requests: seconds of those answered, how many failed, and what the service said of them."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Pool:
    """Connections that are kept; one more is opened where none is free."""

    def __init__(self, host: str, port: int) -> None:
        self._where = host, port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def ask(self, method: str, path: str, body: bytes) -> int:
        """The status of the answer, which is read to its end. Raises TimeoutError if none comes."""
        async with asyncio.timeout(PATIENCE_S):
            return await self._ask(method, path, body)

    async def _ask(self, method: str, path: str, body: bytes) -> int:
        while self._free and self._free[-1][0].at_eof():  # the service lets go of what nobody uses
            self._free.pop()[1].close()
        if self._free:
            with suppress(ConnectionError, asyncio.IncompleteReadError):  # it was let go of meanwhile: once more
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
    """Asks when it is due (on the loop's clock), and notes what came of it."""
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


def typed(titles: Sequence[str], start: float, seconds: float, chance: random.Random) -> list[tuple[float, bytes]]:
    """What one client asks, and when: prefixes of growing length of one title after the other."""
    asked: list[tuple[float, bytes]] = []
    due = start + chance.random() * EVERY_S
    while True:
        title = chance.choice(titles)
        for end in range(STEP, len(title) + STEP, STEP):
            if due >= start + seconds:
                return asked
            asked.append((due, json.dumps({"title": title[:end], "prefix": True}).encode()))
            due += EVERY_S


def written(titles: Sequence[str], start: float, seconds: float, per_s: int) -> list[tuple[float, str, bytes]]:
    """What a site writes, and when: single questions, evenly."""
    stamp = time.time_ns()
    rows = ((start + n / per_s, f"w{stamp}-{n}", titles[n % len(titles)]) for n in range(int(seconds * per_s)))
    return [(due, id, json.dumps({"title": f"{title} {id}", "body": title}).encode()) for due, id, title in rows]


async def load(
    host: str, port: int, archive: str, titles: Sequence[str], clients: int, writes_per_s: int, seconds: float
) -> tuple[Outcome, Outcome]:
    """The outcome of what was asked, and of what was written."""
    chance, pool, start = random.Random(1), Pool(host, port), time.perf_counter() + 0.2
    asks, writes = Outcome(), Outcome()
    similar, questions = f"/v1/{archive}/similar", f"/v1/{archive}/questions"
    due = [
        on_time(at, pool.ask("POST", similar, body), asks)
        for _ in range(clients)
        for at, body in typed(titles, start, seconds, chance)
    ]
    due += [
        on_time(at, pool.ask("PUT", f"{questions}/{id}", body), writes)
        for at, id, body in written(titles, start, seconds, writes_per_s)
    ]
    await asyncio.gather(*due)
    pool.close()
    return asks, writes


async def saturate(host: str, port: int, archive: str, titles: Sequence[str], at_once: int, seconds: float) -> float:
    """Answers a second where so many clients ask again as soon as they are answered."""
    chance, pool, done = random.Random(2), Pool(host, port), 0
    until = time.perf_counter() + seconds

    async def asking() -> None:
        nonlocal done
        while time.perf_counter() < until:
            title = chance.choice(titles)
            body = {"title": title[: chance.randint(STEP, len(title))], "prefix": True}
            with suppress(OSError, EOFError):
                status = await pool.ask("POST", f"/v1/{archive}/similar", json.dumps(body).encode())
                done += status == 200

    await asyncio.gather(*(asking() for _ in range(at_once)))
    pool.close()
    return done / seconds
