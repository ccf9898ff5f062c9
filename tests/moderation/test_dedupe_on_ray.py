"""Offline work on a Ray cluster: the bytes of one process, whatever worker is lost."""

import os
import signal
import sys

import pytest

from askalike import rankers
from askalike.errors import SettingsError
from askalike.moderation import neighbours
from askalike.moderation.dedupe import dedupe
from askalike.pieces import map_pieces
from askalike.store import Archive
from calibration.riverside import DEFAULT_RANKER


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingsError, match=r"askalike\[ray\]"):
        map_pieces(abs, [1], "auto").__enter__()


@pytest.mark.long
def test_a_killed_worker_loses_only_its_piece(tmp_path):
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    marker = tmp_path / "killed"

    def square(number: int) -> int:
        if number == 7 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    with map_pieces(square, range(20), "auto") as results:
        assert next(results) == 0
        assert {node["NodeManagerAddress"] for node in ray.nodes()} == {"127.0.0.1"}
        assert [0, *results] == [n * n for n in range(20)]
    assert marker.exists()
    with map_pieces(square, range(1_000), "auto") as abandoned:
        next(abandoned)
    assert not ray.is_initialized()


@pytest.mark.long
def test_dedupe_writes_the_same_bytes(calibrated_riverside, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason="needs the extra ray")
    monkeypatch.setattr(neighbours, "BATCH_SIZE", 50)
    written = []
    for cluster in (None, "auto"):
        with Archive.open(calibrated_riverside) as archive:
            (archive.path / "index" / f"neighbours-{DEFAULT_RANKER}.jsonl").unlink(missing_ok=True)
            dedupe(archive, rankers.create(DEFAULT_RANKER), tmp_path / "out.csv", cluster=cluster)
            lines = (archive.path / "index" / f"neighbours-{DEFAULT_RANKER}.jsonl").read_bytes()
        written.append((lines, (tmp_path / "out.csv").read_bytes()))
    assert written[0] == written[1]
