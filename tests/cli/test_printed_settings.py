"""Settings as commands print them, to be pasted into another."""

from askalike.cli.output import format_settings
from askalike.cli.tune import print_event
from askalike.core.config import parse_assignments
from askalike.tuning.candidate_search import CandidateResult
from askalike.tuning.candidates import Candidate, Stage
from askalike.tuning.trials import Trial
from askalike.tuning.verdict import EvaluatedTrial


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
        candidate = Candidate("hybrid (dfr + static)", Stage(family=1), (trial,))
        entry = EvaluatedTrial(candidate, trial, {"q": 0.5}, {"q": 0.6})
        print_event(tmp_path, "nDCG@10", CandidateResult([entry], entry, 1.0))
    for line, effect in zip(capsys.readouterr().out.splitlines(), ("l", "b"), strict=True):
        shown = f"--set parts=dfr,static --set weights=0.2,0.8 --set dfr.after_effect={effect}"
        assert line.split("  ")[-1] == shown
