"""tune and replay, as a person calls them."""

import json
from pathlib import Path

import pytest

from askalike.cli._output import format_settings
from askalike.cli.tune import TuningPrinter
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
