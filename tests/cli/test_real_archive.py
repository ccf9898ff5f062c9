"""An archive of the open dumps of two sites, end to end, before anybody calibrates it."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.calibration.riverside import riverside

from askalike import rankers
from askalike.calibration.calibration import load_calibration
from askalike.core.records import EvaluationQuery, Judgement
from askalike.moderation import pairs
from askalike.moderation.dedupe import DEFAULT_SIMILARITY
from askalike.store import Archive, get_served_ranker
from askalike.tuning import successive_candidates
from commands import run_command

WORDS = ("-r", "lm_jelinek_mercer")


@pytest.fixture(scope="module")
def sites(shared_data, tmp_path_factory) -> Path:
    """An archive of two sites: 1,012 questions, of which 23 are known duplicates."""
    path = tmp_path_factory.mktemp("open") / "sites"
    for site in ("beer", "ai"):
        dump = shared_data / "stackexchange" / f"{site}.stackexchange.com"
        code, _, err = run_command("import", "stackexchange", dump, "-o", path)
        assert code == 0, err
    return path


def found(path: Path, query: str) -> list[str]:
    """The titles that a search on the command line shows."""
    code, out, err = run_command("search", path, query, "--json", "-k", 3, *WORDS)
    assert code == 0, err
    return [result["title"] for result in json.loads(out)["results"]]


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("How do I get rid of the foam in a glass of beer", "foam"),
        ("foam", "foam"),
        ("nueral netwroks", "neural"),
        ("artifical inteligence", "intelligence"),
    ],
)
def test_search_misspelt_on_two_sites(sites, query, word) -> None:
    assert any(word in title.lower() for title in found(sites, query))


@pytest.mark.parametrize("query", ["best pizza in Rome", "Comment conserver un tapis ?", "xyzzy"])
def test_search_and_answer_off_topic(sites, query) -> None:
    assert found(sites, query) == []
    code, out, _ = run_command("answer", sites, query, "--json", *WORDS)
    assert (code, json.loads(out)["abstained"], json.loads(out)["text"]) == (0, True, None)


def test_tune_with_few_labels(sites, monkeypatch) -> None:
    pytest.importorskip("wordllama")
    monkeypatch.setattr(successive_candidates, "list_families", lambda: ())
    code, out, err = run_command("tune", sites, "--budget", "3s", "--json")
    assert code == 0, err
    assert json.loads(out)["active"]["ranker"] == "hybrid"
    with Archive.open(sites) as archive:
        assert get_served_ranker(archive).ranker == "hybrid"
        assert rankers.trained_model_names(archive.path) == ()


def test_dedupe_uncalibrated_reuses_neighbours(sites, tmp_path, monkeypatch) -> None:
    searches = []
    retrieve = pairs.retrieve_hits
    monkeypatch.setattr(pairs, "retrieve_hits", lambda *of: searches.append(of) or retrieve(*of))
    same = tmp_path / "same.csv"
    code, out, err = run_command("dedupe", sites, "-o", same, *WORDS)
    assert (code, "by similarity, not a probability" in out, bool(searches)) == (0, True, True), err
    with open(same, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    assert all(row["probability"] == "" for row in rows)
    assert all(DEFAULT_SIMILARITY <= float(row["similarity"]) <= 1 for row in rows if row["similarity"])
    searches.clear()
    assert run_command("dedupe", sites, "-o", same, "--min-similarity", 0.9, *WORDS)[0] == 0
    assert searches == []


def test_calibrate_titles_and_whole_questions(tmp_path) -> None:
    with Archive.open(riverside(tmp_path / "riverside")) as archive:
        questions = [question for _, question in archive.view().questions()]
    asked = [replace(q, id=f"asked {q.id}", title=q.rephrasings[0], rephrasings=()) for q in questions if q.rephrasings]
    with Archive.create(tmp_path / "desk") as archive:
        archive.upsert([replace(q, body="I could not find it on the page.", rephrasings=()) for q in questions])
        archive.upsert(EvaluationQuery("whole", replace(q, body="Please help.")) for q in asked)
        archive.upsert(Judgement("whole", q.id, q.id.removeprefix("asked "), 1) for q in asked)
    code, out, err = run_command("calibrate", tmp_path / "desk", "--split", "whole", "--json", *WORDS)
    assert (code, "titles" in json.loads(out)) == (0, True), err
    with Archive.open(tmp_path / "desk") as archive:
        ranker = rankers.create(WORDS[1], {}, archive)
        uses = [load_calibration(archive, ranker, use).has_bodies for use in ("question", "title")]
    assert uses == [True, False]
