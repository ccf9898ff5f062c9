"""The page of bots, as a new user follows it."""

import re
import shlex
import shutil
from pathlib import Path

import pytest

from chat_servers import ZulipServer
from commands import run_command
from service.serving import Service
from test_command import BotProcess
from waiting import wait_for

ROOT = Path(__file__).parents[3]
PAGE = Path(__file__).parents[1] / "docs" / "bots.md"


def test_the_page_leads_to_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    block = re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[0]
    *first, serve, bot = [shlex.split(line)[2:] for line in block.splitlines()]
    for words in first:
        assert run_command(*words)[0] == 0
    assert (serve[:2], bot[:2], bot[-1]) == (["serve", "riverside"], ["bot", "zulip"], "--dry-run")
    service = Service(tmp_path / "riverside", ranker=())
    try:
        with ZulipServer() as server:
            login = server.credentials
            lines = [f"email={login['ZULIP_EMAIL']}", f"key={login['ZULIP_API_KEY']}", f"site={server.address}"]
            (tmp_path / "zuliprc").write_text("\n".join(["[api]", *lines]))
            place = bot[2].replace("http://127.0.0.1:8470", service.url.geturl())
            with BotProcess(server, place, tmp_path, "--bot", *bot[3:-1]) as running:
                wait_for(lambda: server.connections or running.process.poll() is not None)
                server.ask("I have lost my library card. What should I do?")
                [text] = wait_for(server.texts)
    finally:
        service.end()
    assert "https://desk.example/q/r013" in text
    assert "the same question (" in text
