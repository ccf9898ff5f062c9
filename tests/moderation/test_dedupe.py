"""Duplicate clusters: how they grow, what holds them together, which question is the original, going on."""

import csv
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from askalike import rankers
from askalike.calibration.calibrate import calibrate
from askalike.calibration.curves import estimate_prevalence, shift_prior
from askalike.errors import InputError, SettingsError
from askalike.moderation import neighbours as module
from askalike.moderation.dedupe import dedupe, propose_cluster
from askalike.moderation.grouping import cluster_pairs, cohesion
from askalike.store.archive import Archive
from askalike.types import Question
from calibration.riverside import riverside

WORDS = "lm_jelinek_mercer"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Riverside with twenty of its questions asked once more, in nearly the same words."""
    path = riverside(tmp_path_factory.mktemp("dedupe") / "riverside")
    with Archive.open(path) as archive:
        calibrate(archive, rankers.create(WORDS)).calibration.save(path)
        asked = [q for _, q in archive.view().questions()][:20]
        archive.upsert(
            replace(q, id=f"again-{q.id}", title=f"{q.title} Thanks!", rephrasings=(), created_at=None) for q in asked
        )
    return path


def test_a_chain_does_not_become_one_group():
    names = [f"{n:02}" for n in range(20)]
    chain = dict.fromkeys(pairwise(names), 0.9)
    assert max(map(len, cluster_pairs(chain, 0.5))) <= 3
    clique = {(a, b): 0.9 for a in names for b in names if a < b}
    assert cluster_pairs(clique, 0.5) == [frozenset(names)]
    assert cluster_pairs(clique, 0.95) == []
    both = cluster_pairs({**{("x" + a, "x" + b): 0.9 for a, b in clique}, **clique, ("00", "x00"): 0.8}, 0.5)
    assert max(map(len, both)) <= 20


def test_groups_do_not_depend_on_the_order_of_pairs():
    rng = np.random.default_rng(0)
    pairs = {tuple(sorted(map(str, rng.choice(30, 2, replace=False)))): float(rng.random()) for _ in range(120)}
    shuffled = [list(pairs.items())[i] for i in rng.permutation(len(pairs))]
    assert cluster_pairs(pairs, 0.3) == cluster_pairs(dict(shuffled), 0.3)
    assert cohesion({("a", "b"): 1.0}, "a", "bc") == 0.5


def test_prevalence_is_found_again():
    rng = np.random.default_rng(0)
    right = rng.random(20_000) < 0.05
    x = rng.normal(size=20_000) + 2 * right
    there = 1 / (1 + np.exp(2 - 2 * x))  # exact where half are right
    share = estimate_prevalence(there, 0.5)
    assert share == pytest.approx(0.05, abs=0.01)
    assert shift_prior(there, 0.5, share).mean() == pytest.approx(right.mean(), abs=0.01)
    assert shift_prior(there, 0.5, 0.5) == pytest.approx(there)
    assert estimate_prevalence(np.empty(0), 0.3) == 0.3


def test_the_original_and_the_reason(tmp_path):
    with Archive.create(tmp_path / "merits") as archive:
        base = [
            Question("a", "x"), Question("b", "x", created_at="2020-01-02"),
            Question("c", "x", created_at="2020-01-01"),
            Question("d", "x", accepted_answer_id="d1"), Question("e", "x", votes=3), Question("f", "x"),
        ]  # fmt: skip
        archive.upsert(base)
        for members, original, reason in (
            ("af", "a", "the first in the archive"), ("abc", "c", "the oldest"),
            ("abcd", "d", "has an accepted answer"),
            ("abcdef", "e", "most votes (3)"),
        ):  # fmt: skip
            told = propose_cluster(archive, {(members[0], members[1]): 0.9}, frozenset(members))
            assert told.members[0].id == original
            assert told.reason.startswith(reason)


def test_what_was_asked_again_is_found(desk, tmp_path):
    with Archive.open(desk) as archive:
        result = dedupe(archive, rankers.create(WORDS), tmp_path / "clusters.csv")
    assert 0.01 < result.duplicate_rate < 0.5
    together = [{q.id for q in p.members} for p in result.proposals]
    hit = sum(any({f"r{n:03}", f"again-r{n:03}"} <= members for members in together) for n in range(1, 21))
    assert hit >= 12
    assert max(map(len, together)) <= 4
    with open(tmp_path / "clusters.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(map(len, together))
    assert sum(row["role"] == "original" for row in rows) == len(together)
    assert all(row["reason"] for row in rows if row["role"] == "original")


def test_it_goes_on_where_it_was_and_gives_the_same(desk, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BATCH_SIZE", 50)
    with Archive.open(desk) as archive:
        dedupe(archive, rankers.create(WORDS), tmp_path / "whole.csv")

        def stop(done, total):
            if done >= 100:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            dedupe(archive, rankers.create(WORDS), tmp_path / "cut.csv", progress=stop)
        part = tmp_path / "cut.csv.part"
        assert len(part.read_text().splitlines()) == 3
        part.write_text(part.read_text() + '[150, [["torn')
        seen = []
        dedupe(archive, rankers.create(WORDS), tmp_path / "cut.csv", progress=lambda done, total: seen.append(done))
    assert seen[0] == 150
    assert (tmp_path / "cut.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    assert not part.exists()


def test_what_a_person_can_mend(desk, tmp_path):
    with Archive.open(desk) as archive:
        with pytest.raises(SettingsError, match="askalike calibrate"):
            dedupe(archive, rankers.create("bm25"), tmp_path / "x.csv")
        with pytest.raises(SettingsError, match="--min-probability 0"):
            dedupe(archive, rankers.create(WORDS), tmp_path / "x.csv", min_probability=0)
        with pytest.raises(InputError, match="can be written"):
            dedupe(archive, rankers.create(WORDS), tmp_path / "no" / "x.csv")


def test_all_that_asks_the_same_is_found_by_a_ranker_of_distinct_hits(desk, tmp_path):
    """Labels say what is the same already; the clusters are found as if nobody had said so."""
    found = []
    with Archive.open(desk) as archive:
        for name, settings in ((WORDS, {}), ("distinct", {"parts": WORDS})):
            ranker = rankers.create(name, settings)
            calibrate(archive, ranker).calibration.save(desk)
            found.append(dedupe(archive, ranker, tmp_path / f"{name}.csv"))
    words, distinct = found
    assert distinct.link_recall.count == words.link_recall.count > 0
    assert [{q.id for q in p.members} for p in distinct.proposals] == [
        {q.id for q in p.members} for p in words.proposals
    ]
