"""`kill -9` at any moment under writes: what was acknowledged is there afterwards, by id and by search, and whole."""

import http.client
import random
import threading
import time
from pathlib import Path

from serving import Service, until

import askalike

QUESTIONS, SIMILAR = "/v1/riverside/questions", "/v1/riverside/similar"
CYCLES = 10


def write_until_it_breaks(service: Service, cycle: int, acknowledged: list[str]) -> None:
    """Puts batches of two, one after the other; an answer that does not come acknowledges nothing."""
    n = 0
    while True:
        ids = [f"c{cycle}n{n}x", f"c{cycle}n{n}y"]
        items = [{"id": id, "title": f"Does {id} survive?", "tags": ["fault"], "body": "b" * 500} for id in ids]
        try:
            status = service.ask("POST", f"{QUESTIONS}:batch", {"items": items}).status
        except (OSError, http.client.HTTPException):
            return
        if status != 201:
            return
        acknowledged += ids
        n += 1


def killed_under_writes(archive: Path, cycle: int, acknowledged: list[str], moment: random.Random) -> None:
    service = Service(archive)
    writer = threading.Thread(target=write_until_it_breaks, args=(service, cycle, acknowledged))
    writer.start()
    time.sleep(moment.uniform(0.05, 0.6))
    service.kill()
    writer.join()


def test_nothing_acknowledged_is_lost_and_nothing_is_half_there(archive: Path) -> None:
    acknowledged: list[str] = []
    moment = random.Random(1)
    for cycle in range(CYCLES):
        killed_under_writes(archive, cycle, acknowledged, moment)
    assert acknowledged
    service = Service(archive)
    try:
        last = acknowledged[-1]
        until(lambda: last in [r["id"] for r in service.get(f"{SIMILAR}?title={last}").json["results"]], 1)
    finally:
        service.end()
    with askalike.load(archive, "lm_jelinek_mercer") as desk:
        stored = desk.archive.view().get([q.id for _, q in desk.archive.view().questions() if q.tags == ("fault",)])
        found = {m.question.id for m in desk.search("survive", 100_000)}
        assert desk.archive.connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert set(acknowledged) <= stored.keys()
    assert {id[:-1] + end for id in stored for end in "xy"} == stored.keys(), "a batch is half there"
    assert stored.keys() <= found
    assert all(q.body == "b" * 500 for q in stored.values())
    print(f"{len(acknowledged)} acknowledged in {CYCLES} cycles, {len(stored)} stored, {len(found)} found")
