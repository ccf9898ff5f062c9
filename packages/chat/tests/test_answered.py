"""What was answered, in its file."""

from pathlib import Path

import pytest

from askalike_chat.answered import AnsweredThreads, GivenAnswer
from askalike_chat.command import default_state
from askalike_chat.errors import BotError


def test_answered_threads_survive_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "state" / "bot-slack.jsonl"
    with AnsweredThreads(path) as answered:
        answered.put(answered.put(GivenAnswer("C1/1", "C1", "1", "q")), answer="2")
        with pytest.raises(BotError, match="another bot"):
            AnsweredThreads(path)
    path.write_text(path.read_text() + '{"thread": "C1/')
    with AnsweredThreads(path) as answered:
        answered.put(GivenAnswer("C1/9", "C1", "9", "q"))
    with AnsweredThreads(path) as answered:
        assert "C1/9" in answered
        assert answered.find("C1", "2") == answered.find("C1", "1") == GivenAnswer("C1/1", "C1", "1", "q", "2")


def test_each_archive_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = default_state("zulip", "https://questions.example:8080/a/desk/")
    assert path == tmp_path / "askalike-chat" / "zulip-questions.example-8080-a-desk.jsonl"
