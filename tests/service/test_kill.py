"""`kill -9` at any moment under writes: acknowledged questions are stored completely, and found by id and search."""

from pathlib import Path

import pytest
from kill_cycles import BODY, PAIR, UNLIMITED, KillCycles
from serving import Service

import askalike

N_CYCLES = 10


@pytest.mark.long
def test_nothing_acknowledged_is_lost_and_no_batch_is_stored_in_half(archive: Path) -> None:
    cycles = KillCycles("riverside")
    for _ in range(N_CYCLES):
        cycles.run(Service(archive, options=UNLIMITED))
    assert cycles.acknowledged
    service = Service(archive, options=UNLIMITED)
    try:
        assert cycles.find_lost(service, cycles.acknowledged[-6:]) == []
        assert cycles.find_half_batches(service) == []
    finally:
        service.end()
    with askalike.load(archive, "lm_jelinek_mercer") as engine:
        stored = engine.archive.view().get_questions(
            [q.id for _, q in engine.archive.view().questions() if q.tags == ("fault",)]
        )
        hits = {m.question.id for m in engine.search("survive", 100_000)}
        assert engine.archive._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert set(cycles.acknowledged) <= stored.keys()
    assert {id[:-1] + end for id in stored for end in PAIR} == stored.keys(), "half of a batch is stored"
    assert stored.keys() <= hits
    assert all(q.body == BODY for q in stored.values())
    print(f"{len(cycles.acknowledged)} acknowledged in {N_CYCLES} cycles, {len(stored)} stored, {len(hits)} found")
