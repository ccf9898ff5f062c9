"""tune and replay, as a person calls them."""

import json
from pathlib import Path

import pytest

from askalike.cli._tuning import TuningPrinter, format_settings
from askalike.core.config import parse_assignments
from askalike.experiments.trials import Trial
from askalike.tuning.candidates import Candidate
from askalike.tuning.successive_candidates import CandidateResult
from commands import askalike

EXAMPLE = Path(__file__).parents[2] / "examples/riverside.csv"


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    directory = tmp_path_factory.mktemp("cli") / "riverside"
    assert askalike("import", "table", EXAMPLE, "-o", directory).returncode == 0
    return directory


def test_tune_prints_settings_that_can_be_pasted(desk):
    done = askalike("tune", desk, "--only", "lexical", "--ranker", "lm_jelinek_mercer", "--dev", "duplicates")
    assert done.returncode == 0, done.stderr
    assert "split duplicates (39 queries): nested cross-validation, 5 folds" in done.stdout
    pasted = done.stdout.partition("best of 10: ")[2].splitlines()[0].split()
    assert pasted[:2] == ["--ranker", "lm_jelinek_mercer"]
    measured = askalike("evaluate", desk, "--split", "duplicates", *pasted, "--measures", "Success@10", "--json")
    figure = json.loads(measured.stdout)["measures"]["Success@10"]["mean"]
    assert f"{figure:.4f}" in done.stdout


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
        TuningPrinter(tmp_path, "nDCG@10")(event)
    for line, effect in zip(capsys.readouterr().out.splitlines(), ("l", "b"), strict=True):
        shown = f"--set parts=dfr,static --set weights=0.2,0.8 --set dfr.after_effect={effect}"
        assert line.split("  ")[-1] == shown


def test_tune_leaves_what_is_set(desk):
    done = askalike(
        "tune", desk, "--only", "lexical", "--ranker", "bm25", "--dev", "duplicates", "--set", "b=0.4", "--set",
        "tokenizer=ptb", "--json",
    )  # fmt: skip
    assert {"b": 0.4, "tokenizer": "ptb"}.items() <= json.loads(done.stdout)["rankers"][0]["settings"].items()


def test_tune_weighs_the_parts_of_a_hybrid(desk):
    done = askalike(
        "tune", desk, "--only", "lexical", "--ranker", "hybrid", "--set", "parts=bm25,tfidf", "--dev", "duplicates",
        "--json",
    )  # fmt: skip
    [result] = json.loads(done.stdout)["rankers"]
    assert result["trials"] == 5
    assert len(result["settings"]["weights"]) == 2


def test_tune_as_json(desk):
    done = askalike(
        "tune", desk, "--only", "lexical", "--ranker", "tfidf", "--dev", "rephrasings", "--test", "duplicates",
        "--sample", 50, "--json",
    )  # fmt: skip
    [tfidf] = json.loads(done.stdout)["rankers"]
    assert (tfidf["dev"]["n"], tfidf["test"]["n"]) == (50, 39)
    assert tfidf["folds"] == []
    assert tfidf["trials"] == 5


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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("tune", "{desk}", "--only", "everything"), "is not one of 'lexical'"),
        (("tune", "{desk}", "--only", "lexical", "--ranker", "cnn"), "'cnn' is not a lexical ranker"),
        (("tune", "{desk}", "--only", "lexical", "--ranker", "hybrid"), "'hybrid' is not a lexical ranker"),
        (("tune", "{desk}", "--only", "lexical", "--measure", "Sucess@1"), "Sucess@1"),
        (("tune", "{desk}", "--only", "lexical", "--dev", "duplicates", "--test", "duplicates"), "cannot both choose"),
        (("replay", "{desk}", "--after", "yesterday"), "date 'yesterday': expected a date"),
        (("replay", "{desk}", "--after", "2099-01-01"), "choose an earlier date"),
        (("replay", "{desk}", "--after", "2020-01-01", "-r", "bm52"), "no ranker is called 'bm52'"),
    ],
)
def test_what_a_person_can_mend_is_one_line_and_exit_code_2(desk, words, says):
    done = askalike(*(w.format(desk=desk) for w in words))
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
