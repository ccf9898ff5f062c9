"""`askalike split` as a person runs it, and what other commands make of the parts."""

import json
from pathlib import Path

import pytest

from askalike.core.types import Link, Question
from askalike.store import Archive


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert(
            Question(f"{x}{n}", f"question {x}{n}", created_at=f"20{n}") for n in range(10, 20) for x in "ab"
        )
        archive.upsert(Link(f"a{n}", f"b{n}") for n in range(10, 20))
    return tmp_path / "archive"


def test_a_cut_is_printed_and_kept(run, directory):
    code, out, err = run("split", directory, "--by", "cluster")
    assert (code, err) == (0, "")
    assert [" ".join(line.split()) for line in out.splitlines()] == [
        "part queries clusters largest links",
        "cluster/train 8 8 1 8",
        "cluster/dev 1 1 1 1",
        "cluster/test 1 1 1 1",
        "duplicates by cluster, shares 0.8 0.1 0.1, seed 0",
        "askalike train never learns from cluster/dev, cluster/test",
    ]
    assert run("split", directory, "--by", "cluster") == (0, out, "")
    known = [" ".join(line.split()) for line in run("info", directory)[1].splitlines()]
    assert "cut cluster duplicates by cluster, shares 0.8 0.1 0.1, seed 0" in known
    assert "split cluster/dev 1 query in 1 cluster, 1 relevant pair" in known


def test_by_time_as_json(run, directory):
    code, out, _ = run(
        "split", directory, "--by", "time", "--before", "2013", "--after", "2018", "--name", "t", "--json"
    )
    made = json.loads(out)
    assert code == 0
    assert {part["split"]: part["queries"] for part in made["parts"]} == {"t/train": 3, "t/dev": 5, "t/test": 2}
    assert (made["source_split"], made["method"], made["left_out"]) == ("duplicates", "time", 0)
    assert made["settings"] == {"before": "2013", "after": "2018"}
    assert json.loads(run("info", directory, "--json")[1])["partitions"] == [made]


def test_export_has_given_splits_only(run, directory, tmp_path):
    run("split", directory, "--by", "folds")
    assert run("export", directory, "--format", "beir", "-o", tmp_path / "out")[0] == 0
    assert sorted(path.name for path in (tmp_path / "out").rglob("*")) == [
        "answers.jsonl",
        "corpus.jsonl",
        "export.json",
        "links.tsv",
    ]
