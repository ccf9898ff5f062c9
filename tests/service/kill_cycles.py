"""Cycles of `kill -9` under writes, and what has to be stored afterwards; the tests run a few, the benchmark many."""

import http.client
import random
import threading
import time
from collections.abc import Sequence

from serving import Service

BODY = "b" * 500
PAIR = "xy"
N_WRITERS = 4
UNLIMITED = ("--set", "requests_per_s=0")
"""The options of a service that answers any number of requests."""


class KillCycles:
    """Kills services of one archive while several writers each write batches of two questions, one after the other."""

    def __init__(self, archive: str, seed: int = 1) -> None:
        """`archive`: the name under which it is served."""
        self._v1 = f"/v1/{archive}"
        self._random = random.Random(seed)
        self._n_cycles = 0
        self.acknowledged: list[str] = []

    def run(self, service: Service) -> list[str]:
        """Write to a service and kill it at a random moment; return the ids that it has acknowledged."""
        n_before = len(self.acknowledged)
        names = [f"c{self._n_cycles}w{n}" for n in range(N_WRITERS)]
        writers = [threading.Thread(target=self._write_until_it_breaks, args=(service, name)) for name in names]
        for writer in writers:
            writer.start()
        time.sleep(self._random.uniform(0.05, 0.6))
        service.kill()
        for writer in writers:
            writer.join()
        self._n_cycles += 1
        return self.acknowledged[n_before:]

    def find_lost(self, service: Service, ids: Sequence[str]) -> list[str]:
        """Return the ids of acknowledged questions that are not found by id, or not by search, or not complete."""
        return [id for id in ids if not (self._is_stored(service, id) and self._is_searchable(service, id))]

    def find_half_batches(self, service: Service) -> list[str]:
        """Return the batches of the last cycle, each after the last acknowledged one of a writer, stored in half."""
        halves = []
        for writer in range(N_WRITERS):
            name = f"c{self._n_cycles - 1}w{writer}n"
            batch = f"{name}{len([id for id in self.acknowledged if id.startswith(name)]) // len(PAIR)}"
            stored = [self._is_stored(service, f"{batch}{end}") for end in PAIR]
            halves += [batch] if any(stored) and not all(stored) else []
        return halves

    def _write_until_it_breaks(self, service: Service, name: str) -> None:
        """Write batches; one without a response is not acknowledged."""
        n = 0
        while True:
            ids = [f"{name}n{n}{end}" for end in PAIR]
            items = [{"id": id, "title": f"Does {id} survive?", "tags": ["fault"], "body": BODY} for id in ids]
            try:
                status = service.send("POST", f"{self._v1}/questions:batch", {"items": items}).status
            except (OSError, http.client.HTTPException):
                return
            if status != 201:
                return
            self.acknowledged += ids
            n += 1

    def _is_stored(self, service: Service, id: str) -> bool:
        response = service.get(f"{self._v1}/questions/{id}")
        return response.status == 200 and response.json["body"] == BODY

    def _is_searchable(self, service: Service, id: str) -> bool:
        results = service.get(f"{self._v1}/similar?title={id}").json["results"]
        return id in [r["id"] for r in results]
