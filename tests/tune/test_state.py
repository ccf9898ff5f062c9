"""What was found out stays found out, whatever happened to the file's end."""

import pytest

from askalike.errors import SettingsError
from askalike.tune.budget import Budget, seconds, spoken
from askalike.tune.candidates import Trial
from askalike.tune.state import State

TRIAL = Trial("bm25", {"b": 0.5})


def test_a_state_is_read_again(tmp_path):
    State(tmp_path, ["x"]).keep(TRIAL, "dev", {"RR": {"q": 1.0}}, 2.5)
    again = State(tmp_path, ["x"])
    assert again.found(TRIAL, "dev") == {"RR": {"q": 1.0}}
    assert again.spent_s == 2.5
    assert again.found(TRIAL, "test") is None
    assert State(tmp_path, ["y"]).found(TRIAL, "dev") is None


def test_a_copy_knows_its_own_indexes(tmp_path):
    State(tmp_path / "a", ["x"]).make(tmp_path / "a" / "index" / "terms")
    (tmp_path / "a").rename(tmp_path / "b")
    assert State(tmp_path / "b", ["x"]).made == {tmp_path / "b" / "index" / "terms"}


def test_half_a_line_does_not_count(tmp_path):
    state = State(tmp_path, ["x"])
    state.keep(TRIAL, "dev", {"RR": {"q": 1.0}}, 1.0)
    file = state.folder / "values.jsonl"
    file.write_text(file.read_text() + '{"name": "tor')
    again = State(tmp_path, ["x"])
    assert again.found(TRIAL, "dev") == {"RR": {"q": 1.0}}
    again.keep(Trial("tfidf"), "dev", {"RR": {"q": 0.0}}, 1.0)
    assert State(tmp_path, ["x"]).found(Trial("tfidf"), "dev") == {"RR": {"q": 0.0}}


@pytest.mark.parametrize(("text", "found"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("3", 180)])
def test_a_budget_is_read_as_people_write_it(text, found):
    assert seconds(text) == found


@pytest.mark.parametrize("text", ["", "soon", "-1m", "0m", "10 days"])
def test_what_is_no_time_is_one_line(text):
    with pytest.raises(SettingsError, match="expected a time such as"):
        seconds(text)


def test_time_is_told_as_people_say_it():
    assert Budget(10).left_s == pytest.approx(10, abs=0.5)
    assert spoken(0.5) == "0.5 s"
    assert spoken(600) == "10 min"
