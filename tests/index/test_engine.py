"""Engines are found by the name at the beginning of their address."""

from importlib.metadata import EntryPoint, EntryPoints
from typing import ClassVar

import pytest

from askalike import rankers
from askalike.core import registry
from askalike.core.errors import SettingsError
from askalike.core.records import Question
from askalike.index.engine import FileEngine, open_engine
from askalike.index.lexical.index import LexicalIndex
from askalike.index.vectors.index import VectorIndex
from askalike.store import Archive


class MemoryEngine:
    """An engine as another package might add one: the indexes of a process, in memory."""

    opened: ClassVar[dict] = {}

    @classmethod
    def connect(cls, url):
        return cls()

    def lexical(self, location, layout, similarity):
        return self.opened.setdefault((location.archive, location.name), LexicalIndex.create(layout=layout))

    def vectors(self, location, layout, exact_up_to, count_documents):
        return self.opened.setdefault((location.archive, location.name), VectorIndex.create(layout=layout))


def found(archive, text):
    searcher = rankers.open_current(rankers.create("bm25"), archive.view())
    return [hit.id for hit in rankers.rank(searcher, {"q": Question("q", text)}, 5)["q"]]


def test_engine_none_is_files():
    assert isinstance(open_engine(None), FileEngine)


@pytest.mark.parametrize("address", ["http://user:secret@127.0.0.1:9200", "nowhere+http://127.0.0.1", ""])
def test_engine_unknown_address(address):
    with pytest.raises(SettingsError, match=r"expected NAME\+URL, with NAME one of: ") as raised:
        open_engine(address)
    assert "secret" not in str(raised.value)


def test_engine_of_another_package(tmp_path, monkeypatch):
    point = EntryPoint("memory", f"{__name__}:MemoryEngine", "askalike.engines")
    monkeypatch.setattr(registry, "installed_entry_points", lambda: EntryPoints([point]))
    registry._entry_points.cache_clear()
    try:
        with Archive.create(tmp_path / "desk") as made:
            made.upsert([Question("a", "how do I boil an egg"), Question("b", "opening hours")])
        with Archive.open(tmp_path / "desk", "memory+x:") as archive:
            assert found(archive, "boiling an egg") == ["a"]
            archive.upsert([Question("c", "where is the teapot")])
            assert found(archive, "teapot") == ["c"]
        assert MemoryEngine.opened
        assert not (tmp_path / "desk" / "index").exists()
    finally:
        registry._entry_points.cache_clear()
