"""experiment, tune, replay and backtest, as a person calls them."""

import json

import pytest

from askalike.cli.output import format_settings
from askalike.cli.tune import print_event
from askalike.core.config import parse_assignments
from askalike.tuning.candidates import Candidate
from askalike.tuning.successive_candidates import CandidateResult
from askalike.tuning.trials import Trial
from commands import askalike

pytestmark = pytest.mark.usefixtures("without_figures")

TOML = """
title = "Two"
archive = "${RIVERSIDE:-riverside}"
split = "duplicates"
measures = ["Success@1", "RR"]

[[system]]
ranker = "bm25"

[[system]]
ranker = "tfidf"
"""
TITLES = (
    "crash when saving a file on a network drive", "dark theme for the editor",
    "saving a file on a network drive crashes", "printing cuts off the last line", "translate the menu into German",
)  # fmt: skip
MARK = {"body": "Duplicate of #1", "authorAssociation": "OWNER", "author": {"login": "hub"}}


@pytest.fixture(scope="module")
def place(desk):
    (desk.parent / "two.toml").write_text(TOML)
    return desk.parent


def test_it_prints_the_table_the_verdict_and_where_the_folder_is(place):
    done = askalike("experiment", "two.toml", cwd=place)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Two\nsystem")
    assert "\na bm25" in done.stdout
    assert "n = 39 queries of split duplicates" in done.stdout
    assert "check: " in done.stdout
    assert done.stdout.endswith("runs/two: report.html, report.json, runs/\n")
    assert (place / "runs/two/config.toml").is_file()


def test_json_is_the_report(place):
    done = askalike("experiment", "two.toml", "-o", "json", "--json", "--set", "k=10", cwd=place)
    assert json.loads(done.stdout) == json.loads((place / "json/report.json").read_text())


def test_an_error_is_no_traceback(place):
    done = askalike("experiment", "two.toml", "--set", "archive=nowhere", "--set", "kk=3", cwd=place)
    assert done.returncode == 2
    assert done.stderr.startswith("askalike: two.toml: 2 errors:\n  kk is not a setting")
    assert "archive: nowhere: not an archive" in done.stderr


def test_settings_are_pasted_as_set_reads_them():
    pairs = format_settings({"b": 0.4, "rephrasings": False, "tokenizer": "ptb"}).split("--set ")[1:]
    assert parse_assignments(pairs) == {"b": 0.4, "rephrasings": False, "tokenizer": "ptb"}
    assert (
        format_settings({"parts": ("bm25", "tfidf"), "weights": (1, 4)}) == "--set parts=bm25,tfidf --set weights=1,4"
    )


def test_tune_shows_what_tells_candidates_apart(tmp_path, capsys):
    settings = {"parts": ["dfr", "static"], "weights": [0.2, 0.8]}
    for effect in ("l", "b"):
        trial = Trial("hybrid", {**settings, "dfr.after_effect": effect})
        event = CandidateResult(Candidate("hybrid (dfr + static)", 4, (trial,)), trial, 0.5, 0.6, 100, 1.0)
        print_event(tmp_path, "nDCG@10", event)
    for line, effect in zip(capsys.readouterr().out.splitlines(), ("l", "b"), strict=True):
        shown = f"--set parts=dfr,static --set weights=0.2,0.8 --set dfr.after_effect={effect}"
        assert line.split("  ")[-1] == shown


def test_replay_asks_at_asking_time(desk, tmp_path):
    done = askalike("replay", desk, "--after", "2020-01-01", "-o", tmp_path / "out", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told == json.loads((tmp_path / "out/replay.json").read_text())
    assert told["rankers"][0]["n"] == told["questions"] > 0
    measured = askalike(
        "evaluate", "--run", tmp_path / "out/run.trec", "--qrels", tmp_path / "out/qrels.txt",
        "--measures", "Success@5", "--json",
    )  # fmt: skip
    assert json.loads(measured.stdout)["measures"]["Success@5"]["mean"] == told["rankers"][0]["share"]


@pytest.fixture
def issues(tmp_path):
    """Five issues of one repository; the third was closed as a duplicate of the first."""
    path = tmp_path / "issues.json"
    rows = [
        {
            "number": n, "title": title, "body": "", "url": f"https://github.com/octo-org/desk/issues/{n}",
            "state": "OPEN", "createdAt": f"2026-01-0{n}T10:00:00Z", "author": {"login": "mona"}, "labels": [],
            "comments": [MARK] * (n == 3),
        }
        for n, title in enumerate(TITLES, 1)
    ]  # fmt: skip
    path.write_text(json.dumps(rows))
    return path


def test_a_file_of_issues_is_asked_again(issues, tmp_path):
    done = askalike("backtest", issues, "-r", "bm25", "--threshold", "0.5", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "1 of 4 had been asked before" in done.stdout
    assert "0.5" in done.stdout
    assert "1 of 1: 100 %" in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"backtest.html", "backtest.json", "sample.csv"}


def test_json_is_what_the_folder_holds(issues, tmp_path):
    done = askalike("backtest", issues, "-r", "bm25", "--json", "-o", tmp_path / "out")
    told, saved = json.loads(done.stdout), json.loads((tmp_path / "out/backtest.json").read_text())
    for each in (told, saved):
        del each["archive"], each["median_ms"]
    assert told == saved
    assert told["asked"][1]["asked_before"] is True
