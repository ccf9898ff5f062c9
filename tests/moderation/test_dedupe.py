"""Duplicate clusters of an archive: which question is the original, what is found, and that a call can be resumed."""

import csv
import re
import shutil

import pytest

from askalike import rankers
from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Link, Question
from askalike.moderation.dedupe import dedupe, propose_cluster
from askalike.store.archive import Archive
from calibration.riverside import DEFAULT_RANKER, ask_again, riverside
from commands import askalike


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Riverside with twenty of its questions asked again."""
    path = riverside(tmp_path_factory.mktemp("dedupe") / "riverside")
    with Archive.open(path) as archive:
        ask_again(archive)
    return path


@pytest.fixture
def archive(path):
    with Archive.open(path) as archive:
        yield archive


def member_ids(report):
    return [{question.id for question in proposal.members} for proposal in report.proposals]


def test_the_original_and_the_reason(tmp_path):
    with Archive.create(tmp_path / "merits") as archive:
        archive.upsert([
            Question("a", "x"), Question("b", "x", created_at="2020-01-02"),
            Question("c", "x", created_at="2020-01-01"),
            Question("d", "x", accepted_answer_id="d1"), Question("e", "x", votes=3), Question("f", "x"),
        ])  # fmt: skip
        for members, original, reason in (
            ("af", "a", "the first in the archive"), ("abc", "c", "the oldest"),
            ("abcd", "d", "has an accepted answer"),
            ("abcdef", "e", "most votes (3)"),
        ):  # fmt: skip
            proposal = propose_cluster(archive, {(members[0], members[1]): 0.9}, frozenset(members))
            assert proposal.members[0].id == original
            assert proposal.reason.startswith(reason)


def test_repeated_questions_are_clustered(archive, tmp_path):
    report = dedupe(archive, rankers.create(DEFAULT_RANKER), tmp_path / "clusters.csv")
    clusters = member_ids(report)
    n_found = sum(any({f"r{n:03}", f"again-r{n:03}"} <= members for members in clusters) for n in range(1, 21))
    assert n_found >= 12
    assert max(map(len, clusters)) <= 4
    with open(tmp_path / "clusters.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(map(len, clusters))
    assert sum(row["role"] == "original" for row in rows) == len(clusters)
    assert all(row["reason"] for row in rows if row["role"] == "original")


def test_an_interrupted_call_is_resumed_with_equal_clusters(archive, tmp_path, monkeypatch):
    monkeypatch.setattr("askalike.moderation.pairs.BATCH_SIZE", 50)
    part = archive.path / "index" / f"neighbours-{DEFAULT_RANKER}.jsonl"
    part.unlink(missing_ok=True)
    dedupe(archive, rankers.create(DEFAULT_RANKER), tmp_path / "whole.csv")
    part.unlink()

    def interrupt(n_done, total):
        if n_done >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dedupe(archive, rankers.create(DEFAULT_RANKER), tmp_path / "cut.csv", progress=interrupt)
    assert len(part.read_text().splitlines()) == 3
    part.write_text(part.read_text() + '[150, [["torn')
    steps = []
    dedupe(
        archive,
        rankers.create(DEFAULT_RANKER),
        tmp_path / "cut.csv",
        progress=lambda n_done, total: steps.append(n_done),
    )
    assert steps[0] == 150
    assert (tmp_path / "cut.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


def test_another_threshold_needs_no_search(archive, tmp_path):
    ranker, file, steps = rankers.create(DEFAULT_RANKER), tmp_path / "x.csv", []
    dedupe(archive, ranker, file)
    for threshold in (0.2, 0.9):
        dedupe(archive, ranker, file, min_probability=threshold, progress=lambda *step: steps.append(step))
    assert steps == []
    archive.upsert([Question("new", "May I bring my own kayak?")])
    dedupe(archive, ranker, file, progress=lambda *step: steps.append(step))
    assert steps
    archive.delete(["new"])


def test_an_earlier_file_survives_a_full_disk(archive, tmp_path, limit_file_size):
    ranker, file = rankers.create(DEFAULT_RANKER), tmp_path / "x.csv"
    dedupe(archive, ranker, file)
    earlier = file.read_bytes()
    limit_file_size(len(earlier) // 2)
    with pytest.raises(InputError, match="cannot be written there"):
        dedupe(archive, ranker, file)
    assert file.read_bytes() == earlier


def test_errors_name_what_to_change(archive, tmp_path):
    with pytest.raises(SettingsError, match="--min-probability 0"):
        dedupe(archive, rankers.create(DEFAULT_RANKER), tmp_path / "x.csv", min_probability=0)
    with pytest.raises(InputError, match="cannot be written there; choose another file"):
        dedupe(archive, rankers.create(DEFAULT_RANKER), tmp_path / "no" / "x.csv")


def test_command_says_how_sure_it_is(path, tmp_path):
    done = askalike("dedupe", path, "-o", tmp_path / "x.csv", "-r", DEFAULT_RANKER)
    clusters, sure, *_ = done.stdout.splitlines()
    assert clusters.endswith(f"at a probability of 0.65: {tmp_path / 'x.csv'}")
    assert sure == "probabilities are less sure: 0 decisions on pairs so far, of 50"


def test_command_gives_a_share_where_enough_are_labelled(path, tmp_path):
    desk, output = shutil.copytree(path, tmp_path / "desk"), tmp_path / "x.csv"

    def precision():
        out = askalike("dedupe", desk, "-o", output, "-r", DEFAULT_RANKER).stdout
        return out.splitlines()[2]

    assert re.fullmatch(r"how many are right is not known: \d+ of \d+ pairs labelled, too few to tell", precision())
    with Archive.open(desk) as archive, open(output, encoding="utf-8", newline="") as rows:
        archive.upsert([Link(r["question"], r["cluster"]) for r in csv.DictReader(rows) if r["role"] == "duplicate"])
    assert re.fullmatch(
        r"1\.000 \[0\.\d+, 1\.000\] of \d+ pairs between labelled questions are known duplicates \(\d+ pairs in all\)",
        precision(),
    )


def test_ranker_of_distinct_hits_finds_all_clusters(archive, tmp_path):
    """Known duplicates are left out of distinct hits, but the clusters are found as if there were no labels."""
    settings = {DEFAULT_RANKER: {}, "distinct": {"parts": DEFAULT_RANKER}}
    all_hits, distinct = (
        dedupe(archive, rankers.create(name, values), tmp_path / f"{name}.csv") for name, values in settings.items()
    )
    assert distinct.link_recall == all_hits.link_recall
    assert member_ids(distinct) == member_ids(all_hits)
    assert len(member_ids(distinct)) > 12
