"""Offline work by processes of this machine or a Ray cluster: the bytes of one process."""

import itertools
import os
import shutil
import signal
import sys

import pytest

from askalike import encoders, rankers
from askalike.core import parallel
from askalike.core.errors import SettingsError
from askalike.core.parallel import WorkerError, map_pieces, use_workers
from askalike.labels.splits import load_split
from askalike.learning import distil
from askalike.learning.distil import encode_targets
from askalike.measuring import RankingTask
from askalike.moderation.dedupe import dedupe
from askalike.rankers import dense
from askalike.store import Archive
from askalike.tuning.trials import Trial, TrialEvaluator
from calibration.riverside import DEFAULT_RANKER


@pytest.fixture(params=["processes", pytest.param("ray", marks=pytest.mark.long)])
def workers(request):
    """The arguments of `use_workers`; a worker of Ray is killed at the first piece of each kind."""
    if request.param == "processes":
        return {"jobs": 2}
    request.getfixturevalue("fragile_workers")
    return {"ray": request.getfixturevalue("ray_cluster")}


def test_processors_are_counted_without_linux(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    assert parallel.count_processors() == os.cpu_count()


def test_one_job_works_in_this_process():
    with use_workers(1):
        assert list(map_pieces(eval, ["__import__('os').getpid()"])) == [os.getpid()]


def test_jobs_keep_order_and_read_few_pieces_ahead():
    numbers = itertools.count()
    with use_workers(2):
        results = map_pieces(abs, numbers)
        assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
        assert next(numbers) == 4 + 2 * parallel.PIECES_PER_WORKER
        results.close()
        assert os.getpid() not in map_pieces(eval, ["__import__('os').getpid()"])


@pytest.mark.parametrize("long", [False, True])
def test_a_killed_process_is_an_error(long):
    with use_workers(2), pytest.raises(WorkerError, match="died .* fewer --jobs"):
        list(map_pieces(signal.raise_signal, [signal.SIGKILL], long=long))


def test_long_pieces_have_processes_as_memory_holds(monkeypatch):
    monkeypatch.setattr(parallel, "_memory_bytes", lambda: 3 * parallel.BYTES_PER_PROCESS - 1)
    numbers = itertools.count()
    with use_workers(5):
        results = map_pieces(process_of, numbers, long=True)
        processes = [next(results) for _ in range(4)]
        assert next(numbers) == 3 + 2 * parallel.PIECES_PER_WORKER
        results.close()
    assert len(set(processes)) == 4


@pytest.mark.parametrize("long", [False, True])
def test_workers_pass_errors_on(workers, long):
    with use_workers(**workers), pytest.raises(ValueError, match="invalid literal"):
        list(map_pieces(int, ["1", "one"], long=long))


@pytest.mark.long
@pytest.mark.parametrize("address", ["auto", "127.0.0.1", "127.0.0.1:1", "127.0.0.1:99999"])
def test_missing_ray_cluster_is_an_error(ray, address):
    with pytest.raises(SettingsError, match=rf"--ray {address}: no Ray cluster"), use_workers(ray=address):
        pass


def test_jobs_and_ray_exclude_each_other():
    with pytest.raises(SettingsError, match="exclude each other"), use_workers(2, "127.0.0.1:6379"):
        pass


def test_a_missing_ray_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingsError, match=r"askalike\[ray\]"), use_workers(ray="127.0.0.1:6379"):
        pass


def test_dedupe_writes_the_same_bytes(workers, calibrated_riverside, tmp_path, monkeypatch):
    monkeypatch.setattr("askalike.moderation.pairs.BATCH_SIZE", 50)
    written = []
    for options in ({}, workers):
        with use_workers(**options), Archive.open(calibrated_riverside) as archive:
            (archive.path / "index" / f"neighbours-{DEFAULT_RANKER}.jsonl").unlink(missing_ok=True)
            dedupe(archive, rankers.create(DEFAULT_RANKER), tmp_path / "out.csv")
            lines = (archive.path / "index" / f"neighbours-{DEFAULT_RANKER}.jsonl").read_bytes()
        written.append((lines, (tmp_path / "out.csv").read_bytes()))
    assert written[0] == written[1]


@pytest.mark.long
def test_indexes_and_targets_have_the_same_bytes(workers, calibrated_riverside, tmp_path, monkeypatch):
    monkeypatch.setattr(dense, "BATCH", 50)
    monkeypatch.setattr(distil, "CHUNK_SIZE", 50)
    written = []
    for name, options in (("here", {}), ("shared", workers)):
        path = tmp_path / name / "library"
        shutil.copytree(calibrated_riverside, path, ignore=shutil.ignore_patterns("index"))
        with use_workers(**options):
            with Archive.open(path) as archive:
                rankers.create("static").build(archive.view())
                built = [path.read_bytes() for path in sorted((path / "index").glob("*/*-*/*"))]
                texts = [question for _, question in archive.view().questions()]
            targets = encode_targets(encoders.build("static", {}), texts, 64, print).tobytes()
        written.append((built, targets))
    assert all(written[0])
    assert written[0] == written[1]


@pytest.mark.long
def test_tuning_chooses_the_same(workers, calibrated_riverside):
    settings = [{"fields": "title", "k1": k1, "b": b} for k1 in (0.9, 1.2, 1.6) for b in (0.3, 0.75)]
    trials = [Trial("bm25", values) for values in settings]
    results = []
    for options in ({}, workers):
        with use_workers(**options), Archive.open(calibrated_riverside) as archive:
            labels = load_split(archive, "duplicates")
            with TrialEvaluator(RankingTask(archive), {"dev": labels}, ["nDCG@10"]) as evaluator:
                results.append(list(evaluator.evaluate_trials(trials)))
    assert len(results[0]) == 6
    assert results[0] == results[1]


def process_of(piece):
    return os.getpid()


def read_files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
