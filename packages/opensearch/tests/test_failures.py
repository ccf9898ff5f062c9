"""Nodes that are killed, cut off, or out of space, under load: nothing fails after retries, nothing is lost."""

import pytest
from cluster.jars import NoClusterError
from cluster.load import Load, find_samovars, health, make_archive as write_archive, manager_index, operators_settings
from cluster.network import open_network
from cluster.nodes import Cluster

import waiting
from askalike import rankers
from askalike.core.errors import EngineError
from askalike.core.records import Question
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store import Archive
from askalike_opensearch.maintenance import connect_to, init_cluster

pytestmark = pytest.mark.long

MIN_TIMEOUT_S = 400.0


@pytest.fixture(scope="module")
def cluster():
    try:
        with Cluster(3) as started:
            init_cluster(started.url, shards=1, replicas=2)
            yield started
    except NoClusterError as error:
        pytest.skip(str(error))


@pytest.fixture
def make_archive(tmp_path):
    """Makes an archive of 200 questions that is indexed in a cluster, with all copies there."""
    opened = []

    def make(url):
        archive = Archive.open(write_archive(tmp_path / "desk", 200), url)
        opened.append(archive)
        rankers.create("bm25").build(archive.view())
        wait_for(lambda: health(url.removeprefix("opensearch+")) == "green")
        return archive

    yield make
    for archive in opened:
        archive.close()


def wait_for(condition):
    return waiting.wait_for(condition, MIN_TIMEOUT_S)


def outlast(load: Load) -> None:
    """Wait until many more searches and writes have succeeded, or one has failed."""
    searched, written = len(load.gaps), load.written
    wait_for(lambda: load.errors or (len(load.gaps) > searched + 100 and load.written > written + 10))


def check_nothing_is_lost(load: Load, archive: Archive) -> None:
    assert load.errors == []
    assert find_samovars(archive) >= load.written_ids


@pytest.mark.parametrize("which", ["the manager", "another node"])
def test_a_killed_node_fails_nothing_and_comes_back(cluster, make_archive, which):
    archive = make_archive(f"opensearch+{cluster.url}")
    victim = cluster.nodes[(manager_index(cluster.url, 3) + (which != "the manager")) % 3]
    with Load(archive) as load:
        outlast(load)
        victim.kill()
        outlast(load)
        cluster.start()
        wait_for(lambda: load.errors or health(cluster.url) == "green")
    check_nothing_is_lost(load, archive)


def test_all_nodes_gone_and_back(cluster, make_archive, monkeypatch):
    archive = make_archive(f"opensearch+{cluster.url}")
    monkeypatch.setattr("askalike_opensearch.connection.RETRY_S", 1.0)
    with ArchiveRetriever.open(archive.path, "bm25", engine=f"opensearch+{cluster.url}") as engine:
        expected = [hit.id for hit in engine.search("bake bread")]
        for node in cluster.nodes:
            node.kill()
        with pytest.raises(EngineError, match="no node answers"):
            engine.search("bake bread")
        cluster.start()
        wait_for(lambda: health(cluster.url) == "green")
        assert [hit.id for hit in engine.search("bake bread")] == expected


@pytest.mark.parametrize("which", ["the manager", "another node"])
def test_node_that_is_cut_off_fails_nothing(make_archive, which):
    pytest.importorskip("yaml", reason="needs PyYAML")
    try:
        with open_network(3) as network, Cluster(settings=operators_settings(), places=network.places) as cluster:
            init_cluster(cluster.url, shards=1, replicas=2)
            archive = make_archive(f"opensearch+{cluster.url}?timeout=5")
            victim = (manager_index(cluster.url, 3) + (which != "the manager")) % 3
            with Load(archive) as load:
                outlast(load)
                network.cut_off(victim)
                outlast(load)
                network.heal(victim)
                wait_for(lambda: load.errors or health(cluster.url) == "green")
                outlast(load)
            check_nothing_is_lost(load, archive)
    except NoClusterError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("small_disk", ["64m"], indirect=True)
def test_full_disk_refuses_writes_that_follow_later(small_disk, make_archive, monkeypatch):
    free = {"low": "16mb", "high": "12mb", "flood_stage": "8mb"}  # shares would also hold for the other node's disk
    settings = {f"cluster.routing.allocation.disk.watermark.{name}": size for name, size in free.items()}
    settings |= {"cluster.routing.allocation.disk.threshold_enabled": "true", "cluster.info.update.interval": "10s"}
    cluster = Cluster(2, settings)
    cluster.nodes[1].settings["path.data"] = str(small_disk / "data")
    try:
        with cluster:
            init_cluster(cluster.url, shards=1, replicas=1)
            archive = make_archive(f"opensearch+{cluster.url}")
            monkeypatch.setattr("askalike_opensearch.connection.RETRY_S", 1.0)
            ballast = small_disk / "ballast"
            with ArchiveRetriever.open(archive.path, "bm25", engine=f"opensearch+{cluster.url}") as engine:
                bread = [hit.id for hit in engine.search("bake bread")]
                ballast.write_bytes(bytes(60 << 20))
                wait_for(lambda: is_blocked(archive))
                archive.upsert([Question("new", "a samovar")])
                with pytest.raises(EngineError, match="flood-stage.*free space"):
                    rankers.create("bm25").build(archive.view())
                assert [hit.id for hit in engine.search("bake bread")] == bread
                ballast.unlink()
                wait_for(lambda: not is_blocked(archive))
                assert [hit.id for hit in engine.search("samovar")] == ["new"]
    except NoClusterError as error:
        pytest.skip(str(error))


def is_blocked(archive: Archive) -> bool:
    """Whether the cluster has forbidden writes to an index of the archive."""
    settings = connect_to(archive).request("GET", "/askalike-*/_settings", flat_settings="true")
    return any("index.blocks.read_only_allow_delete" in index["settings"] for index in settings.values())
