"""backtest, as a person calls it: on an archive, and on a file of issues."""

import json

import pytest

from commands import askalike

TITLES = (
    "crash when saving a file on a network drive", "dark theme for the editor",
    "saving a file on a network drive crashes", "printing cuts off the last line", "translate the menu into German",
)  # fmt: skip
MARK = {"body": "Duplicate of #1", "authorAssociation": "OWNER", "author": {"login": "hub"}}


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
