"""`askalike import`, run as people run it."""

import importlib
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from inspect import getdoc
from pathlib import Path

import pytest

from askalike.core.registry import load, names
from commands import MAIN, askalike, run_command as run

BEER, AI = "beer.stackexchange.com", "ai.stackexchange.com"
FAQ = "id,question,answer,duplicate_of\n1,How do I log in?,Press.,\n2,Where do I log in?,There.,1\n3,,,\n"


@pytest.fixture
def faq(tmp_path: Path) -> Path:
    path = tmp_path / "faq.csv"
    path.write_text(FAQ)
    return path


def test_the_last_line_says_what_the_archive_holds(faq: Path, tmp_path: Path) -> None:
    done = askalike("import", "table", faq, "-o", tmp_path / "out")
    counts = "faq: added 2 questions, 2 answers, 1 link; updated 0; unchanged 0; removed 0\n"
    assert (done.returncode, done.stdout) == (0, f"{counts}2 questions, 2 answers, 1 duplicate link, 1 rejected\n")
    assert done.stderr == f"1 row rejected: see {tmp_path / 'out/rejected.jsonl'}\nencoder: minilm_l6\n"


def test_json_is_one_object(faq: Path, tmp_path: Path) -> None:
    done = askalike("import", "table", faq, "-o", tmp_path / "out", "--json", "--answer", "answer")
    told = json.loads(done.stdout)
    expected = {"questions": 2, "answers": 2, "duplicate_links": 1, "rejected": 1, "notes": {}}
    assert {key: told[key] for key in expected} == expected
    assert (told["source"], told["changes"]["questions"]) == (
        "faq", {"added": 2, "updated": 0, "unchanged": 0, "removed": 0},
    )  # fmt: skip


def test_dry_run_shows_changes_and_stops_large_ones(faq: Path, tmp_path: Path) -> None:
    askalike("import", "table", faq, "-o", tmp_path / "out")
    faq.write_text(FAQ.replace("log in", "sign in").replace("2,Where", "4,When"))
    told = askalike("import", "table", faq, "-o", tmp_path / "out", "--dry-run", "--prune")
    planned = "faq: added 1 question, 1 answer, 1 link; updated 1 question; unchanged 1 answer; "
    assert told.stdout == f"dry run, nothing is written; {planned}removed 1 question, 1 answer, 1 link\n"
    assert told.stderr == "1 row rejected; --strict shows the first\n"
    stopped = askalike("import", "table", faq, "-o", tmp_path / "out")
    assert (stopped.returncode, stopped.stdout) == (2, "")
    assert (
        "the text of 1 of the 2 questions and answers of 'faq' that it has again, which is more than a tenth"
        in stopped.stderr
    )
    done = askalike("import", "table", faq, "-o", tmp_path / "out", "--yes")
    assert done.stdout.startswith(f"{planned}removed 0\n")
    absent = "that faq brought earlier and that are not in these files (if they are all of it, --prune removes them): 1"
    assert done.stderr.startswith(f"questions {absent}\nanswers {absent}\n")


def test_every_reader_is_a_command_with_its_settings() -> None:
    listed = askalike("import", "--help").stdout
    assert all(name.replace("_", "-") in listed for name in names("reader"))
    shown = askalike("import", "discourse", "--help").stdout
    assert all(f"--{name}" in shown for name in load("reader", "discourse").model_fields)


@pytest.mark.parametrize("name", names("reader"))
def test_every_setting_of_a_reader_is_described(name: str) -> None:
    reader = load("reader", name)
    assert f"Examples:\n\n```\naskalike import {name.replace('_', '-')} " in getdoc(reader)
    assert all(field.description for field in reader.model_fields.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "serach DIR x",
            "askalike: no such command 'serach'. Did you mean 'search'?; see: askalike --help\n",
        ),
        ("search --kk 3", "askalike: no such option: --kk; see: askalike search --help\n"),
        ("search DIR", "askalike: missing argument 'TEXT'; see: askalike search --help\n"),
        ("search DIR x -k abc", "askalike: invalid value for '-k': 'abc': expected a whole number; see: askalike"),
        ("import . -o x", "askalike: .: expected a reader before the file, as in: askalike import table . -o DIR\n"),
        (
            "import table faq.csv",
            "askalike: missing option '--output' / '-o' (env var: 'ASKALIKE_DIR'); see: askalike import table --help\n",
        ),
        (
            "import csv faq.csv -o x",
            "askalike: no reader is called 'csv' (did you mean table?); there are: apache-answer, azure-qna, beir, ",
        ),
        (
            "import stackexchang faq.csv -o x",
            "askalike: no reader is called 'stackexchang' (did you mean stackexchange?)",
        ),
        ("import zzz faq.csv -o x", "askalike: no reader is called 'zzz'; there are: apache-answer, "),
        (
            "export DIR -o x",
            "askalike: missing option '--format'. Choose from: beir, csv, retrieval, spreadsheet; see: ",
        ),
        ("import table faq.csv -o x --markup rtf", "askalike: invalid value for '--markup': 'rtf' is not one of"),
    ],
)
def test_wrong_command_line_says_where_to_look(arguments: str, message: str) -> None:
    done = askalike(*arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1


def test_help_and_version() -> None:
    assert askalike("--version").stdout.startswith("askalike 0.")
    for arguments in ("--help", "-h", "import -h", "import table -h", "search -h"):
        done = askalike(*arguments.split())
        assert (done.returncode, done.stderr) == (0, "")
        assert "Usage: askalike" in done.stdout
    assert askalike().stdout.splitlines()[1].strip() == "Usage: askalike [OPTIONS] COMMAND [ARGS]..."


def heeding_interrupts() -> None:
    """What a shell starts in the background ignores interrupts, and so does all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupted_import_says_so_in_one_line(tmp_path: Path) -> None:
    fifo = tmp_path / "faq.csv"
    os.mkfifo(fifo)
    command = [sys.executable, "-c", MAIN, "import", "table", str(fifo), "-o", str(tmp_path / "out")]
    start = partial(subprocess.Popen, command, stderr=subprocess.PIPE, text=True)
    with start(preexec_fn=heeding_interrupts) as process, fifo.open("w") as open_end:
        open_end.write("id,question\n1,")
        open_end.flush()
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (130, "askalike: interrupted; all committed changes are kept\n")


def test_interruption_during_import_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib, "import_module", interrupt)
    done = askalike("info", "riverside")
    assert (done.returncode, done.stderr) == (130, "askalike: interrupted; all committed changes are kept\n")


def test_import_of_three_sources(shared_data, tmp_path):
    mix, faq = tmp_path / "mix", tmp_path / "faq.csv"
    faq.write_text("id,question,answer\n1,Where is the key?,Below the mat.\n2,Who has it?,Ada.\n3,Is it lost?,No.\n")
    for reader, path in (("stackexchange", shared_data / f"stackexchange/{BEER}"), ("table", faq)):
        assert run("import", reader, path, "-o", mix)[0] == 0
    ai = ("import", "stackexchange", shared_data / f"stackexchange/{AI}", "-o", mix)
    _, told, _ = run(*ai, "--dry-run")
    assert told.startswith(f"dry run, nothing is written; {AI}: added 421 questions, 749 answers, ")
    _, done, _ = run(*ai)
    assert done.startswith(told.removeprefix("dry run, nothing is written; ").rstrip("\n"))
    counts = json.loads(run("info", mix, "--json")[1])
    assert [(s["name"], s["questions"], s["answers"]) for s in counts["sources"]] == [
        (BEER, 591, 1398), ("faq", 3, 3), (AI, 421, 749),
    ]  # fmt: skip
    findings = {f["name"]: f["count"] for f in json.loads(run("check", mix, "--json")[1])["findings"]}
    assert findings["answers_without_question"] == 0
    _, again, _ = run("import", "table", faq, "-o", mix)
    assert again.startswith("faq: added 0; updated 0; unchanged 3 questions, 3 answers; removed 0\n")
    faq.write_text("id,question,answer\n1,How do I brew?,Slowly.\n2,How do I bottle?,Quickly.\n")
    code, _, problem = run("import", "table", faq, "-o", mix)
    assert (code, "nothing was written" in problem, "--yes" in problem, problem.count("\n")) == (2, True, True, 1)


def test_import_notes_are_told_and_kept(tmp_path):
    faq = tmp_path / "faq.csv"
    faq.write_text("question,date\nWie ändere ich es?,12.03.2023\nUnd wann?,bald\n", encoding="utf-8")
    options = ("--language", "de", "--encoder", "none", "--json")
    code, _, told = run("import", "table", faq, "-o", tmp_path / "desk", *options)
    assert (code, told) == (0, "dates that could not be read (their rows are kept without a date), e.g. 'bald': 1\n")
    assert "without a date), e.g. 'bald': 1" in " ".join(run("info", tmp_path / "desk")[1].split())


def test_backup_to_an_unmounted_disk(tmp_path):
    (tmp_path / "faq.csv").write_text("question\nWhy?\n")
    run("import", "table", tmp_path / "faq.csv", "-o", tmp_path / "desk")
    code, _, problem = run("backup", tmp_path / "desk", tmp_path / "unmounted/desk.tar")
    assert (code, "mount its disk" in problem, (tmp_path / "unmounted").exists()) == (2, True, False)
