"""What chooses and what measures: of every archive something, and never the same twice."""

import pytest
from tests.tuning.small import labelled, linked, unlabelled

from askalike.core.errors import ArchiveError
from askalike.core.records import EvaluationQuery, Judgement, Question
from askalike.labels.training_pairs import training_pairs
from askalike.store.archive import Archive
from askalike.store.labels import Clusters
from askalike.tuning import task
from askalike.tuning.task import make_task

SIGNALS = ("duplicates", "judgements", "rephrasings", "related", "title_body", "question_answer")


def test_few_labels_choose_and_measure_in_nested_folds(tmp_path):
    with Archive.open(labelled(tmp_path / "a")) as archive:
        tuning_task = make_task(archive)
    assert (
        tuning_task.test,
        tuning_task.held_out_splits,
        len(tuning_task.dev.queries),
        tuning_task.has_pseudo_queries,
    ) == (
        None,
        ("rephrasings",),
        64,
        False,
    )


def test_many_labels_are_cut_by_cluster(tmp_path, monkeypatch):
    monkeypatch.setattr(task, "MIN_UNNESTED", 60)
    with Archive.open(linked(tmp_path / "a")) as archive:
        tuning_task = make_task(archive)
        clusters = Clusters.read(archive)
    parts = [{clusters.cluster_of(q) for q in part.queries} for part in (tuning_task.dev, tuning_task.test)]
    assert tuning_task.held_out_splits == ("tune/dev", "tune/test")
    assert [len(part) for part in parts] == [16, 16]
    assert not parts[0] & parts[1]


def test_a_cut_follows_the_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(task, "MIN_UNNESTED", 60)
    with Archive.open(labelled(tmp_path / "a")) as archive:
        before = make_task(archive)
        archive.upsert([Question(f"n{i}", f"entirely new {i}", rephrasings=(f"brand new {i}",)) for i in range(40)])
        after = make_task(archive)
    assert len(after.dev.queries) + len(after.test.queries) > len(before.dev.queries) + len(before.test.queries)


def test_nothing_is_learned_from_what_chooses_or_measures(tmp_path):
    """A planted leak: every duplicate is linked as related, too, and has a body."""
    with Archive.open(linked(tmp_path / "a")) as archive:
        tuning_task = make_task(archive)
        open_, closed = (
            archive.training_view(()),
            archive.training_view(tuning_task.held_out_splits, excluded_ids=tuning_task.excluded_ids),
        )
        leaks = {p.signal for p in training_pairs(open_, SIGNALS) if p.query.id in tuning_task.dev.queries}
        remaining = [
            p
            for p in training_pairs(closed, SIGNALS)
            if p.query.id in tuning_task.dev.queries or p.positive.id in tuning_task.dev.queries
        ]
    assert leaks == {"duplicates", "title_body"}
    assert remaining == []


def test_given_splits_keep_their_parts(tmp_path):
    with Archive.open(labelled(tmp_path / "a")) as archive:
        for split in ("train", "dev", "test"):
            archive.upsert([EvaluationQuery(split, Question(f"{split}{n}", f"{split} bread {n}")) for n in range(12)])
            archive.upsert([Judgement(split, f"{split}{n}", f"q{n}-0", 1) for n in range(12)])
        tuning_task = make_task(archive)
    assert (len(tuning_task.dev.queries), len(tuning_task.test.queries)) == (12, 12)
    assert set(tuning_task.dev.queries) == {f"dev{n}" for n in range(12)}
    assert set(tuning_task.held_out_splits) == {"dev", "test"}


def test_split_without_relevance_is_named(tmp_path):
    with Archive.open(labelled(tmp_path / "a")) as archive:
        for split, grade in (("train", 1), ("dev", 1), ("test", 0)):
            archive.upsert([EvaluationQuery(split, Question(f"{split}{n}", f"{split} bread {n}")) for n in range(12)])
            archive.upsert([Judgement(split, f"{split}{n}", f"q{n}-0", grade) for n in range(12)])
        with pytest.raises(ArchiveError, match="split test: no query has a relevant document.* grades above 0"):
            make_task(archive)


def test_without_relevant_documents_pseudo_queries_are_used(tmp_path):
    with Archive.open(unlabelled(tmp_path / "a")) as archive:
        archive.upsert([EvaluationQuery("dev", Question(f"dev{n}", f"bread {n}")) for n in range(12)])
        archive.upsert([Judgement("dev", f"dev{n}", f"q{n}-0", 0) for n in range(12)])
        assert make_task(archive).has_pseudo_queries


def test_without_dev_a_tenth_of_train_chooses(tmp_path):
    with Archive.open(labelled(tmp_path / "a")) as archive:
        for split in ("train", "test"):
            archive.upsert([EvaluationQuery(split, Question(f"{split}{n}", f"{split} bread {n}")) for n in range(40)])
            archive.upsert([Judgement(split, f"{split}{n}", f"q{n % 16}-{n // 16}", 1) for n in range(40)])
        tuning_task = make_task(archive)
    assert all(q.startswith("train") for q in tuning_task.dev.queries)
    assert all(q.startswith("test") for q in tuning_task.test.queries)


@pytest.mark.parametrize(("answers", "name"), [(True, "an answer"), (False, "the first words of a title")])
def test_without_labels_pseudo_queries_are_used_and_named(tmp_path, answers, name):
    with Archive.open(unlabelled(tmp_path / "a", answers)) as archive:
        tuning_task = make_task(archive)
        learned = list(training_pairs(archive.training_view((), excluded_ids=tuning_task.excluded_ids), SIGNALS))
    assert tuning_task.has_pseudo_queries
    assert tuning_task.name.startswith(name)
    assert any("pseudo-queries" in remark for remark in tuning_task.remarks)
    query_ids = {q.removesuffix(" proxy") for q in (*tuning_task.dev.queries, *tuning_task.test.queries)}
    assert not query_ids & {p.query.id for p in learned}
    assert not {*tuning_task.dev.queries} & {*tuning_task.test.queries}


def test_few_labels_are_within_noise(archive):
    archive.upsert([Question(f"q{n}", f"thing {n}", rephrasings=(f"{n} things",)) for n in range(20)])
    assert "within noise" in make_task(archive).remarks[0]


def test_an_archive_of_nothing_is_one_line(tmp_path):
    with Archive.create(tmp_path / "a") as archive, pytest.raises(ArchiveError, match="nothing to tune on: no labels"):
        make_task(archive)
