"""Searches and writes at a steady rate, as of a service, while something happens to a cluster."""

import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from askalike import rankers
from askalike.core.errors import EngineError
from askalike.core.records import Question
from askalike.search.archive_retriever import ArchiveRetriever, SearchRequest
from askalike.store import Archive
from askalike_opensearch.connection import connect

COMPOSE = Path(__file__).parents[2] / "docs" / "operators" / "docker-compose.yml"
SEARCHES_PER_S, SEARCHERS = 50, 10
WRITES_PER_S, WRITERS = 20, 10


class Load:
    """Threads that search and threads that write, like many clients of a service, until it is stopped.

    errors: the errors that remained after retries. gaps, write_gaps: for each search or write that ended, the seconds
    since the previous one.
    """

    def __init__(self, archive: Archive) -> None:
        self.errors: list[Exception] = []
        self.gaps: list[float] = []
        self.write_gaps: list[float] = []
        self._acknowledged = [0] * WRITERS
        self._path, self._url, self._stopped = archive.path, archive.engine, threading.Event()
        self._lock = threading.Lock()
        self._last = {"search": time.monotonic(), "write": time.monotonic()}
        work = [*[(self._search, False)] * SEARCHERS, *[(self._writer(n), True) for n in range(WRITERS)]]
        self._threads = [threading.Thread(target=self._run, args=one) for one in work]

    @property
    def written(self) -> int:
        """The number of acknowledged writes."""
        return sum(self._acknowledged)

    @property
    def written_ids(self) -> set[str]:
        """The ids of the questions with acknowledged writes."""
        return {f"new{writer}-{n}" for writer, count in enumerate(self._acknowledged) for n in range(count)}

    def forget_gaps(self) -> None:
        """Restart the measurement."""
        with self._lock:
            self.gaps, self.write_gaps = [], []

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[[ArchiveRetriever], float], follows: bool) -> None:
        """follows: whether the thread sends changes; other threads search what was sent, like a service's processes."""
        try:
            with Archive.open(self._path, self._url) as archive:
                view = archive.view() if follows else archive.committed_view()
                engine = ArchiveRetriever(archive, rankers.create("bm25"), view)
                due = time.monotonic()
                while not self._stopped.is_set():
                    due += work(engine)
                    due = max(due, time.monotonic())
                    self._stopped.wait(due - time.monotonic())
        except Exception as error:
            traceback.print_exc()
            self.errors.append(error)

    def _search(self, engine: ArchiveRetriever) -> float:
        assert engine.search_batch([SearchRequest("bake bread", explain=False, min_similarity=0.0)])[0].hits
        self._note("search")
        return SEARCHERS / SEARCHES_PER_S

    def _writer(self, number: int) -> Callable[[ArchiveRetriever], float]:
        def write(engine: ArchiveRetriever) -> float:
            n = self._acknowledged[number]
            engine.archive.upsert([Question(f"new{number}-{n}", f"samovar number {number} {n}")])
            engine.searcher()  # applies the archive's changes: the cluster acknowledges the write
            self._acknowledged[number] += 1
            self._note("write")
            return WRITERS / WRITES_PER_S

        return write

    def _note(self, kind: str) -> None:
        with self._lock:
            ended = time.monotonic()
            (self.gaps if kind == "search" else self.write_gaps).append(ended - self._last[kind])
            self._last[kind] = ended


def make_archive(path: Path, questions: int) -> Path:
    """Make an archive of questions about bread, and return its path."""
    with Archive.create(path) as made:
        made.upsert(Question(f"q{n}", f"how do I bake bread number {n}") for n in range(questions))
    return path


def operators_settings() -> dict[str, str]:
    """Return the settings for unresponsive nodes of the cluster in the documentation."""
    import yaml  # of the benchmarks' and the tests' requirements

    settings = yaml.safe_load(COMPOSE.read_text())["services"]["opensearch-1"]["environment"]
    return {name: value for name, value in settings.items() if name.endswith((".timeout", ".retry_count", "_block"))}


def health(url: str) -> str:
    """Return a cluster's health."""
    try:
        return str(connect(url).request("GET", "/_cluster/health")["status"])
    except EngineError:
        return "no answer"


def manager_index(url: str, nodes: int) -> int:
    """Return the number of the node that manages the cluster, from 0."""
    name = connect(url).request("GET", "/_cat/cluster_manager", format="json")[0]["node"]
    return [f"node{n}" for n in range(1, nodes + 1)].index(name)


def find_samovars(archive: Archive) -> set[str]:
    """Return the ids of the questions written by the load that searches find afterwards."""
    searcher = rankers.open_current(rankers.create("bm25"), archive.view())
    return {hit.id for hit in rankers.rank(searcher, {"q": Question("q", "samovar")}, 10_000)["q"]}
