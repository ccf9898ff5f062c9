"""askalike experiment, as a person calls it."""

import json
from pathlib import Path

import pytest

from commands import askalike

pytestmark = pytest.mark.usefixtures("without_figures")

EXAMPLE = Path(__file__).parents[2] / "examples/riverside.csv"
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


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    assert askalike("import", "table", EXAMPLE, "-o", "riverside", cwd=folder).returncode == 0
    (folder / "two.toml").write_text(TOML)
    return folder


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
