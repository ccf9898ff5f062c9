"""Threads that share an engine put questions and find them with their next search, whatever the others do meanwhile."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from askalike.core.records import Question
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store import Archive
from random_examples import LONG

N_THREADS, N_ROUNDS = (8, 10) if LONG else (4, 4)
HYBRID = {"parts": ["bm25", "lm_dirichlet"], "weights": [1.0, 1.0]}


@pytest.mark.parametrize(("ranker", "settings"), [("lm_jelinek_mercer", {}), ("hybrid", HYBRID)])
def test_each_thread_finds_what_it_has_put(tmp_path, ranker, settings):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question(f"q{n}", f"How long does bread number {n} bake?") for n in range(50)])

    def put_and_search(thread):
        found = []
        for n in range(N_ROUNDS):
            id = f"own{thread}x{n}"
            engine.archive.upsert([Question(id, f"Where does {id} grow?")])
            engine.archive.delete([f"q{N_ROUNDS * thread + n}"])
            found.append([hit.question.id for hit in engine.search(id, 1, min_similarity=0)] == [id])
        return found

    with (
        ArchiveRetriever.open(tmp_path / "archive", ranker, settings) as engine,
        ThreadPoolExecutor(N_THREADS) as threads,
    ):
        assert list(threads.map(put_and_search, range(N_THREADS))) == [[True] * N_ROUNDS] * N_THREADS
