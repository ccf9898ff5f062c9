"""A damaged index is refused in one line before it is searched: a flipped bit never gives another result in silence."""

import dataclasses
import os
import random
import shutil

import numpy as np
import pytest

from askalike.core.arrays import VectorPart, Vectors
from askalike.core.errors import UnusableIndexError
from askalike.index import files
from askalike.index.files import (
    ARRAYS_FILE,
    MANIFEST,
    VERIFIED_FILE,
    compute_checksum,
    find_damage,
    open_arrays,
    read_manifest,
    write_arrays,
    write_manifest,
)
from askalike.index.lexical.index import LexicalIndex
from askalike.index.vectors import codes
from askalike.index.vectors.index import VectorIndex

N_DOCUMENTS = 120
ROWS = np.random.default_rng(1).standard_normal((N_DOCUMENTS, 64)).astype(np.float32)
WORDS = [f"w{n}" for n in range(50)]
N_FLIPS = 60


def make_lexical(path):
    index, dice = LexicalIndex.open(path), random.Random(0)
    index.add({n: dice.choices(WORDS, k=8) for n in range(N_DOCUMENTS)})
    index.delete([3, 5])


def make_vectors(path):
    index = VectorIndex.open(path)
    index.add(range(N_DOCUMENTS), Vectors((VectorPart(ROWS),)))
    index.delete([3, 5])


def search_lexical(path):
    return [(t.docids.tolist(), t.scores.tolist()) for t in LexicalIndex.open(path).search([WORDS[:5], WORDS[7:9]])]


def search_vectors(path):
    tops = VectorIndex.open(path).search(Vectors((VectorPart(ROWS[:3] + ROWS[7]),)))
    return [(t.docids.tolist(), t.scores.tolist()) for t in tops]


KINDS = {"lexical": (make_lexical, search_lexical), "vectors": (make_vectors, search_vectors)}


@pytest.fixture(params=KINDS)
def built(request, tmp_path, monkeypatch):
    monkeypatch.setattr(codes, "MIN_CODED_ROWS", 64)
    make, search = KINDS[request.param]
    make(tmp_path / "index")
    return tmp_path / "index", search


def stored_files(path):
    return sorted(p for p in path.rglob("*") if p.is_file() and p.name not in ("lock", VERIFIED_FILE))


def flip_bit(file, position):
    content = bytearray(file.read_bytes())
    content[position // 8 % len(content)] ^= 1 << position % 8
    file.write_bytes(content)


def test_a_flipped_bit_is_refused_or_harmless(built):
    path, search = built
    expected, dice, refused = search(path), random.Random(2), 0
    for file in stored_files(path):
        whole = file.read_bytes()
        for _ in range(N_FLIPS):
            flip_bit(file, dice.randrange(8 * len(whole)))
            try:
                found = search(path)
            except UnusableIndexError as error:
                found = expected if "\n" not in str(error) else []
                refused += 1
            assert found == expected  # a flipped space of the manifest changes nothing
            file.write_bytes(whole)
    assert refused > 0.9 * N_FLIPS * len(stored_files(path))
    assert search(path) == expected


@pytest.mark.parametrize("damage", [b"", b"\0" * 4096, b"\xff" * 64])
def test_an_overwritten_page_is_refused(built, damage):
    path, search = built
    files = stored_files(path)
    assert files
    for file in files:
        whole = file.read_bytes()
        file.write_bytes((whole[:200] + damage + whole[200 + len(damage) :]) if damage else b"")
        with pytest.raises(UnusableIndexError, match="damaged"):
            search(path)
        file.write_bytes(whole)


def test_arrays_pointing_outside_are_refused_despite_checksums(tmp_path):
    make_lexical(tmp_path)
    manifest = read_manifest(tmp_path)
    name = f"{manifest['segments'][0][0]}/{ARRAYS_FILE}"
    arrays = {key: array.copy() for key, array in open_arrays((tmp_path / name).parent).items()}
    for key in ("starts", "term_offsets", "pareto_starts", "bitmap_of"):
        wrong = arrays[key].copy()
        wrong[len(wrong) // 2] = 1 << 30
        os.unlink(tmp_path / name)
        write_arrays((tmp_path / name).parent, arrays | {key: wrong})
        sums = {**manifest["checksums"], name: compute_checksum(tmp_path / name)}
        write_manifest(tmp_path, manifest | {"checksums": sums})
        with pytest.raises(UnusableIndexError, match="damaged"):
            LexicalIndex.open(tmp_path)


def test_vectors_of_other_lengths_are_refused_despite_checksums(tmp_path):
    make_vectors(tmp_path)
    segment = VectorIndex.open(tmp_path).segments[0].live
    part = segment.parts[0]
    with pytest.raises(ValueError, match="rows each"):
        dataclasses.replace(part, rows=part.rows[:-1]).check_bounds(len(segment.docids))


def test_file_is_read_once_a_day_and_machine(built, monkeypatch):
    path, search = built
    read = []
    compute = files.compute_checksum
    monkeypatch.setattr(files, "compute_checksum", lambda file: read.append(file.name) or compute(file))
    search(path)
    assert read == []  # by the process that has written them
    copied = shutil.copytree(path, path.with_name("copied"))
    search(copied)
    assert len(read) == len(read_manifest(path)["checksums"])
    read.clear()
    search(copied)
    assert read == []
    now = files.time.time()
    for other in (now + 2 * files.TRUSTED_S, now - 3_600):  # a clock that was set back trusts nothing
        monkeypatch.setattr(files.time, "time", lambda other=other: other)
        search(copied)
        assert read
        read.clear()


@pytest.mark.parametrize("content", [b"", b"[]", b'{"a": 1}', b'{"a": ["x", 1, 2, 3, 4]}', b"[" * 100_000])
def test_a_damaged_record_of_intact_files_is_ignored(built, content):
    path, search = built
    expected = search(path)
    (path / VERIFIED_FILE).write_bytes(content)
    assert search(path) == expected


def test_silent_damage_is_found_by_a_check(built, monkeypatch):
    path, search = built
    assert find_damage(path) is None
    monkeypatch.setattr(files, "_identify", lambda file: [1, 2, 3])  # a disk that forgets changes no time
    search(path)
    known = read_manifest(path)["checksums"]
    files.remember_verified(path, known, known)
    name = max(known, key=lambda name: (path / name).stat().st_size)
    flip_bit(path / name, 8 * (path / name).stat().st_size - 5)
    search(path)
    assert find_damage(path) == name
    with pytest.raises(UnusableIndexError, match="differs from its checksum"):
        search(path)


def test_manifest_without_checksums_is_an_earlier_version(built):
    path, search = built
    (path / MANIFEST).write_text('{"format": 3, "change": 2, "segments": []}')
    with pytest.raises(UnusableIndexError, match="without checksums, of an earlier askalike"):
        search(path)
