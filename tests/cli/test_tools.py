"""`info`, `check`, `export` and `split` as a person runs them: output, JSON, exit codes."""

from pathlib import Path

import pytest

from askalike.core.records import Answer, Link, Question
from askalike.store import Archive
from commands import run_command as run
from database import run_sql


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with Archive.create(tmp_path / "archive") as archive:
        archive.set_meta(language="en")
        archive.upsert([Question("1", "How long do I boil an egg?", tags=("[red]",)), Answer("a", "1", "Ten minutes.")])
    return tmp_path / "archive"


def test_info(directory):
    code, out, err = run("info", directory)
    assert (code, err) == (0, "")
    assert "1 to 1 question" in out
    assert "[red] 1" in out
    assert "warning" not in out


def test_info_warns_of_an_unfinished_import(directory):
    with Archive.open(directory) as archive:
        run_sql(archive, "INSERT INTO imports (reader, paths, started_at) VALUES ('table', 'x.csv', '2020')")
    assert "the import of x.csv has not finished" in " ".join(run("info", directory)[1].split())


def test_check_of_a_healthy_archive(directory):
    code, out, err = run("check", directory, "--strict")
    assert (code, err) == (0, "")
    assert out.endswith("nothing found: healthy\n")


def test_check_that_finds_something(directory):
    with Archive.open(directory) as archive:
        archive.upsert(
            [Question("2", "[/b] how long do I boil an egg"), Question("3", "[/b] How long do I boil an egg?")]
        )
    code, out, _ = run("check", directory)
    assert code == 0
    assert "2 times: [/b] how long do I boil an egg" in out
    assert out.endswith("2 of 23 checks found something\n")
    assert run("check", directory, "--strict")[0] == 1
    assert run("check", directory, "--strict", "--skip", "repeated_titles", "--skip", "unanswered_questions")[0] == 0


def test_loud_findings_stand_out(directory):
    with Archive.open(directory) as archive:
        archive.upsert([Question("2", "jajko", language="pl")])
    assert "UNSUPPORTED LANGUAGES" in run("check", directory)[1]


def test_export(directory, tmp_path):
    code, out, err = run("export", directory, "--format", "csv", "-o", tmp_path / "out")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"{tmp_path / 'out/questions.csv'}: 1 row"
    code, _, err = run("export", directory, "--format", "csv", "-o", tmp_path / "out")
    assert code == 2
    assert err.count("\n") == 1
    assert run("export", directory, "--format", "csv", "-o", tmp_path / "out", "--force")[0] == 0


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert(
            Question(f"{x}{n}", f"question {x}{n}", created_at=f"20{n}-01-01") for n in range(10, 20) for x in "ab"
        )
        archive.upsert(Link(f"a{n}", f"b{n}") for n in range(10, 20))
    return tmp_path / "archive"


def test_a_cut_is_printed_and_kept(dated):
    code, out, err = run("split", dated, "--by", "cluster")
    assert (code, err) == (0, "")
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        "part queries clusters largest links",
        "cluster/train 8 8 1 8",
        "cluster/dev 1 1 1 1",
        "cluster/test 1 1 1 1",
        "duplicates by cluster, shares 0.8 0.1 0.1, seed 0",
        "askalike train never learns from cluster/dev, cluster/test",
    ]
    assert run("split", dated, "--by", "cluster") == (0, out, "")
    known = [" ".join(line.split()) for line in run("info", dated)[1].splitlines()]
    assert "cut cluster duplicates by cluster, shares 0.8 0.1 0.1, seed 0" in known
    assert "split cluster/dev 1 query in 1 cluster, 1 relevant pair" in known


def test_export_has_given_splits_only(dated, tmp_path):
    run("split", dated, "--by", "folds")
    assert run("export", dated, "--format", "beir", "-o", tmp_path / "out")[0] == 0
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == [
        "answers.jsonl",
        "corpus.jsonl",
        "export.json",
        "links.tsv",
    ]
