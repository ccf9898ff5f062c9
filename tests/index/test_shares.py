"""Many queries at once are searched in shares, side by side: each finds what it finds alone."""

import numba
import numpy as np
import pytest

from askalike import rankers
from askalike.store import Archive
from askalike.types import Question

WORDS = ["egg", "rice", "pot", "tea", "water", "salt", "boil", "stir", "wait", "serve", "hot", "cold"]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 63, 64, 700])
def test_shares_change_nothing(tmp_path, monkeypatch, threads, n):
    monkeypatch.setattr(numba.config, "NUMBA_NUM_THREADS", threads)
    rng = np.random.default_rng(0)
    titles = [" ".join(rng.choice(WORDS, 4)) for _ in range(700)]
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert(Question(f"{i}", title) for i, title in enumerate(titles[:400]))
        ranker = rankers.open_current(rankers.create("bm25"), archive.view())
        archive.upsert(Question(f"{i}", title) for i, title in enumerate(titles[400:], 400))
        ranker.build(archive.view())
        queries = {f"q{i}": Question(f"q{i}", title) for i, title in enumerate(titles[:n])}
        together = ranker.rank(queries, 10)
        for id in list(queries)[:: max(1, n // 20)]:
            alone = ranker.rank({id: queries[id]}, 10)[id]
            assert [(hit.id, hit.score) for hit in together[id]] == [(hit.id, hit.score) for hit in alone]
