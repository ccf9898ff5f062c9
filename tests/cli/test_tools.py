"""`info`, `check` and `export` as a person runs them: output, JSON, exit codes."""

import json
from pathlib import Path

import pytest

from askalike.cli import compile
from askalike.core.types import Answer, Question
from askalike.native.ahead import StoredCode
from askalike.store import Archive


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    with Archive.create(tmp_path / "archive") as archive:
        archive.set_meta(language="en")
        archive.upsert([Question("1", "How long do I boil an egg?", tags=("[red]",)), Answer("a", "1", "Ten minutes.")])
    return tmp_path / "archive"


def test_info(run, directory):
    code, out, err = run("info", directory)
    assert (code, err) == (0, "")
    assert "1 to 1 question" in out
    assert "[red] 1" in out
    assert "warning" not in out


def test_info_as_json(run, directory):
    code, out, _ = run("info", directory, "--json")
    known = json.loads(out)
    assert code == 0
    assert list(known)[:4] == ["questions", "answers", "duplicate_links", "rejected"]
    assert (known["questions"], known["answers"], known["rejected"]) == (1, 1, 0)
    assert known["question_lengths"]["words"]["median"] == 7


def test_info_warns_of_an_unfinished_import(run, directory):
    with Archive.open(directory) as archive:
        archive._connection.execute("INSERT INTO imports (reader, paths, started_at) VALUES ('table', 'x.csv', '2020')")
    assert "the import of x.csv has not finished" in " ".join(run("info", directory)[1].split())


def test_check_of_a_healthy_archive(run, directory):
    code, out, err = run("check", directory, "--strict")
    assert (code, err) == (0, "")
    assert out.endswith("nothing found: healthy\n")


def test_check_that_finds_something(run, directory):
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


def test_check_as_json(run, directory):
    with Archive.open(directory) as archive:
        archive.upsert([Question("2", "", "body")])
    code, out, _ = run("check", directory, "--json", "--strict")
    report = json.loads(out)
    assert (code, report["count"]) == (1, 2)
    first = report["findings"][0]
    assert (first["name"], first["count"], first["n"], first["examples"]) == ("empty_titles", 1, 2, ["2"])


def test_loud_findings_stand_out(run, directory):
    with Archive.open(directory) as archive:
        archive.upsert([Question("2", "jajko", language="pl")])
    assert "UNSUPPORTED LANGUAGES" in run("check", directory)[1]


def test_export(run, directory, tmp_path):
    code, out, err = run("export", directory, "--format", "csv", "-o", tmp_path / "out")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == f"{tmp_path / 'out/questions.csv'}: 1 row"
    code, _, err = run("export", directory, "--format", "csv", "-o", tmp_path / "out")
    assert code == 2
    assert err.count("\n") == 1
    assert run("export", directory, "--format", "csv", "-o", tmp_path / "out", "--force")[0] == 0


def test_compile_tells_how_many_functions_are_compiled(run, monkeypatch):
    monkeypatch.setattr(compile, "find_modules", lambda: ["askalike.similarities.tfidf"])
    code, out, err = run("compile", "--jobs", "1")
    assert (code, err) == (0, "")
    assert out.startswith("1 function compiled in ")


def test_compile_advises_where_no_code_can_be_written(run, monkeypatch):
    monkeypatch.setattr(compile, "find_modules", lambda: ["a", "b"])
    monkeypatch.setattr(compile, "store_code", lambda module: StoredCode(1, 2))
    code, out, err = run("compile", "--jobs", "1")
    assert (code, out) == (2, "")
    assert err.startswith("askalike: the machine code of 4 functions cannot be written; set NUMBA_CACHE_DIR to ")
