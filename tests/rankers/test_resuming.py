"""Long work that is saved piece by piece: what is done is not done again, and nothing stale is taken."""

import math
import resource
import sys
from dataclasses import replace

import numpy as np
import pytest

from askalike import measuring, rankers
from askalike.core.hits import Run
from askalike.core.records import Question
from askalike.health.statistics import disk_sizes
from askalike.labels.partitions import create_partition
from askalike.measuring import evaluate_ranker
from askalike.rankers import resume_runs, resume_work
from askalike.store import Archive
from calibration.riverside import riverside

SCORES = (0.1 + 0.2, 1e-310, -0.0, math.inf, 1 / 3)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = riverside(tmp_path_factory.mktemp("resuming") / "riverside")
    with Archive.open(path) as archive:
        rankers.create("bm25").build(archive.view())
    return path


@pytest.fixture
def archive(path):
    with Archive.open(path) as archive:
        yield archive
        for file in (path / "index").glob("*.jsonl"):
            file.unlink()


class Squares:
    """Work of ten pieces that counts those it does, and can be interrupted before one of them."""

    def __init__(self, interrupted_before=None):
        self.done = []
        self._end = interrupted_before

    def __call__(self, done):
        for number in range(done, 10):
            if number == self._end:
                raise KeyboardInterrupt
            self.done.append(number)
            yield [number * number]


def run(archive, work, ranker=None, inputs="squares", view=None):
    return list(resume_work("squares", ranker or rankers.create("bm25"), view or archive.view(), inputs, 10, work))


def saved_file(archive):
    return archive.path / "index" / "squares-bm25.jsonl"


def test_only_the_rest_is_done_after_an_interruption(archive):
    with pytest.raises(KeyboardInterrupt):
        run(archive, Squares(interrupted_before=6))
    rest = Squares()
    assert run(archive, rest) == [[n * n] for n in range(10)]
    assert rest.done == [6, 7, 8, 9]
    nothing = Squares()
    assert run(archive, nothing) == [[n * n] for n in range(10)]
    assert nothing.done == []


@pytest.mark.parametrize("torn", [b"[3", b"\xff\xfe", b"[36]", b"[3\n[49]\n"])
def test_work_cut_short_by_a_kill_is_redone(archive, torn):
    with pytest.raises(KeyboardInterrupt):
        run(archive, Squares(interrupted_before=6))
    saved_file(archive).write_bytes(saved_file(archive).read_bytes() + torn)
    rest = Squares()
    assert run(archive, rest) == [[n * n] for n in range(10)]
    assert rest.done == [6, 7, 8, 9]


@pytest.mark.parametrize("change", ["archive", "partition", "settings", "learned", "inputs", "view"])
def test_whatever_decides_about_the_results_starts_them_anew(archive, monkeypatch, change):
    ranker, inputs, view = rankers.create("bm25"), "squares", archive.view()
    run(archive, Squares(), ranker, inputs, view)
    match change:
        case "archive":
            archive.upsert([Question("new", "May I bring my own kayak?")])
        case "partition":
            create_partition(archive, "cluster", {"seed": 7}, name="halves", replace=True)
        case "settings":
            ranker = rankers.create("bm25", {"k1": 1.0})
        case "learned":
            monkeypatch.setattr(type(ranker), "fingerprint", "learned something")
        case "inputs":
            inputs = "other squares"
        case "view":
            view = replace(view, held_out_ids=frozenset({"r001"}))
    anew, again = Squares(), Squares()
    run(archive, anew, ranker, inputs, view)
    run(archive, again, ranker, inputs, view)
    assert (anew.done, again.done) == ([*range(10)], [])
    assert len(list((archive.path / "index").glob("squares-*"))) == 1


def test_concurrent_calls_do_not_mix(archive):
    ranker, slow = rankers.create("bm25"), Squares()
    first = resume_work("squares", ranker, archive.view(), "slow", 10, slow)
    head = [next(first), next(first)]
    run(archive, Squares(), inputs="fast")
    assert head + list(first) == [[n * n] for n in range(10)]
    fast = Squares()
    assert run(archive, fast, inputs="fast") == [[n * n] for n in range(10)]
    assert fast.done == []


def test_where_nothing_can_be_written_nothing_is_saved(archive):
    saved_file(archive).mkdir()
    try:
        assert run(archive, Squares()) == [[n * n] for n in range(10)]
    finally:
        saved_file(archive).rmdir()


def test_briefly_full_disk_leaves_what_was_whole(archive, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # else Python cuts its own caches off, too
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    header = len(b'{"key": "') + 64 + len(b'"}\n')
    resource.setrlimit(resource.RLIMIT_FSIZE, (header + len(b"[0]\n[1]\n[4"), limits[1]))
    try:
        assert run(archive, Squares()) == [[n * n] for n in range(10)]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    rest = Squares()
    assert run(archive, rest) == [[n * n] for n in range(10)]
    assert rest.done == [*range(2, 10)]


def test_scores_keep_every_bit(archive):
    runs = [Run({"q": (["a", "b", "c", "d", "\ud800"], np.array(SCORES)), "none": ([], np.empty(0))})]
    for _ in range(2):
        [found] = resume_runs("bits", rankers.create("bm25"), archive.view(), "", 1, lambda done: iter(runs[done:]))
        assert found.columns("q")[0] == ["a", "b", "c", "d", "\ud800"]
        assert found.columns("q")[1].tobytes() == np.array(SCORES).tobytes()
        assert found.columns("none")[1].dtype == np.float64


def test_saved_work_counts_as_on_disk(archive):
    run(archive, Squares())
    assert disk_sizes(archive.path)["index/squares-bm25.jsonl"] == saved_file(archive).stat().st_size > 0


def test_an_interrupted_evaluation_is_resumed_with_equal_values(archive, monkeypatch):
    monkeypatch.setattr(measuring, "BATCH_SIZE", 10)
    ranker, steps = rankers.create("bm25"), []

    def interrupt(done, total):
        if done >= 20:
            raise KeyboardInterrupt

    def evaluate(measures, progress, resume=True):
        return evaluate_ranker(archive, ranker, "duplicates", measures, progress=progress, resume=resume)

    whole = evaluate(["RR"], None, resume=False)
    with pytest.raises(KeyboardInterrupt):
        evaluate(["RR"], interrupt)
    assert evaluate(["RR"], lambda *step: steps.append(step)).values == whole.values
    assert steps == [(30, 39), (39, 39)]
    other = evaluate(["Success@1", "RR"], lambda *step: steps.append(step))
    assert (other.values["RR"], len(steps)) == (whole.values["RR"], 2)
