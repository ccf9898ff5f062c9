"""Duplicate clusters of an archive: which question is the original, what is found, and that a call can be resumed."""

import csv
import re
import shutil

import pytest

from askalike import rankers
from askalike.calibration.calibrate import calibrate
from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Link, Question
from askalike.moderation.dedupe import dedupe, propose_cluster
from askalike.store.archive import Archive
from calibration.riverside import DEFAULT_RANKER, ask_again
from commands import askalike


@pytest.fixture(scope="module")
def path(calibrated_riverside, tmp_path_factory):
    """Riverside with twenty of its questions asked again."""
    path = shutil.copytree(calibrated_riverside, tmp_path_factory.mktemp("dedupe") / "riverside")
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
    assert 0.01 < report.duplicate_rate < 0.5
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
    with pytest.raises(SettingsError, match="askalike calibrate"):
        dedupe(archive, rankers.create("bm25"), tmp_path / "x.csv", min_probability=0.5)
    with pytest.raises(SettingsError, match="--min-probability 0"):
        dedupe(archive, rankers.create(DEFAULT_RANKER), tmp_path / "x.csv", min_probability=0)
    with pytest.raises(InputError, match="cannot be written there; choose another file"):
        dedupe(archive, rankers.create(DEFAULT_RANKER), tmp_path / "no" / "x.csv")


def test_dedupe_clusters_by_similarity_without_a_calibration(archive, tmp_path):
    """What is asked again is found, and no probability is claimed."""
    report = dedupe(archive, rankers.create("bm25"), tmp_path / "x.csv")
    assert (report.duplicate_rate, report.uncalibrated_reason) == (None, "only lm_jelinek_mercer is calibrated")
    n_found = sum(any({f"r{n:03}", f"again-r{n:03}"} <= m for m in member_ids(report)) for n in range(1, 21))
    assert n_found >= 10
    with open(tmp_path / "x.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["probability"] for row in rows} == {""}
    assert max(float(row["similarity"] or 0) for row in rows) <= 1


def test_command_says_why_pairs_are_compared_by_similarity(path, tmp_path):
    done = askalike("dedupe", path, "-o", tmp_path / "x.csv", "-r", DEFAULT_RANKER, "--min-similarity", "0.9")
    assert done.stdout.startswith("by similarity, not a probability: a similarity was asked for\n")


def test_command_gives_a_share_where_enough_are_labelled(path, tmp_path):
    desk, output = shutil.copytree(path, tmp_path / "desk"), tmp_path / "x.csv"

    def precision():
        out = askalike("dedupe", desk, "-o", output, "-r", DEFAULT_RANKER, "--min-similarity", "0.9").stdout
        return out.splitlines()[2]

    assert re.fullmatch(r"how many are right is not known: \d+ of \d+ pairs labelled, too few to tell", precision())
    with Archive.open(desk) as archive, open(output, encoding="utf-8", newline="") as rows:
        archive.upsert([Link(r["question"], r["cluster"]) for r in csv.DictReader(rows) if r["role"] == "duplicate"])
    assert re.fullmatch(
        r"1\.000 \[0\.\d+, 1\.000\] of \d+ pairs between labelled questions are known duplicates \(\d+ pairs in all\)",
        precision(),
    )


def test_ranker_of_distinct_hits_finds_all_clusters(archive, path, tmp_path):
    """Known duplicates are left out of distinct hits, but the clusters are found as if there were no labels."""
    reports = []
    for name, settings in ((DEFAULT_RANKER, {}), ("distinct", {"parts": DEFAULT_RANKER})):
        ranker = rankers.create(name, settings)
        calibrate(archive, ranker).calibration.save(path)
        reports.append(dedupe(archive, ranker, tmp_path / f"{name}.csv"))
        for calibration in (path / "calibration").glob(f"{DEFAULT_RANKER}-*.json"):
            calibration.unlink()
    all_hits, distinct = reports
    assert distinct.link_recall.count == all_hits.link_recall.count > 0
    assert member_ids(distinct) == member_ids(all_hits)
    assert len(member_ids(distinct)) > 20
