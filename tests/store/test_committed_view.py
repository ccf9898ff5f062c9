"""A committed view: a search through it follows what another process has indexed, and indexes nothing itself."""

from pathlib import Path

import pytest

from askalike import rankers
from askalike.core.types import Question
from askalike.encoders import PACKAGED_ENCODERS, find_package
from askalike.store import Archive

NEED_A_MODEL = {"cross_encoder", "pretrained", "learned_weights"}


@pytest.mark.parametrize("name", sorted({*rankers.names()} - NEED_A_MODEL))
def test_a_committed_view_retrieves_what_was_last_indexed_and_writes_nothing(name: str, tmp_path: Path) -> None:
    if name in PACKAGED_ENCODERS and not find_package(name).is_installed:
        pytest.skip(f"needs the extra {find_package(name).extra}")
    far = {"z"} if name in PACKAGED_ENCODERS else set()  # these have no minimum score
    with Archive.create(tmp_path / "a") as archive:
        indexing, serving = rankers.create(name), rankers.create(name)

        def retrieved() -> set[str]:
            searcher = rankers.open_committed(serving, archive.committed_view())
            return {hit.id for hit in rankers.rank(searcher, {"q": Question("q", "egg")}, 10)["q"]}

        archive.upsert([Question("a", "an egg"), Question("z", "some toast")])
        assert retrieved() == set()
        assert not list((tmp_path / "a").glob("index/*/*"))
        indexing.build(archive.view())
        assert retrieved() == {"a"} | far
        archive.upsert([Question("b", "another egg")])
        assert retrieved() == {"a"} | far
        indexing.build(archive.view())
        assert retrieved() == {"a", "b"} | far
