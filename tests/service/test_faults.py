"""`kill -9` at any moment under writes: what was acknowledged is there afterwards, by id and by search, and whole."""

from pathlib import Path

from killing import BODY, PAIR, UNHURRIED, Killed
from serving import Service

import askalike

CYCLES = 10


def test_nothing_acknowledged_is_lost_and_nothing_is_half_there(archive: Path) -> None:
    killed = Killed("riverside")
    for _ in range(CYCLES):
        killed.cycle(Service(archive, options=UNHURRIED))
    assert killed.acknowledged
    service = Service(archive, options=UNHURRIED)
    try:
        assert killed.lost(service, killed.acknowledged[-6:]) == []
        assert killed.half(service) == []
    finally:
        service.end()
    with askalike.load(archive, "lm_jelinek_mercer") as served_archive:
        stored = served_archive.archive.view().get(
            [q.id for _, q in served_archive.archive.view().questions() if q.tags == ("fault",)]
        )
        found = {m.question.id for m in served_archive.search("survive", 100_000)}
        assert served_archive.archive._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert set(killed.acknowledged) <= stored.keys()
    assert {id[:-1] + end for id in stored for end in PAIR} == stored.keys(), "a batch is half there"
    assert stored.keys() <= found
    assert all(q.body == BODY for q in stored.values())
    print(f"{len(killed.acknowledged)} acknowledged in {CYCLES} cycles, {len(stored)} stored, {len(found)} found")
