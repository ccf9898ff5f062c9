"""Three nodes that are killed and started again under load: nothing fails after retries, nothing is lost."""

import threading
import time
from collections.abc import Callable

import pytest
from opensearch.jars import NoClusterError
from opensearch.nodes import Cluster

from askalike import rankers
from askalike.engines import SearchRequest
from askalike.engines.opensearch import OpenSearchEngine, init_cluster
from askalike.errors import EngineError
from askalike.index.cluster.connection import connect
from askalike.store import Archive
from askalike.types import Question
from service.serving import wait_for

pytestmark = pytest.mark.long

SEARCHES_PER_S, WRITES_PER_S = 50, 20
LONGEST_GAP_S = 30.0
"""What a search may take on a busy machine, retries included."""


@pytest.fixture(scope="module")
def cluster():
    pytest.importorskip("opensearchpy", reason="needs the extra opensearch")
    try:
        with Cluster(3) as started:
            init_cluster(started.url, shards=1, replicas=2)
            yield started
    except NoClusterError as error:
        pytest.skip(str(error))


@pytest.fixture
def archive(cluster, tmp_path):
    with Archive.create(tmp_path / "desk") as made:
        made.upsert(Question(f"q{n}", f"how do I bake bread number {n}") for n in range(200))
    with Archive.open(tmp_path / "desk", cluster.url) as opened:
        rankers.create("bm25").build(opened.view())
        wait_for(lambda: health(cluster) == "green")
        yield opened


def health(cluster) -> str:
    try:
        return str(connect(cluster.url).request("GET", "/_cluster/health")["status"])
    except EngineError:
        return "no answer"


class Load:
    """Searches and writes at a steady pace in two threads, until it is stopped."""

    def __init__(self, archive: Archive) -> None:
        self.errors: list[Exception] = []
        self.gaps: list[float] = []
        self.written = 0
        self._path, self._url, self._stopped = archive.path, archive.engine, threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(work,)) for work in (self._search, self._write)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[[OpenSearchEngine], None]) -> None:
        try:
            with OpenSearchEngine.open(self._path, "bm25", None, self._url) as engine:
                while not self._stopped.is_set():
                    work(engine)
        except Exception as error:
            self.errors.append(error)

    def _search(self, engine: OpenSearchEngine) -> None:
        started = time.monotonic()
        assert engine.search_batch([SearchRequest("bake bread", explain=False)])[0].hits
        self.gaps.append(time.monotonic() - started)
        self._stopped.wait(max(0.0, 1 / SEARCHES_PER_S - self.gaps[-1]))

    def _write(self, engine: OpenSearchEngine) -> None:
        engine.archive.upsert([Question(f"new{self.written}", f"samovar number {self.written}")])
        engine.searcher()  # follows the archive: the write is acknowledged
        self.written += 1
        self._stopped.wait(1 / WRITES_PER_S)


def manager(cluster):
    name = connect(cluster.url).request("GET", "/_cat/cluster_manager", format="json")[0]["node"]
    return next(node for node in cluster.nodes if node.name == name)


@pytest.mark.parametrize("which", ["the manager", "another node"])
def test_a_killed_node_fails_nothing_and_comes_back(cluster, archive, which):
    leader = manager(cluster)
    victim = leader if which == "the manager" else next(node for node in cluster.nodes if node is not leader)
    with Load(archive) as load:
        wait_for(lambda: len(load.gaps) > 50 and load.written > 5)
        victim.kill()
        before = len(load.gaps), load.written
        wait_for(lambda: load.errors or (len(load.gaps) > before[0] + 100 and load.written > before[1] + 20))
        cluster.start()
        wait_for(lambda: load.errors or health(cluster) == "green")
    assert load.errors == []
    assert max(load.gaps) < LONGEST_GAP_S
    searcher = rankers.open_current(rankers.create("bm25"), archive.view())
    found = {hit.id for hit in searcher.rank({"q": Question("q", "samovar")}, 10_000)["q"]}
    assert found == {f"new{n}" for n in range(load.written)}


def test_all_nodes_gone_and_back(cluster, archive, monkeypatch):
    monkeypatch.setattr("askalike.index.cluster.connection.RETRY_S", 1.0)
    with OpenSearchEngine.open(archive.path, "bm25", None, cluster.url) as engine:
        expected = [hit.id for hit in engine.search("bake bread")]
        for node in cluster.nodes:
            node.kill()
        with pytest.raises(EngineError, match="no node answers"):
            engine.search("bake bread")
        cluster.start()
        wait_for(lambda: health(cluster) == "green")
        assert [hit.id for hit in engine.search("bake bread")] == expected
