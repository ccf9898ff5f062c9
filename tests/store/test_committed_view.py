"""A settled view: who searches through it follows what another has indexed, and indexes nothing itself."""

from pathlib import Path

import pytest

from askalike import rankers
from askalike.store import Archive
from askalike.types import Question


@pytest.mark.parametrize("name", sorted({*rankers.names()} - {"pretrained"}))  # that one needs a model
def test_finds_what_was_last_indexed_and_writes_nothing(name: str, tmp_path: Path) -> None:
    with Archive.create(tmp_path / "a") as archive:
        indexing, serving = rankers.create(name), rankers.create(name)

        def found() -> set[str]:
            searcher = rankers.open_committed(serving, archive.committed_view())
            return {hit.id for hit in searcher.rank({"q": Question("q", "egg")}, 10)["q"]}

        archive.upsert([Question("a", "an egg"), Question("z", "some toast")])
        assert found() == set()
        assert not list((tmp_path / "a").glob("index/*/*"))
        indexing.build(archive.view())
        assert found() == {"a"}
        archive.upsert([Question("b", "another egg")])
        assert found() == {"a"}
        indexing.build(archive.view())
        assert found() == {"a", "b"}
