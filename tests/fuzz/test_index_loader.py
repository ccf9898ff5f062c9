"""Random damage to an index: its loader refuses it, or the results are the same. `make fuzz` sets FUZZ_S."""

import random
import shutil
from pathlib import Path

import pytest
from damage import damage, seeds

from askalike import rankers
from askalike.core.records import Question
from askalike.index.files import VERIFIED_FILE
from askalike.store.archive import Archive

pytestmark = pytest.mark.fuzz
FINDINGS = [138, 154, 200, 258, 282, 341, 350, 378]
"""Seeds of damage with which an index without checksums gave other results or a traceback: tried first."""
NOT_READ = ("lock", VERIFIED_FILE)
QUERIES = {"a": Question("a", "mend a bicycle number 7"), "b": Question("b", "where is a red tent")}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with Archive.create(tmp_path_factory.mktemp("fuzz") / "a") as made:
        texts = ["how do I mend bicycle number {}", "where is the red tent {}", "lost my card {}"]
        made.upsert(Question(f"q{n}", texts[n % 3].format(n), tags=("t",)) for n in range(200))
        made.delete(["q5", "q8"])
        yield made


def search(archive):
    found = rankers.rank(rankers.open_current(rankers.create("bm25"), archive.view()), QUERIES, 10)
    return {query: [(hit.id, hit.score) for hit in found[query]] for query in QUERIES}


def test_a_damaged_index_never_gives_another_result(archive: Archive) -> None:
    expected, folder = search(archive), archive.path / "index"
    whole = Path(shutil.copytree(folder, archive.path.parent / "whole"))
    files = sorted(path.relative_to(whole) for path in whole.rglob("*") if path.is_file() and path.name not in NOT_READ)
    for seed in seeds(FINDINGS):
        dice = random.Random(seed)
        file = dice.choice(files)
        shutil.rmtree(folder)
        shutil.copytree(whole, folder)
        (folder / file).write_bytes(damage((whole / file).read_bytes(), dice))
        assert search(archive) == expected, f"seed {seed}, {file}"
