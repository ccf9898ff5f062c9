"""Every kind of bad input that is promised one clear line: through the command line, as a person meets it."""

import json
import os
import shlex
from pathlib import Path

import pytest

from askalike.store import Archive
from commands import assert_refused, run_command as run

HEAD = "id,question,answer,date\n"
GOOD = '1,How long may I keep a book?,Four weeks.,2024-01-01\n2,"Where is it, please?",There.,\n'


@pytest.fixture
def small_desk(tmp_path: Path) -> Path:
    (tmp_path / "good.csv").write_text(HEAD + GOOD)
    assert run("import", "table", tmp_path / "good.csv", "-o", tmp_path / "desk", "--language", "en")[0] == 0
    return tmp_path / "desk"


@pytest.mark.parametrize("text", ["", "  ", "?!… --- ;", "\0\1\2\x7f", "\x1b[;\x07", "\ud800", "?" * 200_000])
def test_questions_without_a_word(small_desk: Path, text: str) -> None:
    before = sorted(small_desk.iterdir())
    assert_refused(run("search", small_desk, text), "no word in it to search for; expected letters or digits")
    assert sorted(small_desk.iterdir()) >= before


def test_long_and_odd_questions_are_answered(small_desk: Path, tmp_path: Path) -> None:
    long = "how long may I keep a book please now " + " ".join(f"word{n}" for n in range(9_990))
    code, out, _ = run("search", small_desk, long, "--json")
    assert (code, json.loads(out)["results"][0]["id"]) == (0, "1")
    queries = tmp_path / "queries.jsonl"
    odd = {"long": long[:10_000], "nul": "\0 keep \1 book \x1b", "signs": "?!?"}
    queries.write_text("".join(json.dumps({"id": id, "title": text}) + "\n" for id, text in odd.items()))
    assert run("rank", small_desk, "-r", "bm25", "--queries", queries, "-o", tmp_path / "run.trec")[0] == 0
    lines = (tmp_path / "run.trec").read_text().splitlines()
    assert {line.split()[0] for line in lines} == {"long", "nul"}
    queries.write_text('{"id": "none", "title": ""}\n')
    assert_refused(
        run("rank", small_desk, "--queries", queries, "-o", tmp_path / "run.trec"),
        f"{queries}, line 1: expected an object with",
    )
    assert (tmp_path / "run.trec").read_text().splitlines() == lines


REFUSED = [
    ("search {desk} x --ranker bm26", "no ranker is called 'bm26'; there are: bm25"),
    ("search {desk} x --ranker bm25 --set k9=1", "k9 is not a setting (known: k1, b)"),
    ("search {desk} x --set tokenizer=best", "tokenizer"),
    ("search nowhere text --set k1", "expected key=value"),
    ("search nowhere text --min-probability 2", "--min-probability"),
    ("search nowhere text --engine soon", "expected NAME+URL"),
    ("index nowhere --fields tags", "--fields"),
    ("answer nowhere text --mode grounded", "--endpoint"),
    ("rank {desk} --queries gone -o gone.run", "gone: cannot be read (No such file or directory); expected a file"),
    ("rank nowhere --queries q -o x --after 2022 --before 2021", "must be earlier"),
    ("evaluate", "expected an archive's directory"),
    ("evaluate {desk} --split test", "no split 'test'"),
    ("evaluate nowhere --rule ours", "--rule"),
    ("evaluate nowhere --measures Sucess@5", "no measure is called 'Sucess@5'"),
    ("evaluate nowhere --measures ''", "no measure is named"),
    ("calibrate {desk} --split duplicates -r bm25 --precision 0.9", "at least 100 labelled queries"),
    ("calibrate {desk} --split nowhere", "no split 'nowhere'"),
    ("calibrate {desk} --precision 90", "expected 1 or less"),
    ("tune nowhere --budget soon", "expected a time such as 90s"),
    ("tune nowhere --measure 'RR AP'", "expected one measure"),
    ("split {desk} --by time", "split by time: expected a date"),
    ("split {desk} --by folds --of nope", "no split 'nope'"),
    ("split nowhere --by cluster --shares many", "--shares 'many': expected numbers with commas between"),
    ("split nowhere --by cluster --shares 0.5,0.9", "add up to 1"),
    ("split nowhere --by cluster --folds 3", "folds is not a setting"),
    ("split nowhere --by folds --shares 0.5,0.5", "shares is not a setting (known: folds, seed)"),
    ("check nowhere --skip lingo", "no check is called lingo"),
    ("keys create nowhere --scope all", "--scope"),
    ("keys create nowhere --origin soon", "is not an origin"),
    ("serve nowhere --port 99999", "--port"),
    ("purge nowhere --days inf", "--days"),
    ("import table no.csv -o nowhere --encoding utf-99", "encoding 'utf-99'"),
]
"""A command line, of which `nowhere` is no archive, and a part of the line that it gets."""


@pytest.mark.parametrize(("line", "message"), REFUSED)
def test_what_a_person_can_mend_is_one_line(desk: Path, line: str, message: str) -> None:
    assert_refused(run(*shlex.split(line.format(desk=desk))), message)


COMMANDS = {
    "search": ("{dir}", "how"),
    "index": ("{dir}",),
    "info": ("{dir}",),
    "check": ("{dir}",),
    "evaluate": ("{dir}",),
    "export": ("{dir}", "--format", "csv", "-o", "{out}"),
    "rank": ("{dir}", "--queries", "split:test", "-o", "{out}"),
}


def words(command: str, directory: Path, out: Path) -> list[str]:
    return [command, *(word.format(dir=directory, out=out) for word in COMMANDS[command])]


@pytest.mark.parametrize("command", COMMANDS)
def test_directories_that_are_no_archive(tmp_path: Path, command: str) -> None:
    places = {"gone": "not an archive", "empty": "not an archive", "other": "damaged, or not an SQLite file"}
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/archive.sqlite").write_text("nothing of the kind " * 100)
    for place, message in places.items():
        assert_refused(run(*words(command, tmp_path / place, tmp_path / "out")), place, message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "other"]
    assert os.listdir(tmp_path / "empty") == []


def test_an_empty_archive(tmp_path: Path) -> None:
    Archive.create(tmp_path / "none").close()
    for command in ("index", "info", "check", "export"):
        assert run(*words(command, tmp_path / "none", tmp_path / "out"))[0] == 0
    assert_refused(run(*words("search", tmp_path / "none", tmp_path)), "holds no question", "askalike import")
    assert_refused(run(*words("evaluate", tmp_path / "none", tmp_path)), "none: nothing to evaluate with", "import one")
    assert_refused(run(*words("rank", tmp_path / "none", tmp_path)), "no split 'test'")
