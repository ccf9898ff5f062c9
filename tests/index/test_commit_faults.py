"""Each write of an index fails once, at every position: what was committed stays, and the checks tell the truth."""

import builtins
import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from askalike.core.arrays import VectorPart, Vectors
from askalike.core.errors import SearchIndexError
from askalike.index.files import MANIFEST, find_damage
from askalike.index.lexical.index import LexicalIndex
from askalike.index.vectors.index import VectorIndex

OPERATIONS = ("replace", "fsync", "mkdir", "posix_fallocate")


class Disk:
    """Counts the operations of writing files, and lets one of them fail; half of a failing write is written."""

    def __init__(self, monkeypatch):
        self.calls, self.failing = [], -1
        self._real_open = builtins.open
        monkeypatch.setattr(builtins, "open", self._open)
        monkeypatch.setattr("io.open", self._open)
        for name in OPERATIONS:
            monkeypatch.setattr(os, name, self._wrap(name, getattr(os, name)))

    def start(self, failing=-1):
        self.calls, self.failing = [], failing

    def note(self, name, *arguments):
        self.calls.append((name, *arguments))
        if len(self.calls) - 1 == self.failing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _wrap(self, name, real):
        def operation(*arguments, **options):
            places = [os.readlink(f"/proc/self/fd/{arguments[0]}")] if name == "fsync" else arguments
            self.note(name, *map(str, places))
            return real(*arguments, **options)

        return operation

    def _open(self, file, mode="r", *arguments, **options):
        opened = self._real_open(file, mode, *arguments, **options)
        if not set(mode) & set("wxa+") or isinstance(file, int):
            return opened
        real = opened.write

        def write(content):
            try:
                self.note("write", str(file))
            except OSError:
                real(content[: len(content) // 2])
                opened.flush()
                raise
            return real(content)

        try:
            opened.write = write
        except AttributeError:  # an unbuffered file of C: it is not one of ours
            return opened
        return opened


def commit_lexical(path, n):
    index = LexicalIndex.open(path)
    with index.write_lock(), index.writer() as writer:
        writer.delete([10 * (n - 1)])
        for docid in range(10 * n, 10 * n + 10):
            writer.add(docid, [(0, ["a", f"b{docid}"])])
        writer.commit(n)


def commit_vectors(path, n):
    index = VectorIndex.open(path)
    with index.write_lock(), index.writer() as writer:
        writer.delete([10 * (n - 1)])
        rows = np.random.default_rng(n).standard_normal((10, 16)).astype(np.float32)
        docids = np.arange(10 * n, 10 * n + 10)
        writer.add(docids, 0 * docids, Vectors((VectorPart(rows),)))
        writer.commit(n)


def lexical_docids(path):
    [top] = LexicalIndex.open(path).search([["a"]], k=1000)
    return sorted(top.docids.tolist())


def vector_docids(path):
    [top] = VectorIndex.open(path).search(Vectors((VectorPart(np.ones((1, 16), np.float32)),)), k=1000)
    return sorted(top.docids.tolist())


KINDS = {"lexical": (commit_lexical, lexical_docids), "vectors": (commit_vectors, vector_docids)}


@pytest.mark.parametrize("kind", KINDS)
def test_failing_commit_leaves_one_whole_state(tmp_path, monkeypatch, kind):
    commit, docids = KINDS[kind]
    for n in (1, 2, 3):
        commit(tmp_path / "before", n)
    shutil.copytree(tmp_path / "before", tmp_path / "after")
    disk = Disk(monkeypatch)
    commit(tmp_path / "after", 4)
    before, after, n_operations = docids(tmp_path / "before"), docids(tmp_path / "after"), len(disk.calls)
    failures = 0
    for failing in range(n_operations):
        disk.start()
        path = Path(shutil.copytree(tmp_path / "before", tmp_path / f"index{failing}"))
        disk.start(failing)
        try:
            commit(path, 4)
            expected = [after]  # it was not needed, such as a record of intact files
        except SearchIndexError as error:
            expected = [before, after] if "\n" not in str(error) else []
            failures += 1
        disk.start()
        assert find_damage(path) is None
        assert docids(path) in expected
        commit(path, 4)
        assert docids(path) == after
    assert failures > 5


@pytest.mark.parametrize("kind", KINDS)
def test_files_are_synced_before_a_commit_is_acknowledged(tmp_path, monkeypatch, kind):
    commit, _ = KINDS[kind]
    disk, path = Disk(monkeypatch), tmp_path / "index"
    commit(path, 1)
    disk.start()
    commit(path, 2)
    calls = [call for call in disk.calls if "verified.json" not in call[-1]]
    [at] = [n for n, call in enumerate(calls) if call[0] == "replace" and call[2] == str(path / MANIFEST)]
    synced_before = {call[1] for call in calls[:at] if call[0] == "fsync"}
    partial = calls[at][1]
    segments = [folder for folder in path.iterdir() if folder.is_dir() and str(folder) in synced_before]
    assert segments
    for segment in segments:
        assert {str(file) for file in segment.iterdir()} <= synced_before
    assert {str(path), partial} <= synced_before
    assert {str(file) for file in path.glob("deleted-*")} <= synced_before
    assert ("fsync", str(path)) in calls[at:]
    written_last = max(n for n, call in enumerate(calls) if call[0] == "write" and call[1] != partial)
    assert written_last < min(n for n, call in enumerate(calls) if call == ("fsync", partial))
