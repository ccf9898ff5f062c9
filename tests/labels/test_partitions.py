"""Partitions: no cluster in two parts, the same parts for the same seed, kept and found by name."""

import random

import pytest
from hypothesis import given, strategies as st

from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.records import EvaluationQuery, Judgement, Link, Question
from askalike.labels.partitions import (
    ClusterSplitter,
    FoldSplitter,
    SplitQuery,
    TimeSplitter,
    assign_folds,
    clusters_from_qrels,
    create_partition,
    get_partition,
    list_partitions,
)
from askalike.labels.splits import labelled_splits, load_split, splits_to_hold_out
from askalike.store import Archive
from askalike.store.labels import Clusters, connected_components


def fill(archive: Archive, clusters: int = 20) -> None:
    """Each cluster is an original `oN` with two duplicates `aN` and `bN`, asked a day later each."""
    for n in range(clusters):
        days = [f"2020-{n % 12 + 1:02}-{day:02}T12:00:00" for day in (1, 2, 3)]
        ids = (f"o{n}", f"a{n}", f"b{n}")
        archive.upsert(Question(id, f"question {id}", created_at=day) for id, day in zip(ids, days, strict=True))
        archive.upsert([Link(f"a{n}", f"o{n}"), Link(f"b{n}", f"a{n}")])


SPLITTERS = st.one_of(
    st.builds(
        ClusterSplitter, seed=st.integers(0, 9), shares=st.sampled_from([(0.8, 0.1, 0.1), (0.5, 0.5), (0.2, 0.3, 0.5)])
    ),
    st.builds(FoldSplitter, seed=st.integers(0, 9), folds=st.integers(2, 6)),
    st.builds(TimeSplitter, before=st.just("2012"), after=st.sampled_from([None, "2012", "2014-06"])),
)
DATES = st.one_of(st.none(), st.integers(2008, 2020).map(lambda year: f"{year}-06-15T00:00:00"))
QUERIES = st.lists(st.tuples(st.integers(0, 15).map(str), DATES), max_size=60).map(
    lambda rows: [SplitQuery(str(n), cluster, date) for n, (cluster, date) in enumerate(rows)]
)


@given(SPLITTERS, QUERIES, st.randoms())
def test_clusters_stay_whole_whatever_the_order(splitter, queries, order):
    part_by_query = splitter.assign_parts(queries)
    cluster = {query.id: query.cluster for query in queries}
    assert set(part_by_query.values()) <= set(splitter.part_names)
    assert len({(cluster[id], part) for id, part in part_by_query.items()}) == len(
        {cluster[id] for id in part_by_query}
    )
    assert splitter.assign_parts(order.sample(queries, len(queries))) == part_by_query
    if not isinstance(splitter, TimeSplitter):
        assert part_by_query.keys() == cluster.keys()


def test_parts_have_their_shares():
    queries = [SplitQuery(str(n), str(n // 4)) for n in range(4000)]
    part_by_query = ClusterSplitter().assign_parts(queries)
    sizes = [list(part_by_query.values()).count(part) for part in ("train", "dev", "test")]
    assert sizes == pytest.approx([3200, 400, 400], abs=4)
    assert ClusterSplitter(seed=1).assign_parts(queries) != part_by_query
    folds = list(FoldSplitter(folds=3).assign_parts(queries).values())
    assert [folds.count(part) for part in ("1", "2", "3")] == pytest.approx([1333, 1333, 1333], abs=4)


def test_time_leaves_out_later_repeats_and_dateless_ones():
    queries = [
        SplitQuery("old", "x", "2010-01-01"),
        SplitQuery("new", "x", "2015-01-01"),
        SplitQuery("1", "y", "2010"),
        SplitQuery("2", "y", "2011-12-31T23:59:59"),
        SplitQuery("3", "z", "2012-01-01T00:00:00"),
        SplitQuery("?", "z"),
    ]
    splitter = TimeSplitter(before="2012-01-01", after="2014")
    assert splitter.part_names == ("train", "dev", "test")
    assert splitter.assign_parts(queries) == {"new": "test", "1": "train", "2": "train", "3": "dev"}
    assert TimeSplitter(after="2012").part_names == ("train", "test")
    assert TimeSplitter(after="2012").assign_parts(queries) == {"new": "test", "1": "train", "2": "train", "3": "test"}


def test_parts_are_found_by_name_like_given_splits(archive):
    fill(archive)
    partition = create_partition(archive, "cluster", {"shares": [0.6, 0.2, 0.2]})
    assert [(p.split, p.queries, p.clusters, p.links, p.largest) for p in partition.parts] == [
        ("cluster/train", 24, 12, 24, 2),
        ("cluster/dev", 8, 4, 8, 2),
        ("cluster/test", 8, 4, 8, 2),
    ]
    assert (partition.source_split, partition.method, partition.left_out) == ("duplicates", "cluster", 0)
    assert partition.description == "duplicates by cluster, shares 0.6 0.2 0.2, seed 0"
    assert labelled_splits(archive) == ["duplicates", "cluster/train", "cluster/dev", "cluster/test"]
    whole, dev = load_split(archive, "duplicates"), load_split(archive, "cluster/dev")
    assert len(dev.queries) == 8
    assert dev.qrels == {id: whole.qrels[id] for id in dev.queries}
    with pytest.raises(ArchiveError, match="no split 'cluster/2'.*there are: duplicates, cluster/train"):
        load_split(archive, "cluster/2")


def test_same_again_is_no_change_and_another_refused(archive):
    fill(archive)
    partition = create_partition(archive, "cluster")
    written = archive._connection.total_changes
    assert create_partition(archive, "cluster") == partition
    assert archive._connection.total_changes == written
    with pytest.raises(ArchiveError, match="'cluster' exists: duplicates by cluster, .*--name NAME, or .*--force"):
        create_partition(archive, "cluster", {"seed": 1})
    other = create_partition(archive, "cluster", {"seed": 1}, name="second")
    assert set(load_split(archive, "second/dev").queries) != set(load_split(archive, "cluster/dev").queries)
    again = create_partition(archive, "cluster", {"seed": 1}, replace=True)
    assert load_split(archive, "cluster/dev") == load_split(archive, "second/dev")
    assert list_partitions(archive) == [again, other]


def test_impossible_cut_is_said_in_one_line(archive):
    with pytest.raises(ArchiveError, match="nothing to divide"):
        create_partition(archive, "cluster")
    fill(archive, 2)
    with pytest.raises(ArchiveError, match=r"a part of duplicates would have no queries \(1 2, 2 2, 3 0\)"):
        create_partition(archive, "folds", {"folds": 3})
    with pytest.raises(ArchiveError, match="no split 'nope'"):
        create_partition(archive, "cluster", source_split="nope")
    with pytest.raises(ArchiveError, match="no partition is called 'cluster'"):
        get_partition(archive, "cluster")
    for name in ("duplicates", "a/b", "", "..", "a b"):
        with pytest.raises(SettingsError, match="--name"):
            create_partition(archive, "folds", name=name)


@pytest.mark.parametrize(
    ("by", "values", "message"),
    [
        ("luck", {}, "no splitter is called 'luck'; there are: cluster, category, tag, time, folds"),
        ("cluster", {"shares": [0.5, 0.4]}, "split by cluster: expected two or three shares above 0 that add up to 1"),
        ("cluster", {"shares": [1.0]}, "expected two or three shares"),
        ("cluster", {"before": "2012"}, r"before is not a setting \(known: shares, seed\)"),
        ("time", {}, "split by time: expected a date: before, after or both"),
        ("time", {"before": "2013", "after": "2012"}, "after=2012 is earlier than before=2013"),
        ("time", {"before": "yesterday"}, "before='yesterday'"),
        ("folds", {"folds": 1}, "folds=1: expected 2 or more"),
    ],
)
def test_wrong_settings(archive, by, values, message):
    with pytest.raises(SettingsError, match=message):
        create_partition(archive, by, values)


def test_given_split_is_cut_by_judgements_and_candidates(archive):
    archive.upsert(Question(f"d{n}", f"document {n}") for n in range(30))
    archive.upsert(EvaluationQuery(s, Question(f"q{n}", "?")) for s in ("train", "dev") for n in range(10))
    archive.upsert(Judgement("train", f"q{n}", f"d{n // 2}", 1, 1) for n in range(10))
    archive.upsert(Judgement("train", f"q{n}", f"d{n + 10}", 0, 2) for n in range(10))
    partition = create_partition(archive, "cluster", {"shares": [0.5, 0.5]})
    assert [(p.split, p.queries, p.clusters) for p in partition.parts] in (
        [("cluster/train", 6, 3), ("cluster/test", 4, 2)],
        [("cluster/train", 4, 2), ("cluster/test", 6, 3)],
    )
    test = load_split(archive, "cluster/test")
    assert all(test.candidates[q] == [f"d{int(q[1:]) // 2}", f"d{int(q[1:]) + 10}"] for q in test.queries)
    assert splits_to_hold_out(archive, "cluster/test") == ["cluster/test", "dev"]
    assert labelled_splits(archive) == ["train", "cluster/train", "cluster/test"]


def test_a_part_can_be_cut_again(archive):
    fill(archive)
    create_partition(archive, "cluster")
    create_partition(archive, "folds", {"folds": 2}, source_split="cluster/train", name="inner")
    assert set(load_split(archive, "inner/1").queries) | set(load_split(archive, "inner/2").queries) == set(
        load_split(archive, "cluster/train").queries
    )
    with pytest.raises(SettingsError, match="cluster/train is a part of it"):
        create_partition(archive, "folds", source_split="inner/1", name="cluster", replace=True)
    assert splits_to_hold_out(archive, "inner/2") == ["inner/2", "cluster/dev", "cluster/test"]
    assert splits_to_hold_out(archive, "cluster/test") == ["cluster/dev", "cluster/test"]
    assert splits_to_hold_out(archive, "cluster/train") == ["cluster/train", "cluster/dev", "cluster/test"]


def test_rephrasings_of_one_question_stay_together(archive):
    archive.upsert(Question(str(n), f"question {n}", rephrasings=("one", "two", "three")) for n in range(10))
    partition = create_partition(archive, "folds")
    assert [(p.queries, p.clusters, p.links) for p in partition.parts] == [(6, 2, 6)] * 5
    assert splits_to_hold_out(archive, "folds/3") == ["folds/3"]
    assert splits_to_hold_out(archive, "rephrasings") == ["rephrasings"]


def test_given_splits_hold_out_all_but_train(archive):
    archive.upsert(EvaluationQuery(name, Question("q", "?")) for name in ("test", "train", "dev"))
    assert splits_to_hold_out(archive, "test") == splits_to_hold_out(archive, "dev") == ["dev", "test"]
    assert splits_to_hold_out(archive, "train") == ["train", "dev", "test"]


def test_chains_of_links_make_one_cluster(archive):
    archive.upsert(Question(id, id) for id in "abc")
    archive.upsert([Link("a", "gone"), Link("b", "gone"), Link("c", "a", "related")])
    clusters = Clusters.read(archive)
    assert clusters.cluster_of("a") == clusters.cluster_of("b") == "a"
    assert clusters.cluster_of("c") == "c"


def test_query_sharing_an_id_is_another_question(archive):
    archive.upsert([Question("1", "one"), Question("2", "two"), Question("3", "three")])
    archive.upsert([EvaluationQuery("test", Question("1", "something else")), Judgement("test", "1", "2", 1)])
    archive.upsert([EvaluationQuery("test", Question("3", "three")), Judgement("test", "3", "2", 1)])
    clusters = Clusters.read(archive)
    assert clusters.cluster_of("1") == "1"
    assert clusters.cluster_of("3") == clusters.cluster_of("2") == "2"


def test_insertion_order_does_not_matter(archive, tmp_path):
    records = [Question(f"{x}{n}", f"question {x}{n}") for n in range(30) for x in "oa"]
    linked = [Link(f"a{n}", f"o{n // 2}") for n in range(30)]
    with Archive.create(tmp_path / "other") as other:
        for each in (archive, other):
            each.upsert(random.Random(id(each)).sample(records, len(records)))
            each.upsert(random.Random(id(each)).sample(linked, len(linked)))
            create_partition(each, "cluster")
        for name in ("cluster/train", "cluster/dev", "cluster/test"):
            assert load_split(archive, name).qrels == load_split(other, name).qrels


IDS = st.sampled_from("abcdefgh")
PAIRS = st.lists(st.tuples(IDS, IDS))


def closure(pairs):
    """Each id's cluster by repeating until nothing changes."""
    reach = {id: {id} for pair in pairs for id in pair}
    changed = True
    while changed:
        changed = False
        for a, b in pairs:
            both = reach[a] | reach[b]
            for id in both:
                changed |= reach[id] != both
                reach[id] = both
    return reach


@given(PAIRS)
def test_chain_of_pairs_joins_and_nothing_else(pairs):
    found = connected_components(pairs)
    assert found == {id: min(members) for id, members in closure(pairs).items()}


def test_query_belongs_with_what_is_relevant_to_it():
    qrels = {"q1": {"d1": 1, "d2": 0}, "q2": {"d2": 1}, "q3": {"d1": 2}, "q4": {}}
    assert clusters_from_qrels(qrels) == {"q1": "d1", "d1": "d1", "q3": "d1", "q2": "d2", "d2": "d2", "q4": "q4"}


@given(PAIRS, st.integers(1, 4), st.integers(0, 3))
def test_folds_hold_every_query_once_and_clusters_whole(pairs, k, seed):
    cluster_of = connected_components(pairs)
    parts = assign_folds(cluster_of, cluster_of, k, seed)
    assert len(parts) == k
    assert sorted(q for part in parts for q in part) == sorted(cluster_of)
    clusters = [{cluster_of[q] for q in part} for part in parts]
    assert sum(map(len, clusters)) == len(set(cluster_of.values()))
    assert parts == assign_folds(cluster_of, cluster_of, k, seed)
