"""A state survives, whatever happened to the end of its file."""

import pytest

from askalike.core.errors import SettingsError
from askalike.core.values import format_duration
from askalike.tuning.trials import Budget, Trial, TuningState, parse_duration

TRIAL = Trial("bm25", {"b": 0.5})


def test_a_state_is_read_again(tmp_path):
    TuningState(tmp_path, ["x"]).save_trial(TRIAL, "dev", {"RR": {"q": 1.0}}, 2.5)
    again = TuningState(tmp_path, ["x"])
    assert again.trial_values(TRIAL, "dev") == {"RR": {"q": 1.0}}
    assert again.spent_s == 2.5
    assert again.trial_values(TRIAL, "test") is None
    assert TuningState(tmp_path, ["y"]).trial_values(TRIAL, "dev") is None


def test_a_copy_knows_its_own_indexes(tmp_path):
    TuningState(tmp_path / "a", ["x"]).record_index(tmp_path / "a" / "index" / "terms")
    (tmp_path / "a").rename(tmp_path / "b")
    assert TuningState(tmp_path / "b", ["x"]).created_indexes == {tmp_path / "b" / "index" / "terms"}


def test_half_a_line_does_not_count(tmp_path):
    state = TuningState(tmp_path, ["x"])
    state.save_trial(TRIAL, "dev", {"RR": {"q": 1.0}}, 1.0)
    file = state.folder / "values.jsonl"
    file.write_text(file.read_text() + '{"name": "tor')
    again = TuningState(tmp_path, ["x"])
    assert again.trial_values(TRIAL, "dev") == {"RR": {"q": 1.0}}
    again.save_trial(Trial("tfidf"), "dev", {"RR": {"q": 0.0}}, 1.0)
    assert TuningState(tmp_path, ["x"]).trial_values(Trial("tfidf"), "dev") == {"RR": {"q": 0.0}}


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("3", 180)])
def test_a_budget_is_read_as_people_write_it(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-1m", "0m", "10 days"])
def test_a_wrong_duration_is_one_line(text):
    with pytest.raises(SettingsError, match="expected a time such as"):
        parse_duration(text)


def test_durations_are_formatted_for_people():
    assert Budget(10).remaining_s == pytest.approx(10, abs=0.5)
    assert format_duration(0.5) == "0.5 s"
    assert format_duration(600) == "10 min"
