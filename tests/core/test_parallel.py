"""Offline work on a Ray cluster: the bytes of one process, whatever worker is lost."""

import shutil
import sys

import pytest

from askalike import encoders, rankers
from askalike.core.errors import SettingsError
from askalike.core.parallel import map_pieces, work_on
from askalike.experiments.declaration import Experiment
from askalike.experiments.grid_search import tune_ranker
from askalike.experiments.run import run_experiment
from askalike.labels.splits import load_split
from askalike.learning import distil
from askalike.learning.distil import encode_targets
from askalike.moderation import neighbours
from askalike.moderation.dedupe import dedupe
from askalike.rankers import dense
from askalike.store import Archive
from calibration.riverside import DEFAULT_RANKER


def test_without_a_cluster_pieces_are_worked_on_here():
    with work_on(None):
        assert list(map_pieces(abs, [-1, 2])) == [1, 2]


def test_without_ray_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingsError, match=r"askalike\[ray\]"), work_on("auto"):
        pass


@pytest.mark.long
def test_a_killed_worker_loses_only_its_piece(ray, fragile_workers):
    def square(number: int) -> int:
        return number * number

    with work_on("auto"):
        results = map_pieces(square, range(20))
        assert next(results) == 0
        assert {node["NodeManagerAddress"] for node in ray.nodes()} == {"127.0.0.1"}
        assert [0, *results] == [n * n for n in range(20)]
        abandoned = map_pieces(square, range(1_000))
        next(abandoned)
    assert (fragile_workers / "square").exists()
    assert not ray.is_initialized()


@pytest.mark.long
def test_dedupe_writes_the_same_bytes_whatever_worker_is_lost(
    ray, fragile_workers, calibrated_riverside, tmp_path, monkeypatch
):
    monkeypatch.setattr(neighbours, "BATCH_SIZE", 50)
    written = []
    for cluster in (None, "auto"):
        with Archive.open(calibrated_riverside) as archive:
            (archive.path / "index" / f"neighbours-{DEFAULT_RANKER}.jsonl").unlink(missing_ok=True)
            dedupe(archive, rankers.create(DEFAULT_RANKER), tmp_path / "out.csv", cluster=cluster)
            lines = (archive.path / "index" / f"neighbours-{DEFAULT_RANKER}.jsonl").read_bytes()
        written.append((lines, (tmp_path / "out.csv").read_bytes()))
    assert {file.name for file in fragile_workers.iterdir()} == {"_search_batch"}
    assert written[0] == written[1]


@pytest.mark.long
def test_encoding_teaching_and_experiments_write_the_same_bytes_whatever_worker_is_lost(
    ray, fragile_workers, calibrated_riverside, tmp_path, monkeypatch
):
    pytest.importorskip("wordllama", reason="needs the extra vectors")
    monkeypatch.setattr(dense, "BATCH", 50)
    monkeypatch.setattr(distil, "CHUNK_SIZE", 50)
    written = []
    for cluster in (None, "auto"):
        path = tmp_path / str(cluster) / "library"
        shutil.copytree(calibrated_riverside, path, ignore=shutil.ignore_patterns("index"))
        systems = [{"ranker": name} for name in ("bm25", "hybrid")]
        experiment = Experiment(title="Ray", archive=path, split="duplicates", system=systems)
        with work_on(cluster):
            with Archive.open(path) as archive:
                rankers.create("static").build(archive.view())
                built = read_files(path / "index")
                texts = [question for _, question in archive.view().questions()]
            targets = encode_targets(encoders.build("static", {}), texts, 64, print).tobytes()
            run_experiment(experiment, tmp_path / str(cluster) / "run")
        written.append((built, targets, read_files(tmp_path / str(cluster) / "run" / "runs")))
    assert {file.name for file in fragile_workers.iterdir()} == {"_encode_batch", "_encode_block", "_write_cell"}
    assert all(written[0])
    assert written[0] == written[1]


@pytest.mark.long
def test_tuning_chooses_the_same_whatever_worker_is_lost(ray, fragile_workers, calibrated_riverside):
    grid = {"k1": [0.9, 1.2, 1.6], "b": [0.3, 0.75]}
    results = []
    for cluster in (None, "auto"):
        with work_on(cluster), Archive.open(calibrated_riverside) as archive:
            labels = load_split(archive, "duplicates")
            results.append(tune_ranker(archive, "bm25", grid, labels, "nDCG@10", fixed={"fields": "title"}))
    assert len(results[0].trials) == 6
    assert {file.name for file in fragile_workers.iterdir()} == {"_evaluate_in_worker"}
    assert results[0] == results[1]


def read_files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
