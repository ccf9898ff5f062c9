"""experiment, replay and backtest, as a person calls them."""

import json
import shlex

import pytest

from calibration.riverside import riverside
from commands import askalike, assert_refused, run_command as run

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
def desk(tmp_path_factory):
    return riverside(tmp_path_factory.mktemp("commands") / "riverside")


@pytest.fixture(scope="module")
def place(desk):
    (desk.parent / "two.toml").write_text(TOML)
    return desk.parent


def test_it_prints_table_verdict_and_folder(place):
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


SIXTEEN = (
    "printing cuts off the last line", "the dark theme is hard to read", "search finds no umlauts",
    "export to a spreadsheet fails", "the window opens on the wrong screen", "undo forgets the last step",
    "updates restart the machine", "the menu is not translated",
)  # fmt: skip


def twice():
    """Sixteen issues, two a topic; a maintainer closed each second one as a duplicate of the first."""
    rows = []
    for n, topic in enumerate(SIXTEEN * 2, 1):
        mark = {"body": f"Duplicate of #{n - 8}", "authorAssociation": "OWNER", "author": {"login": "hub"}}
        rows.append({
            "number": n, "title": f"{topic}, again" if n > 8 else topic, "body": "### Version\n\n1", "state": "OPEN",
            "url": f"https://github.com/octo-org/desk/issues/{n}", "createdAt": f"2026-01-{n:02}T10:00:00Z",
            "author": {"login": "mona"}, "labels": [], "comments": [mark] if n > 8 else [],
        })  # fmt: skip
    return rows


def test_backtest_works_from_issues_with_judgements(tmp_path):
    (tmp_path / "issues.json").write_text(json.dumps(twice()))
    words = ("backtest", "issues.json", "--last", 8, "-r", "bm25", "--threshold", "0.5", "-o", "tested")
    assert "8 of 8: 100 %" in askalike(*words, cwd=tmp_path).stdout
    page = (tmp_path / "tested" / "backtest.html").read_text()
    assert "printing cuts off the last line, again" in page
    words = ("backtest", "issues.json", "--last", 15, "-r", "bm25", "--threshold", "0.01", "-o", "more")
    askalike(*words, cwd=tmp_path)
    sample = tmp_path / "more" / "sample.csv"
    header, *rows = sample.read_text("utf-8-sig").splitlines()
    assert rows
    sample.write_text("\n".join([header, *(row.replace(",,", ",0,", 1) for row in rows)]))
    assert f"{len(rows)} judged" in askalike(*words, "--judged", sample, cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("replay nowhere --after yesterday", "date 'yesterday': expected a date"),
        ("replay nowhere --after 2022 --before 2021", "must be earlier"),
        ("replay {desk} --after 2099-01-01", "choose an earlier date"),
        ("replay {desk} --after 2020-01-01 -r bm52", "no ranker is called 'bm52'"),
        ("backtest nowhere", "nowhere"),
        ("backtest {desk} --threshold 80", "threshold '80': expected a number from 0 to 1"),
        ("backtest {desk} --judged nowhere.csv", "nowhere.csv: cannot be read"),
        ("import yahoo no.xml -o nowhere --lang klingon", "language 'klingon'"),
        ("import semeval no.xml -o nowhere --split most", "--split"),
        ("backtest nowhere --last 2 --weeks 1", "--weeks and --last exclude each other"),
        ("import yahoo no.xml -o nowhere --seed 2", "--seed needs --sample"),
    ],
)
def test_what_a_person_can_mend_is_one_line(desk, line, message):
    assert_refused(run(*shlex.split(line.format(desk=desk))), message)
