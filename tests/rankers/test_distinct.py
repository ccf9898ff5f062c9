"""Hits that are all different questions, as far as anybody has said what asks the same."""

import random

import pytest

from askalike import rankers
from askalike.calibration.samples import draw_sample
from askalike.core.errors import SettingsError
from askalike.core.filters import Filter
from askalike.core.records import Link, Question
from askalike.labels.partitions import create_partition
from askalike.measuring import evaluate_ranker
from askalike.store import Archive

TITLES = {
    "a1": "boil an egg", "a2": "boil an egg now", "a3": "boil an egg in a pot", "b": "boil rice and an egg",
    "c": "egg timer", "d1": "boil the egg of a duck", "d2": "the egg of a duck, boiled for long",
}  # fmt: skip
LINKS = [("a2", "a1"), ("a3", "a2"), ("d2", "d1")]
QUERY = {"q": Question("q", "boil an egg")}


@pytest.fixture
def archive(archive):
    archive.upsert(Question(id, title, tags=(id[0],)) for id, title in TITLES.items())
    archive.upsert(Link(*pair, "duplicate") for pair in LINKS)
    return archive


def distinct(archive, view=None, **settings):
    return rankers.open_current(distinct_ranker(**settings), view or archive.view())


def distinct_ranker(**settings):
    return rankers.create("distinct", {"parts": "bm25", **settings})


def found(ranker, k=9, **options):
    return {hit.id: hit.score for hit in rankers.rank(ranker, QUERY, k, **options)["q"]}


@pytest.mark.parametrize("part", ["bm25", "lm_jelinek_mercer"])
def test_its_part_has_the_rankers_settings(part):
    assert distinct_ranker(parts=part).part.values == rankers.create(part).values
    assert distinct_ranker(parts=part, joined=True, function_words=0.5).part.values["function_words"] == 0.5


def test_the_best_of_a_cluster_stands_for_all(archive):
    every = found(rankers.open_current(rankers.create("bm25"), archive.view()))
    mine = found(distinct(archive))
    assert list(every) == sorted(every, key=lambda id: -every[id])
    assert set(every) == set(TITLES)
    first = {}
    for id in every:
        first.setdefault(id[0], id)
    assert mine == {id: every[id] for id in first.values()}


@pytest.mark.parametrize("depth", [1, 2, 200])
def test_as_many_are_found_as_were_asked_for(archive, depth):
    ranker = distinct(archive, depth=depth)
    whole = found(ranker)
    assert len(whole) == 4
    for k in (1, 2, 3, 4):
        assert found(ranker, k) == dict(list(whole.items())[:k])


def test_filter_comes_before_what_is_the_same(archive):
    assert set(found(distinct(archive), filter=Filter(("d",)))) == {"d1"}


def test_given_candidates_are_all_ranked(archive):
    assert set(found(distinct(archive), candidates={"q": list(TITLES)})) == set(TITLES)


def test_a_new_link_is_followed(archive):
    ranker = distinct_ranker()
    rankers.open_current(ranker, archive.view())
    archive.upsert([Link("b", "c", "duplicate")])
    assert {"b", "c"} & set(found(rankers.open_current(ranker, archive.view()))) == {"b"}


def test_what_hidden_splits_know_is_not_used(archive):
    assert set(found(distinct(archive, archive.view(held_out_splits=["duplicates"])))) == set(TITLES)


def test_what_is_measured_is_not_known(archive):
    """With the measured links in use the queries' siblings would stand for the originals that are asked for."""
    alone = evaluate_ranker(archive, rankers.create("bm25"), "duplicates", ["nDCG@10"])
    assert evaluate_ranker(archive, distinct_ranker(), "duplicates", ["nDCG@10"]).means == alone.means


def test_of_a_partition_what_trains_is_known(archive):
    create_partition(archive, "cluster", {"shares": [0.5, 0.5], "seed": 0}, source_split="duplicates", name="halves")
    hidden = found(distinct(archive, archive.view(held_out_splits=["halves/test"])))
    assert len(set(TITLES) - set(hidden)) in (1, 2)  # the siblings of one cluster


def test_reasons_are_the_rankers(archive):
    ranker, plain = distinct(archive), rankers.open_current(rankers.create("bm25"), archive.view())
    assert rankers.explain_ids(ranker, QUERY["q"], ["a1", "b"]) == rankers.explain_ids(plain, QUERY["q"], ["a1", "b"])


def test_it_takes_one_ranker_with_its_settings(archive):
    with pytest.raises(SettingsError, match="expected one part, the ranker, got 2"):
        distinct_ranker(parts="bm25,tfidf")
    ranker = distinct_ranker(
        parts="hybrid", **{"hybrid.parts": "bm25,tfidf", "hybrid.weights": "3,1", "hybrid.bm25.b": 0.5}
    )
    assert ranker.values["hybrid.bm25.b"] == 0.5
    assert rankers.create("distinct", ranker.values).values == ranker.values
    assert len(found(rankers.open_current(ranker, archive.view()))) == 4


def test_calibration_on_train_hides_clusters_of_train(tmp_path):
    drawn = random.Random(0)
    words = [f"word{n}" for n in range(300)]
    with Archive.create(tmp_path / "clusters") as archive:
        for n in range(60):
            topic = drawn.sample(words, 5)
            titles = [" ".join(drawn.sample(topic, 3) + drawn.sample(words, 2)) for _ in range(4)]
            archive.upsert(Question(f"{n}-{k}", title) for k, title in enumerate(titles))
            archive.upsert(Link(f"{n}-{k}", f"{n}-0") for k in (1, 2, 3))
        create_partition(archive, "cluster", {"shares": [0.9, 0.1]})
        names = ("lm_jelinek_mercer", "distinct")
        samples = [draw_sample(archive, rankers.create(name), "cluster/train") for name in names]
    plain, distinct = (sample.later_hits.relevant.tolist() for sample in samples)
    assert distinct == plain
    assert any(plain)
