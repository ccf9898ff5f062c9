"""index, search, rank and evaluate, as a person calls them: the exit code, the output."""

import json
import re
from pathlib import Path

import pytest

from askalike.cli.search import match_lines
from askalike.core.records import Question
from askalike.rankers import create
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.store import Archive
from commands import askalike


def test_search_tells_what_matched_and_says_uncalibrated(desk):
    assert askalike("index", desk).stdout.startswith("244 questions indexed for ")
    done = askalike("search", desk, "how long can I keep a book?", "-k", 3, "--explain")
    assert done.returncode == 0
    assert done.stdout.startswith(" 1. ")
    assert "uncalibrated" in done.stdout
    assert "why: " in done.stdout
    assert " 4. " not in done.stdout


def test_search_says_how_a_misspelt_word_was_read(desk):
    first, *_ = askalike("search", desk, "my bike was stoeln", "-k", 1).stdout.splitlines()
    assert first == "read as: stoeln → stolen"
    assert "read as" not in askalike("search", desk, "my bike was stol", "-k", 1, "--prefix").stdout


def test_search_says_why_a_lower_score_comes_first(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert([Question("a", "Reset it quickly"), Question("b", "Reset it again", marks=("answered",))])
        for share, is_told in ((0.99, True), (0.0, False)):
            retriever = ArchiveRetriever(archive, create("bm25"), answered_first=share)
            hits = retriever.search("quickly reset that", min_similarity=0)
            last = [*match_lines(hits, False, {}, False)][-1].plain
            assert (last == "of nearly as similar questions, answered ones come first") == is_told


def test_body_of_any_length_comes_by_standard_input(desk):
    ask = "search", desk, "Please help", "--json", "-k", 1, "--body"
    body = "My bicycle was stolen. " + "Thanks. " * 20_000
    assert askalike(*ask, "-", input=body).stdout != askalike(*ask, "-", input="Hi").stdout
    read, given = (
        json.loads(done.stdout)["results"] for done in (askalike(*ask, "-", input=body), askalike(*ask, body))
    )
    assert [hit["id"] for hit in read] == [hit["id"] for hit in given]


def test_search_as_json_has_the_service_s_shape(desk):
    answer = json.loads(askalike("search", desk, "book", "--json", "--tag", "renewal").stdout)
    assert set(answer) == {"results", "abstained", "ranker", "took_ms"}
    assert answer["results"]
    assert all("renewal" in r["tags"] for r in answer["results"])
    first = answer["results"][0]
    assert {"id", "title", "url", "snippet", "score", "probability", "contributions"} <= set(first)
    assert sum(m["score"] for m in first["contributions"]) == pytest.approx(first["score"], rel=1e-9)


@pytest.mark.parametrize("text", ["xyzzy plugh", "!? zzz"])
def test_what_shares_no_word_finds_nothing(desk, text):
    done = askalike("search", desk, text)
    assert done.returncode == 0
    assert done.stdout.startswith("nothing similar")


def test_a_written_run_measures_as_the_ranker_does(desk, tmp_path):
    run = tmp_path / "run.trec"
    assert askalike("rank", desk, "--queries", "split:duplicates", "--ranker", "bm25", "-o", run).returncode == 0
    assert askalike("export", desk, "--format", "beir", "-o", tmp_path / "beir").returncode == 0
    evaluate = ("evaluate", desk, "--split", "duplicates", "--ranker", "bm25", "--json")
    direct, again = (json.loads(askalike(*evaluate).stdout) for _ in range(2))
    assert (desk / "index" / "evaluate-bm25.jsonl").is_file()
    assert again == direct
    qrels = tmp_path / "qrels.tsv"
    labels = [line.split("\t") for line in (tmp_path / "beir/links.tsv").read_text().splitlines()]
    pairs = [row[:2] for row in labels if "duplicate" in row]
    qrels.write_text("query-id\tcorpus-id\tscore\n" + "".join(f"{a}\t{b}\t1\n" for a, b in pairs))
    written = json.loads(askalike("evaluate", "--run", run, "--qrels", qrels, "--json").stdout)
    commas = askalike("evaluate", "--run", run, "--qrels", qrels, "--measures", "Success@1,RR", "--json").stdout
    assert json.loads(commas)["measures"] == {name: written["measures"][name] for name in ("Success@1", "RR")}
    assert written["measures"] == direct["measures"]
    assert written["n"] == direct["n"] == 39


def test_candidates_are_all_ranked(desk, tmp_path):
    queries, pools = tmp_path / "q.jsonl", tmp_path / "c.jsonl"
    queries.write_text('{"_id": "q", "text": "late fees"}\n')
    pools.write_text('{"_id": "q", "candidates": ["r001", "r002", "r003"]}\n')
    run = tmp_path / "run.trec"
    assert askalike("rank", desk, "--queries", queries, "--candidates", pools, "-o", run).returncode == 0
    assert sorted(line.split()[2] for line in run.read_text().splitlines()) == ["r001", "r002", "r003"]


def test_explanation_names_words_and_meaning_or_rankers(desk: Path) -> None:
    command = ("search", desk, "how long can I keep a book?", "-k", 1, "--explain", "--ranker", "hybrid")
    settings = ("--set", "parts=bm25,tfidf,votes")
    [told] = re.findall("of which: (.*)", askalike(*command, *settings).stdout)
    assert re.fullmatch(r"words \+\d\.\d\d(  votes \+\d\.\d\d)?", told.strip())
    [named] = re.findall("of which: (.*)", askalike(*command, *settings, "--verbose").stdout)
    assert named.startswith("bm25 +")
    assert "tfidf +" in named


def test_explain_takes_full_but_no_question(desk: Path) -> None:
    text = "how long can I keep a book?"
    command = ("search", desk, "-k", 1, "--ranker", "bm25")
    usual, full = (askalike(*command, *rest) for rest in (("--explain", text), (text, "--explain", "full")))
    assert "can" not in re.findall("why: (.*)", usual.stdout)[0]
    assert re.findall("why: (.*)", full.stdout)[0].count("+") > re.findall("why: (.*)", usual.stdout)[0].count("+")
    refused = askalike(*command, text, "--explain=half")
    assert refused.returncode == 2


def test_an_explanation_names_the_fields(desk: Path) -> None:
    command = ("search", desk, "lost card, tell us at once", "-k", 1, "--fields", "title,answer", "-r", "bm25")
    [told] = re.findall("found in: (.*)", askalike(*command, "--explain").stdout)
    assert re.fullmatch(r"title \+\d\.\d\d  accepted answer \+\d\.\d\d", told.strip())
    [hit] = json.loads(askalike(*command, "--json").stdout)["results"]
    assert hit["fields"].keys() == {"title", "answer"}
    assert sum(hit["fields"].values()) == pytest.approx(hit["score"])
