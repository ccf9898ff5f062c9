"""calibrate, and search with probabilities, as a person calls them."""

import json
import re
import shutil

import pytest

from askalike.cli.output import NO_RESULT_MESSAGE
from askalike.labels.splits import load_split
from askalike.store import Archive, serve_ranker
from calibration.riverside import riverside
from commands import askalike

WORDS = ("-r", "lm_jelinek_mercer")


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    directory = riverside(tmp_path_factory.mktemp("calibrated") / "riverside")
    done = askalike("calibrate", directory, *WORDS, "--precision", 0.9, "--verbose")
    assert done.returncode == 0, done.stderr
    directory.with_suffix(".txt").write_text(done.stdout)
    return directory


def test_everything_measured_is_printed(desk):
    text = desk.with_suffix(".txt").read_text()
    for said in ("reliability error", "Brier skill", "coverage", "threshold at 0.", "own titles", "kept in"):
        assert said in text


def test_calibrate_saves_hits(desk):
    saved = {file.name for file in (desk / "index").glob("*.jsonl")}
    assert saved == {"calibrate-lm_jelinek_mercer.jsonl"}


def test_a_verdict_comes_first(desk):
    first, second, *_ = desk.with_suffix(".txt").read_text().splitlines()
    assert re.fullmatch(
        r"at \d+% or more, 9 of 10 first hits are right; \d+% of the questions asked before get one", first
    )
    assert second.startswith("of 200 own titles with a slip, ")


def test_without_verbose_a_few_lines_say_all(desk, tmp_path):
    copy = shutil.copytree(desk, tmp_path / "desk")
    lines = askalike("calibrate", copy, "-r", "bm25").stdout.splitlines()
    assert re.match(r"at \d+% or more, \d+ of 100? first hits are right", lines[0])
    assert len(lines) <= 7
    assert "--verbose" in lines[-1]
    assert "Brier" not in "".join(lines)
    assert askalike("search", copy, "best pizza in Rome", "-r", "bm25").stdout == f"{NO_RESULT_MESSAGE}\n"


def test_queries_that_chose_the_settings_are_told(desk, tmp_path):
    copy = shutil.copytree(desk, tmp_path / "desk")
    with Archive.open(copy) as archive:
        serve_ranker(archive, "bm25", {"k1": 0.5}, "a test", load_split(archive, "rephrasings").qrels)
    done = askalike("calibrate", copy, "--split", "rephrasings", "--json")
    assert re.match(
        r"tune chose its settings with the labels of (\d+) of these \1 queries", json.loads(done.stdout)["remark"]
    )


def test_search_shows_probabilities_and_abstains(desk):
    done = askalike("search", desk, "how long may I keep a tool?", "-k", 1, *WORDS)
    assert "% (" in done.stdout
    assert "uncalibrated" not in done.stdout
    done = askalike("search", desk, "best pizza in Rome", *WORDS)
    assert (done.returncode, done.stdout) == (0, f"{NO_RESULT_MESSAGE}\n")
    answer = json.loads(askalike("search", desk, "best pizza in Rome", "--min-probability", 0, "--json", *WORDS).stdout)
    assert answer["results"][0]["calibrated"]
    assert 0 < answer["results"][0]["probability"] < 0.5


def test_an_uncalibrated_ranker_says_so(desk):
    answer = json.loads(askalike("search", desk, "keep a tool", "-r", "bm25", "--json").stdout)
    assert answer["results"][0]["probability"] is None
    refused = askalike("search", desk, "keep a tool", "-r", "bm25", "--min-probability", 0.5)
    assert refused.returncode == 2
    assert "askalike calibrate" in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_json_and_what_is_out_of_reach(desk):
    done = askalike("calibrate", desk, "-r", "bm25", "--precision", 0.9999, "--json")
    told = json.loads(done.stdout)
    assert told["threshold"] is None
    assert told["threshold_choice"]["in_sample"] is None
    assert told["first_hits"]["n"] > 400
    text = askalike("calibrate", desk, "-r", "bm25", "--precision", 0.9999, "--verbose").stdout
    assert "out of reach" in text
    assert text.count("the archive's similarity threshold") == 2
    assert "every hit" not in text


def test_dedupe_writes_a_row_a_question(desk, tmp_path):
    done = askalike("dedupe", desk, "-o", tmp_path / "clusters.csv", "--min-probability", 0.05, *WORDS)
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "clusters.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "cluster,question,title,role,probability,strength,reason"
    assert len(rows) > 2
