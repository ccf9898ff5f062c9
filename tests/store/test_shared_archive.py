"""Threads that share an archive write and read it at the same time: nothing is lost, and nothing is stored in half."""

from concurrent.futures import ThreadPoolExecutor

from askalike.core.types import Question
from askalike.store import Archive

N_THREADS, N_ROUNDS, BATCH = 8, 20, 10


def test_threads_write_one_archive_and_read_whole_batches_from_it(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:

        def put_and_count(thread):
            counts = []
            for n in range(N_ROUNDS):
                archive.upsert([Question(f"{thread}-{n}-{m}", "How long?") for m in range(BATCH)])
                counts.append(len(archive.view()))
            return counts

        with ThreadPoolExecutor(N_THREADS) as threads:
            counts = [count for counts in threads.map(put_and_count, range(N_THREADS)) for count in counts]
        assert len(archive.view()) == N_THREADS * N_ROUNDS * BATCH
    assert {count % BATCH for count in counts} == {0}


def test_threads_delete_and_label_while_others_write(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question(f"old-{n}", "How long?") for n in range(N_ROUNDS)])

        def write(thread):
            for n in range(N_ROUNDS):
                archive.upsert([Question(f"{thread}-{n}", "How long?")])
                archive.set_meta(**{f"fact-{thread}-{n}": n})

        def delete():
            return sum(archive.delete([f"old-{n}"]) for n in range(N_ROUNDS))

        with ThreadPoolExecutor(N_THREADS) as threads:
            deleted = threads.submit(delete)
            list(threads.map(write, range(N_THREADS - 1)))
        assert (deleted.result(), len(archive.view())) == (N_ROUNDS, (N_THREADS - 1) * N_ROUNDS)
        assert len(archive.meta) == (N_THREADS - 1) * N_ROUNDS
