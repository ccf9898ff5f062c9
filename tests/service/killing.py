"""Cycles of `kill -9` under writes, and what has to be there afterwards; the tests run a few, the benchmark many."""

import http.client
import random
import threading
import time
from collections.abc import Sequence

from serving import Service

BODY = "b" * 500
PAIR = "xy"
UNHURRIED = ("--option", "requests_per_s=0")
"""What a service is started with, so that it may be asked for everything at once."""


class Killed:
    """Services of one archive that are killed while batches of two are written, one after the other."""

    def __init__(self, archive: str, seed: int = 1) -> None:
        """`archive`: the name that they serve it by."""
        self._v1 = f"/v1/{archive}"
        self._moment = random.Random(seed)
        self._cycle = 0
        self.acknowledged: list[str] = []

    def cycle(self, service: Service) -> list[str]:
        """Writes to a service and kills it at a random moment; what it has acknowledged."""
        before = len(self.acknowledged)
        writer = threading.Thread(target=self._write_until_it_breaks, args=(service,))
        writer.start()
        time.sleep(self._moment.uniform(0.05, 0.6))
        service.kill()
        writer.join()
        self._cycle += 1
        return self.acknowledged[before:]

    def lost(self, service: Service, ids: Sequence[str]) -> list[str]:
        """Which of these acknowledged questions are not found by id, or not by search, or not whole."""
        return [id for id in ids if not (self._whole(service, id) and self._found(service, id))]

    def half(self, service: Service) -> list[str]:
        """The one of two that is there alone, of the batch after the last that was acknowledged in the last cycle."""
        last = [id for id in self.acknowledged if id.startswith(f"c{self._cycle - 1}n")]
        n = len(last) // len(PAIR)
        there = [self._whole(service, f"c{self._cycle - 1}n{n}{end}") for end in PAIR]
        return [f"c{self._cycle - 1}n{n}"] if any(there) and not all(there) else []

    def _write_until_it_breaks(self, service: Service) -> None:
        """An answer that does not come acknowledges nothing."""
        n = 0
        while True:
            ids = [f"c{self._cycle}n{n}{end}" for end in PAIR]
            items = [{"id": id, "title": f"Does {id} survive?", "tags": ["fault"], "body": BODY} for id in ids]
            try:
                status = service.ask("POST", f"{self._v1}/questions:batch", {"items": items}).status
            except (OSError, http.client.HTTPException):
                return
            if status != 201:
                return
            self.acknowledged += ids
            n += 1

    def _whole(self, service: Service, id: str) -> bool:
        answer = service.get(f"{self._v1}/questions/{id}")
        return answer.status == 200 and answer.json["body"] == BODY

    def _found(self, service: Service, id: str) -> bool:
        results = service.get(f"{self._v1}/similar?title={id}").json["results"]
        return id in [r["id"] for r in results]
