"""The command, as a process of its own: what it prints, logs, and refuses."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from askalike_chat.command import read_credentials, read_key
from askalike_chat.errors import BotError
from chat_servers import ZulipServer
from running import LOST_CARD, page_of, product_of
from service.serving import Service
from waiting import PATIENCE_S, wait_for

PROGRAMS = (("askalike-chat",), ("askalike", "bot"))


def test_credentials_come_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ZulipServer.credentials
    with pytest.raises(BotError, match="no ZULIP_EMAIL and no ZULIP_API_KEY"):
        read_credentials(None, tuple(names))
    file = tmp_path / "zuliprc"
    file.write_text("[api]\n# a comment = no value\nemail=dup-bot@example.org\nkey = abc=\nsite=https://chat.example\n")
    expected = {"ZULIP_EMAIL": "dup-bot@example.org", "ZULIP_API_KEY": "abc=", "ZULIP_SITE": "https://chat.example"}
    assert read_credentials(file, tuple(names)) == expected
    for name, value in expected.items():
        monkeypatch.setenv(name, value)
    assert read_credentials(None, tuple(names)) == expected
    monkeypatch.setenv("ZULIP_API_KEY", " abc=\n")
    assert read_credentials(None, tuple(names)) == expected
    monkeypatch.setenv("ZULIP_API_KEY", "abc\ndef")
    with pytest.raises(BotError, match="ZULIP_API_KEY has characters that no token has"):
        read_credentials(None, tuple(names))


def test_key_comes_from_a_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASKALIKE_KEY", raising=False)
    assert read_key(None) == ""
    monkeypatch.setenv("ASKALIKE_KEY", "ask_1")
    assert read_key(None) == "ask_1"
    file = tmp_path / "key"
    file.write_text(" ask_2\n")
    assert read_key(file) == "ask_2"
    for content, problem in (("", "is empty"), ("ask_ü", "characters that no token has")):
        file.write_text(content)
        with pytest.raises(BotError, match=problem):
            read_key(file)
    with pytest.raises(BotError, match="cannot be read"):
        read_key(tmp_path / "none")


class BotProcess:
    """The command in a process of its own."""

    def __init__(self, server: Any, service: str, folder: Path, *options: str, **changes: str) -> None:
        program = (*PROGRAMS[0], product_of(server)) if "--bot" not in options else (*PROGRAMS[1], product_of(server))
        command = [str(Path(sys.executable).parent / program[0]), *program[1:], service, "--address", server.address]
        environment: Mapping[str, str] = os.environ | dict(server.credentials) | {"XDG_STATE_HOME": str(folder)}
        self._paths = folder / "output", folder / "log"
        with open(self._paths[0], "w") as output, open(self._paths[1], "w") as log:
            self.process = subprocess.Popen(
                [*command, *(option for option in options if option != "--bot")],
                env={**environment, **changes}, stdout=output, stderr=log,
            )  # fmt: skip

    def __enter__(self) -> "BotProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def output(self) -> str:
        return self._paths[0].read_text()

    @property
    def log(self) -> str:
        return self._paths[1].read_text()

    def wait(self) -> int:
        return self.process.wait(PATIENCE_S)


@pytest.mark.parametrize("program", [(), ("--bot",)])
def test_command_prints_what_it_would_say_and_ends(
    server: Any, desk: Service, tmp_path: Path, program: tuple[str, ...]
) -> None:
    with BotProcess(server, page_of(desk), tmp_path, "--min-similarity", "0.3", "--dry-run", *program) as bot:
        wait_for(lambda: server.connections or bot.process.poll() is not None)
        first = server.ask(LOST_CARD)
        wait_for(lambda: "👎" in bot.output)
        bot.process.send_signal(signal.SIGTERM)
        assert bot.wait() == 0, bot.log
        assert first in bot.output
        assert "https://desk.example/q/r013" in bot.output
        messages = [json.loads(line)["message"] for line in bot.log.splitlines()]
        assert messages == ["serving", "answering", "ended"]
        assert server.token not in bot.log + bot.output
    assert server.texts() == []
    assert not (tmp_path / "askalike-chat").exists()


def test_the_command_answers_and_remembers(server: Any, desk: Service, tmp_path: Path) -> None:
    with BotProcess(server, page_of(desk), tmp_path, "--min-similarity", "0.3") as bot:
        wait_for(lambda: server.connections or bot.process.poll() is not None)
        server.ask(LOST_CARD)
        wait_for(server.texts)
    [file] = (tmp_path / "askalike-chat").iterdir()
    assert '"shown": "r013"' in file.read_text()


def test_the_command_says_what_it_lacks(desk: Service, tmp_path: Path) -> None:
    with ZulipServer() as server:
        cases = [
            (("--min-probability", "0.3"), {}, "is not calibrated"),
            (("--min-similarity", "0.3"), {"ZULIP_API_KEY": "wrong"}, "answered 401 Invalid API key"),
            (("--min-similarity", "0.3", "--without", "x"), {}, "'closed'"),
            (("--min-similarity", "0.3", "--min-probability", "0.3"), {}, "use one of them"),
        ]
        for options, changes, message in cases:
            with BotProcess(server, page_of(desk), tmp_path, *options, **changes) as bot:
                assert bot.wait() == 2
                assert message in bot.log.splitlines()[-1]
                assert "wrong" not in bot.log
                assert "Traceback" not in bot.log
        for place, message in (("no/a/desk", "expected an address"), (f"{desk.url.geturl()}/a/none", "no archive")):
            with BotProcess(server, place, tmp_path, "--min-similarity", "0.3") as bot:
                assert bot.wait() == 2
                assert message in bot.log
