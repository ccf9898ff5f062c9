"""How many requests a batch of queries takes: no more than one query."""

import random

import opensearchpy

from askalike import rankers
from askalike.core.records import Question
from askalike.store import Archive
from askalike.text.typos import misspell
from calibration.riverside import import_riverside

REQUESTS_FOR_A_BATCH = 25
"""Eleven to look words up, and those of any search; they were more than four for each query."""


def test_batch_takes_no_more_requests_than_a_query(cluster_url, tmp_path, monkeypatch):
    path = import_riverside(tmp_path / "library")
    send, sent = opensearchpy.Transport.perform_request, []

    def count(self, method, path, **options):
        sent.append(path)
        return send(self, method, path, **options)

    with Archive.open(path) as here, Archive.open(path, f"opensearch+{cluster_url}") as there:
        titles = [title for _, _, title in here.view().titles()][:50]
        queries = {f"typed {n}": Question("", misspell(title, 1, random.Random(n))) for n, title in enumerate(titles)}
        local, remote = (rankers.open_current(rankers.create("bm25"), archive.view()) for archive in (here, there))
        monkeypatch.setattr(opensearchpy.Transport, "perform_request", count)
        run = rankers.rank(remote, queries, 200)
        assert len(sent) <= REQUESTS_FOR_A_BATCH
        expected = rankers.rank(local, queries, 200)
    assert {id: [hit.id for hit in run[id]] for id in queries} == {
        id: [hit.id for hit in expected[id]] for id in queries
    }
