"""What chooses and what measures: of every archive something, and never the same twice."""

import pytest
from tests.tune.small import labelled, linked, unlabelled

from askalike.archive.clusters import Clusters
from askalike.archive.pairs import pairs
from askalike.archive.store import Archive
from askalike.errors import ArchiveError
from askalike.tune import task
from askalike.tune.task import task_of
from askalike.types import Judgement, Query, Question

SIGNALS = ("duplicates", "judgements", "rephrasings", "related", "title_body", "question_answer")


def test_few_labels_choose_and_measure_in_nested_folds(tmp_path):
    with Archive.open(labelled(tmp_path / "a")) as archive:
        found = task_of(archive)
    assert (found.test, found.hidden, len(found.dev.queries), found.proxy) == (None, ("rephrasings",), 64, False)


def test_many_labels_are_cut_by_cluster(tmp_path, monkeypatch):
    monkeypatch.setattr(task, "NESTED", 60)
    with Archive.open(linked(tmp_path / "a")) as archive:
        found = task_of(archive)
        clusters = Clusters.read(archive.connection)
    parts = [{clusters.of(q) for q in part.queries} for part in (found.dev, found.test)]
    assert found.hidden == ("tune/dev", "tune/test")
    assert [len(part) for part in parts] == [16, 16]
    assert not parts[0] & parts[1]


def test_a_cut_follows_the_labels(tmp_path, monkeypatch):
    monkeypatch.setattr(task, "NESTED", 60)
    with Archive.open(labelled(tmp_path / "a")) as archive:
        before = task_of(archive)
        archive.upsert([Question(f"n{i}", f"entirely new {i}", rephrasings=(f"brand new {i}",)) for i in range(40)])
        after = task_of(archive)
    assert len(after.dev.queries) + len(after.test.queries) > len(before.dev.queries) + len(before.test.queries)


def test_nothing_is_learned_of_what_chooses_or_measures(tmp_path):
    """A planted leak: every duplicate is linked as related, too, and has a body."""
    with Archive.open(linked(tmp_path / "a")) as archive:
        found = task_of(archive)
        open_, closed = archive.view(), archive.view(hidden=found.hidden, withheld=found.withheld)
        leaks = {p.signal for p in pairs(open_, SIGNALS) if p.query.id in found.dev.queries}
        left = [
            p for p in pairs(closed, SIGNALS) if p.query.id in found.dev.queries or p.positive.id in found.dev.queries
        ]
    assert leaks == {"duplicates", "title_body"}
    assert left == []


def test_given_splits_keep_their_parts(tmp_path):
    with Archive.open(labelled(tmp_path / "a")) as archive:
        for split in ("train", "dev", "test"):
            archive.upsert([Query(split, Question(f"{split}{n}", f"{split} bread {n}")) for n in range(12)])
            archive.upsert([Judgement(split, f"{split}{n}", f"q{n}-0", 1) for n in range(12)])
        found = task_of(archive)
    assert (len(found.dev.queries), len(found.test.queries)) == (12, 12)
    assert set(found.dev.queries) == {f"dev{n}" for n in range(12)}
    assert set(found.hidden) == {"dev", "test"}


def test_without_dev_a_tenth_of_train_chooses(tmp_path):
    with Archive.open(labelled(tmp_path / "a")) as archive:
        for split in ("train", "test"):
            archive.upsert([Query(split, Question(f"{split}{n}", f"{split} bread {n}")) for n in range(40)])
            archive.upsert([Judgement(split, f"{split}{n}", f"q{n % 16}-{n // 16}", 1) for n in range(40)])
        found = task_of(archive)
    assert all(q.startswith("train") for q in found.dev.queries)
    assert all(q.startswith("test") for q in found.test.queries)


@pytest.mark.parametrize(("answers", "named"), [(True, "an answer's first words"), (False, "a title without some")])
def test_without_labels_there_are_proxies_and_it_is_said(tmp_path, answers, named):
    with Archive.open(unlabelled(tmp_path / "a", answers)) as archive:
        found = task_of(archive)
        learned = list(pairs(archive.view(withheld=found.withheld), SIGNALS))
    assert found.proxy
    assert found.name.startswith(named)
    assert any("proxy" in remark for remark in found.remarks)
    asked = {q.removesuffix(" proxy") for q in (*found.dev.queries, *found.test.queries)}
    assert not asked & {p.query.id for p in learned}
    assert not {*found.dev.queries} & {*found.test.queries}


def test_few_labels_are_said_to_be_within_noise(tmp_path):
    with Archive.create(tmp_path / "a") as archive:
        archive.upsert([Question(f"q{n}", f"thing {n}", rephrasings=(f"{n} things",)) for n in range(20)])
        assert "within noise" in task_of(archive).remarks[0]


def test_an_archive_of_nothing_is_one_line(tmp_path):
    with Archive.create(tmp_path / "a") as archive, pytest.raises(ArchiveError, match="nothing to tune on: no labels"):
        task_of(archive)
