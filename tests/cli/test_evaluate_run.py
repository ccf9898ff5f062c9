"""`evaluate --run`, and bad input to it, as a person runs it."""

import json
from pathlib import Path

import pytest

from askalike.core.records import Question
from askalike.store import Archive
from commands import assert_refused, run_command as run

QRELS = "q1 0 a 1\nq2 0 b 1\nq3 0 c 1\n"
GOOD = "q1 Q0 a 1 2 t\nq2 Q0 b 1 2 t\nq3 Q0 c 1 2 t\n"


@pytest.fixture(autouse=True)
def runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A run and its judgements, in the folder that commands are run in."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text(QRELS)
    Path("good.trec").write_text(GOOD)


@pytest.fixture
def desk(tmp_path: Path) -> str:
    with Archive.create(tmp_path / "desk") as archive:
        archive.set_meta(language="en")
        archive.upsert(
            [Question(i, f"Title of {i}", rephrasings=(f"Other <b> of {i}",) if i != "x" else ()) for i in "abcx"]
        )
    return "desk"


BAD_RUNS = [
    ("", "bad.trec: the file is empty; expected 6 (query Q0 document rank score tag)"),
    ("q9 Q0 a 1 1 t\nq8 Q0 a 1 1 t\n", "bad.trec: none of its 2 queries (such as 'q9') is judged"),
    ("q1 Q0 a 1 1 t\nq1 Q0 b 2 nan t\n", "bad.trec, line 2: score 'nan' is not a finite number"),
    ("q1 Q0 a 1 2 t\nq1 Q0 a 2 1 t\n", "bad.trec, line 2: document 'a' occurs twice for query 'q1'"),
    ("q1 Q0 a 1 2 t\nq1 Q0\n", "bad.trec, line 2: 2 columns; expected 6"),
]
BAD_QRELS = [
    ("", "qrels.txt: the file is empty"),
    ("q1 0 a 1\nq2 0 b good\n", "qrels.txt, line 2: grade 'good' is not a whole number"),
    ("q1 0 a 1\nq1 0 a 1\n", "qrels.txt, line 2: document 'a' is judged twice for query 'q1'"),
]


@pytest.mark.parametrize(("text", "says"), BAD_RUNS)
def test_a_bad_run_is_one_clear_line(text: str, says: str) -> None:
    Path("bad.trec").write_text(text)
    assert_refused(run("evaluate", "--run", "bad.trec", "--qrels", "qrels.txt"), says)


@pytest.mark.parametrize(("text", "says"), BAD_QRELS)
def test_bad_judgements_are_one_clear_line(text: str, says: str) -> None:
    Path("qrels.txt").write_text(text)
    assert_refused(run("evaluate", "--run", "good.trec", "--qrels", "qrels.txt"), says)


def test_run_is_measured_by_an_archives_split(desk: str) -> None:
    Path("mine.trec").write_text("a#1 Q0 a 1 2 t\nb#1 Q0 x 1 2 t\nc#1 Q0 c 1 2 t\nd#1 Q0 c 1 2 t\n")
    Path("qrels.txt").write_text("a#1 0 a 1\nb#1 0 b 1\nc#1 0 c 1\n")
    by_split = run("evaluate", desk, "--run", "mine.trec", "--split", "rephrasings", "--measures", "RR", "--json")
    by_file = run("evaluate", "--run", "mine.trec", "--qrels", "qrels.txt", "--measures", "RR", "--json")
    where = "mine.trec on desk, split rephrasings"
    assert json.loads(by_split[1]) == json.loads(by_file[1]) | {"heading": where}
    assert by_split[2] == "askalike: mine.trec: 1 query not judged in desk, split rephrasings, and not counted\n"
    assert run("evaluate", desk, "--run", "mine.trec")[1].startswith(f"{where}\n")
    assert_refused(run("evaluate", desk, "--run", "good.trec"), "queries (such as 'q1') is judged in desk")


def test_unjudged_queries_are_said_and_do_not_count() -> None:
    Path("more.trec").write_text(GOOD + "q9 Q0 a 1 1 t\n")
    code, out, err = run("evaluate", "--run", "more.trec", "--qrels", "qrels.txt", "--measures", "RR")
    assert (code, err) == (0, "askalike: more.trec: 1 query not judged in qrels.txt, and not counted\n")
    assert "n = 3" in out
