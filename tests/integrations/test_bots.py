"""Bots for chats, against small servers that speak the products' protocols and misbehave."""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from shutil import copytree
from threading import Event, Thread
from typing import Any

import pytest

pytest.importorskip("websockets", reason="needs the extra bots")
from askalike.cli.service import read_credentials
from askalike.core.errors import ArchiveError, SettingsError
from askalike.core.types import Contribution, Explanation, Question, SearchHit
from askalike.integrations.bots import chat_class
from askalike.integrations.bots.answered import AnsweredThreads, GivenAnswer
from askalike.integrations.bots.bot import Bot, BotSettings, format_answer, run_bot, state_path
from askalike.integrations.bots.chat import ChatError, Lookups, RefusedBotError
from askalike.integrations.bots.discord import _heartbeat_s
from askalike.integrations.bots.web import ApiClient, check_address
from askalike.search.engine import LocalEngine
from askalike.store import Archive
from askalike.store.drafts import list_drafts
from askalike.store.feedback import read_verdicts
from askalike.store.query_log import LoggedQuery, insert_feedback, read_unhelped_queries
from askalike.store.retention import set_keep_days
from calibration.riverside import riverside
from chat_servers import (
    BOT,
    HELPER,
    OTHER_BOT,
    ChatServer,
    DiscordServer,
    SlackServer,
    SocketServer,
    ZulipServer,
)
from http_servers import LocalServer, QuietHandler
from preloaded import PreloadedProcess
from waiting import PATIENCE_S, wait_for

LOST_CARD = "Hello all! I have lost my library card. What should I do?"
LATE_BOOK = "My book is late. How much is the fine for a late book?"
OFF_TOPIC = "Does anybody know a good pizzeria in Rome?"
KINDS: dict[str, type[ChatServer]] = {"zulip": ZulipServer, "slack": SlackServer, "discord": DiscordServer}
SOCKETS = [name for name, kind in KINDS.items() if issubclass(kind, SocketServer)]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = riverside(tmp_path_factory.mktemp("bots") / "desk")
    with LocalEngine.open(path, "bm25") as engine:
        engine.search("card")
    return path


@pytest.fixture
def archive(desk: Path, tmp_path: Path) -> Path:
    return copytree(desk, tmp_path / "desk")


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    with KINDS[request.param]() as running:
        yield running


@pytest.fixture(autouse=True)
def every_event_is_understood(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    if "odd" not in request.node.name:
        assert "an event was not understood" not in caplog.messages


def product_of(server: ChatServer) -> str:
    return next(name for name, kind in KINDS.items() if isinstance(server, kind))


@contextmanager
def bot_for(server: Any, archive: Path, **settings: Any) -> Iterator[list[BaseException]]:
    """Run the server's bot in a thread until the block ends; yields what ended it early."""
    product, stop, ended = product_of(server), Event(), []
    chat = chat_class(product)(server.address, server.credentials, (), stop)  # type: ignore[arg-type]

    def run() -> None:
        try:
            with (
                LocalEngine.open(archive, "bm25") as engine,
                AnsweredThreads(state_path(archive, product)) as answered,
            ):
                chosen = BotSettings(**{"min_similarity": 0.3, "source": product, **settings})
                run_bot(chat, Bot(chat, engine, chosen, answered), stop, first_pause_s=0.02)
        except BaseException as error:
            ended.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        wait_for(lambda: server.connections or ended)
        yield ended
    finally:
        stop.set()
        thread.join(10)
    assert not thread.is_alive()


def settle(server: Any) -> None:
    """Return once all events so far have had their effect: a last question is answered."""
    first = server.ask(LOST_CARD)
    wait_for(lambda: any(server.is_ours(m) and server.is_reply(m, first) for m in list(server.messages)))


def test_a_new_thread_is_answered_once_with_link_likelihood_and_reason(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        first = server.ask(LOST_CARD)
        [text] = wait_for(server.texts)
        server.emit(server_event(server, first))
        server.reply(first, "And what does it cost? I have lost my library card.")
        settle(server)
        assert len(server.texts()) == 2
    assert "https://desk.example/q/r013" in text
    assert "similarity" in text
    assert "both say" in text
    assert "card" in text.partition("both say")[2]
    lines = state_path(archive, product_of(server)).read_text()
    assert "library" not in lines


def server_event(server: Any, first: str) -> Any:
    """The event of a message again, as after a lost acknowledgement."""
    message = server.find(first)
    if isinstance(server, ZulipServer):
        return {"type": "message", "message": message}
    if isinstance(server, SlackServer):
        return {**message, "channel": "C7", "channel_type": "channel"}
    return "MESSAGE_CREATE", {**message, "guild_id": "1"}


def test_it_is_silent_off_topic_in_private_and_to_bots(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        server.ask(OFF_TOPIC)
        server.ask(LOST_CARD, private=True)
        server.ask(LOST_CARD, OTHER_BOT)
        server.ask(LOST_CARD, BOT)
        own = len(server.texts())
        server.ask("Good morning, my library card!")
        server.ask("")
        settle(server)
        assert len(server.texts()) == own + 1


def test_a_thread_is_not_answered_again_after_a_restart(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        first = server.ask(LOST_CARD)
        wait_for(server.texts)
    server.connections = 0
    with bot_for(server, archive):
        server.emit(server_event(server, first))
        settle(server)
        assert len(server.texts()) == 2


def test_reactions_are_feedback_once_a_person(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        server.ask(LOST_CARD)
        wait_for(server.texts)
        answer = next(server.id_of(m) for m in server.messages if server.is_ours(m))
        for emoji, person in (("👍", 2), ("👍", 2), ("👎", HELPER), ("🎉", 2), ("👍", BOT)):
            server.react(answer, emoji, person)
        settle(server)
    with Archive.open(archive) as opened:
        verdicts = [(v.query.title, v.document_id, v.relevant) for v in read_verdicts(opened)]
    title = "What should I do?"
    assert sorted(verdicts) == [(title, "r013", False), (title, "r013", True)]


def test_a_check_mark_keeps_the_thread_as_the_draft_of_an_import(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        first = server.ask("Where do I find the minutes of the chess club?")
        helpful = server.reply(first, "In the blue folder.")
        server.reply(first, "Yes, there.", OTHER_BOT)
        server.react(first, "✅")
        server.react(helpful, "✅")
        server.react(helpful, "✅", HELPER)
        own = server.ask("Why zorble a quexly?")
        server.react(server.reply(own, "I know it now.", 2), "✅")
        settle(server)
    with Archive.open(archive) as opened:
        [draft] = list_drafts(opened)
    channel = {"slack": "C7"}.get(product_of(server), "7")
    assert draft.origin == f"{product_of(server)}/{channel}/{first}"
    assert (draft.title, draft.answer) == ("Where do I find the minutes of the chess club?", "In the blue folder.")
    assert draft.url
    assert draft.url.startswith(("http", "https"))


def test_what_a_bot_remembers_has_no_texts(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        server.ask(LOST_CARD)
        wait_for(server.texts)
        answer = next(server.id_of(m) for m in server.messages if server.is_ours(m))
        server.react(answer, "👍", 2)
        settle(server)
    [line, *_] = [json.loads(line) for line in state_path(archive, product_of(server)).read_text().splitlines()]
    assert set(line) == {"thread", "channel", "first", "shown", "answer", "withdrawn", "verdicts"}
    assert "card" not in state_path(archive, product_of(server)).read_text()


def test_a_bot_stores_nothing_where_the_archive_keeps_nothing(server: Any, archive: Path) -> None:
    with Archive.open(archive) as opened:
        insert_feedback(opened, LoggedQuery("of yesterday", "", (), "bm25"), "none_of_these", None)
        set_keep_days(opened, 0)
    with bot_for(server, archive):
        server.ask(LOST_CARD)
        wait_for(server.texts)
        answer = next(server.id_of(m) for m in server.messages if server.is_ours(m))
        server.react(answer, "👍", 2)
        first = server.ask("Where do I find the minutes of the chess club?")
        server.react(server.reply(first, "In the blue folder."), "✅", HELPER)
        settle(server)
    with Archive.open(archive) as opened:
        assert (list(read_verdicts(opened)), list_drafts(opened)) == ([], [])
        assert not list(read_unhelped_queries(opened))


def test_an_edit_changes_the_answer_and_a_deletion_takes_it_back(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        changed, emptied, deleted = (server.ask(LOST_CARD) for _ in range(3))
        wait_for(lambda: len(server.texts()) == 3)
        server.edit(changed, LATE_BOOK)
        wait_for(lambda: any("r013" not in text for text in server.texts()))
        server.edit(emptied, OFF_TOPIC)
        server.delete(deleted)
        wait_for(lambda: len(server.texts()) == 1)
        server.edit(changed, LATE_BOOK)
        clarified = server.ask("Good evening")
        server.edit(clarified, LOST_CARD)
        wait_for(lambda: len(server.texts()) == 2)
        settle(server)
        assert len(server.texts()) == 3


def test_a_removed_answer_is_not_written_again(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        first = server.ask(LOST_CARD)
        wait_for(server.texts)
        server.delete(next(server.id_of(m) for m in server.messages if server.is_ours(m)))
        server.edit(first, LATE_BOOK)
        settle(server)
        assert len(server.texts()) == 1


def test_rate_limits_are_obeyed_and_a_failed_answer_is_not_repeated(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        server.faults += [(429, {"retry_after": 0.01}), (429, "no JSON object"), (500, None)]
        failing = server.ask(LOST_CARD)
        wait_for(lambda: not server.faults)
        server.emit(server_event(server, failing))
        settle(server)
        assert len(server.texts()) == 1


def test_it_connects_again_after_a_loss(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        for n in range(1, 4):
            server.disconnect()
            wait_for(lambda n=n: server.connections == n + 1)  # type: ignore[misc]
            server.ask(LOST_CARD)
            wait_for(lambda n=n: len(server.texts()) == n)  # type: ignore[misc]


def test_odd_events_change_nothing(server: Any, archive: Path) -> None:
    with bot_for(server, archive):
        for event in odd_events(server):
            server.emit(event)
        if isinstance(server, SocketServer):
            for raw in ("no JSON", "[1]", "{}", '{"op": "x", "type": 7}', "[" * 100_000, "ping"):
                server.send_raw(raw)
        server.ask("What? " + "zorble quexly " * 150_000)
        server.ask("\x00\ud800?".encode(errors="replace").decode())
        settle(server)
        assert len(server.texts()) == 1


def odd_events(server: Any) -> list[Any]:
    if isinstance(server, DiscordServer):
        return [("TYPING_START", {}), ("MESSAGE_CREATE", {}), ("MESSAGE_UPDATE", {"id": "5"}), ("MESSAGE_DELETE", {}),
                ("MESSAGE_REACTION_ADD", {"guild_id": "1", "emoji": {}}), (None, None)]  # fmt: skip
    if isinstance(server, SlackServer):
        channel = {"channel": "C7", "channel_type": "channel"}
        return [{"type": "app_mention"}, {}, {"type": "message"}, {"type": "message", **channel, "text": None},
                {"type": "message", **channel, "subtype": "message_changed"},
                {"type": "reaction_added", "item": 3}]  # fmt: skip
    return [{"type": "presence"}, {}, {"type": "message", "message": {"type": "private"}}, {"type": "message"},
            {"type": "reaction", "op": "remove"}, {"type": "update_message", "rendering_only": True}]  # fmt: skip


def test_a_refused_token_ends_the_bot_with_one_line(server: Any, archive: Path) -> None:
    server.is_locked_out = True
    with bot_for(server, archive) as ended:
        [error] = wait_for(lambda: ended)
    assert isinstance(error, RefusedBotError)
    assert server.token not in str(error)


@pytest.mark.parametrize("product", SOCKETS)
def test_each_event_is_acknowledged(product: str, archive: Path) -> None:
    with KINDS[product]() as running, bot_for(running, archive):
        server: Any = running
        server.ask(OFF_TOPIC)
        sent = {"slack": "envelope_id", "discord": "op"}[product]
        wait_for(lambda: any(sent in message for message in server.received))
        settle(server)


def test_slack_asks_to_reconnect_and_may_be_switched_off(archive: Path) -> None:
    with SlackServer() as server, bot_for(server, archive) as ended:
        server.send_raw({"type": "disconnect", "reason": "refresh_requested"})
        wait_for(lambda: server.connections == 2)
        settle(server)
        server.send_raw({"type": "disconnect", "reason": "link_disabled"})
        [error] = wait_for(lambda: ended)
        assert "Socket Mode" in str(error)


def test_discord_resumes_its_session_until_it_is_invalid(archive: Path) -> None:
    with DiscordServer() as server, bot_for(server, archive) as ended:
        settle(server)
        for sent, op in (({"op": 7}, 6), ({"op": 9, "d": True}, 6), ({"op": 9, "d": False}, 2)):
            n = len([m for m in server.received if m["op"] == op])
            server.send_raw(sent)
            wait_for(lambda n=n, op=op: len([m for m in server.received if m["op"] == op]) == n + 1)  # type: ignore[misc]
        assert next(m["d"]["seq"] for m in server.received if m["op"] == 6) >= 2
        server.send_raw({"op": 1})
        wait_for(lambda: len([m for m in server.received if m["op"] == 1]) > 1)
        server.close_code = 4014
        server.send_raw({"op": 9, "d": False})
        [error] = wait_for(lambda: ended)
        assert "Message Content Intent" in str(error)


def test_a_post_of_a_forum_is_asked_by_its_title(archive: Path) -> None:
    with DiscordServer() as server, bot_for(server, archive):
        post = server.post("I have lost my library card", "Since yesterday.")
        [text] = wait_for(server.texts)
        assert "r013" in text
        server.react(server.reply(post, "Tell the desk."), "✅")
        settle(server)
        with Archive.open(archive) as opened:
            [draft] = list_drafts(opened)
        assert (draft.origin, draft.title, draft.body) == (
            f"discord/9/{post}", "I have lost my library card", "Since yesterday.",
        )  # fmt: skip
        assert draft.url == f"https://discord.com/channels/1/{post}/{post}"


def test_old_messages_are_not_answered(archive: Path) -> None:
    with ZulipServer() as server, bot_for(server, archive):
        old = server.ask(OFF_TOPIC)
        server.find(old)["timestamp"] = int(time.time()) - 7200
        server.edit(old, LOST_CARD)
        settle(server)
        assert len(server.texts()) == 1


@pytest.mark.parametrize(("probability", "words"), [
    (0.97, "Almost certainly the same question (97 %)"), (0.5, "Likely the same question (50 %)"),
    (0.3, "Possibly the same question (30 %)"),
])  # fmt: skip
@pytest.mark.parametrize(("product", "named"), [
    ("zulip", "[@\u200b∗∗all∗∗ (x)](https://h.example/a%28b%29)"),
    ("slack", "<https://h.example/a%28b%29|@**all** [x]>"),
    ("discord", "[@\u200b∗∗all∗∗ (x)](https://h.example/a%28b%29)"),
])  # fmt: skip
def test_an_answer_says_how_likely_it_is_and_mentions_nobody(
    product: Any, named: str, probability: float, words: str
) -> None:
    chat = chat_class(product)("https://h.example", KINDS[product].credentials, (), Event())
    question = Question("q", "@**all** [x]", url="https://h.example/a(b)", solved_in="2.1")
    reason = Explanation(
        1.0, contributions=(Contribution("card", ("title",), 2.0), Contribution("the", ("title",), 0.1))
    )
    text = format_answer(chat, SearchHit(question, 1.0, "", probability, reason), None)
    assert named in text
    assert f"{words}: both say card; was solved in 2.1." in text


def test_a_question_without_an_address_is_linked_in_the_service() -> None:
    chat = chat_class("zulip")("https://h.example", ZulipServer.credentials, (), Event())
    hit = SearchHit(Question("a/1", "Title"), 1.0, "", 0.9)
    assert "[Title](https://q.example/a/desk/questions/a%2F1)" in format_answer(chat, hit, "https://q.example/a/desk/")
    assert "asked before: Title\n" in format_answer(chat, hit, None)


def test_what_was_answered_survives_a_torn_line_and_is_held_by_one(tmp_path: Path) -> None:
    path = tmp_path / "bot-slack.jsonl"
    with AnsweredThreads(path) as answered:
        answered.put(answered.put(GivenAnswer("C1/1", "C1", "1", "q")), answer="2")
        with pytest.raises(ArchiveError, match="another bot"):
            AnsweredThreads(path)
    path.write_text(path.read_text() + '{"thread": "C1/')
    with AnsweredThreads(path) as answered:
        answered.put(GivenAnswer("C1/9", "C1", "9", "q"))
    with AnsweredThreads(path) as answered:
        assert "C1/9" in answered
        assert answered.find("C1", "2") == answered.find("C1", "1") == GivenAnswer("C1/1", "C1", "1", "q", "2")


def test_a_channel_is_asked_for_again_after_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    channels = Lookups(lambda id: asked.append(id) or {"name": id})  # type: ignore[func-returns-value]
    assert [channels["a"]["name"], channels["b"]["name"], channels["a"]["name"]] == ["a", "b", "a"]
    later = time.monotonic() + 3601
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert channels["a"]["name"] == "a"
    assert asked == ["a", "b", "a"]


@pytest.mark.parametrize("interval", [float("nan"), float("inf"), 0, -1, 1e-9, 1e12, None, "41250", [1]])
def test_a_heartbeat_that_is_no_time_ends_the_connection(interval: Any) -> None:
    with pytest.raises(ChatError, match="heartbeat"):
        _heartbeat_s(interval)
    assert _heartbeat_s(41_250) == 41.25


def test_an_error_that_drips_ends_at_the_time_limit() -> None:
    release, ended = Event(), Event()

    class Dripping(QuietHandler):
        def do_GET(self) -> None:
            self.send_response(503)
            self.send_header("Content-Length", "65536")
            self.end_headers()
            with suppress(OSError):
                for _ in range(20 * PATIENCE_S):
                    self.wfile.write(b" ")
                    if release.wait(0.05):
                        break
            ended.set()

    with LocalServer(Dripping) as server:
        client = ApiClient(server.address, {}, Event())
        try:
            with pytest.raises(ChatError, match="answered 503"):
                client._send("GET", "users/me", None, "", 0.5)
            assert not ended.is_set()
        finally:
            release.set()


def test_the_body_of_an_error_is_read() -> None:
    class Refusing(QuietHandler):
        def do_GET(self) -> None:
            self.reply(b'{"message": "no such channel", "code": 10003}' + b" " * 100_000, 404)

    with LocalServer(Refusing) as server, pytest.raises(ChatError, match="answered 404") as raised:
        ApiClient(server.address, {}, Event()).get("channels/1")
    assert raised.value.code == "10003"


def test_tokens_are_sent_encrypted_or_not_at_all() -> None:
    with pytest.raises(SettingsError, match="https://"):
        check_address("http://chat.example")
    with pytest.raises(SettingsError, match="wss://"):
        check_address("ws://chat.example", schemes=("wss", "ws"))
    with pytest.raises(SettingsError, match="address such as"):
        ApiClient("chat.example", {}, Event())


def test_a_long_wait_and_a_dead_server_are_errors() -> None:
    with ZulipServer() as server:
        client = ApiClient(server.address, {"Authorization": f"Basic {_basic()}"}, Event())
        server.faults.append((429, {"retry_after": 10_000}))
        with pytest.raises(ChatError, match="wait 10000 s"):
            client.send_form("POST", "api/v1/messages", {})
    with pytest.raises(ChatError, match="does not answer"):
        client.send_form("POST", "api/v1/messages", {})


def _basic() -> str:
    from base64 import b64encode

    return b64encode(f"a:{ChatServer.token}".encode()).decode()


def test_credentials_come_from_the_environment_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ZulipServer.credentials
    with pytest.raises(SettingsError, match="no ZULIP_EMAIL and no ZULIP_API_KEY"):
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
    with pytest.raises(SettingsError, match="ZULIP_API_KEY has characters that no token has"):
        read_credentials(None, tuple(names))


class BotProcess:
    """`askalike bot` in a process of its own."""

    def __init__(self, server: Any, archive: Path, *options: str, **changes: str) -> None:
        command = ["bot", product_of(server), archive, "-r", "bm25", "--address", server.address, *options]
        self._output = archive.parent / f"output-{len(changes)}"
        self.process = PreloadedProcess(command, os.environ | dict(server.credentials) | changes, self._output)

    def __enter__(self) -> "BotProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.stderr.close()

    @property
    def output(self) -> str:
        return self._output.read_text() if self._output.exists() else ""

    @cached_property
    def log(self) -> str:
        """What it has logged until its end."""
        return self.process.stderr.read()


def test_the_command_prints_what_it_would_say_and_ends_when_asked(server: Any, archive: Path) -> None:
    with BotProcess(server, archive, "--min-similarity", "0.3", "--dry-run") as bot:
        wait_for(lambda: server.connections or bot.process.poll() is not None)
        first = server.ask(LOST_CARD)
        wait_for(lambda: "👎" in bot.output)
        bot.process.send_signal(signal.SIGTERM)
        assert bot.process.wait(20) == 0
        assert first in bot.output
        assert "https://desk.example/q/r013" in bot.output
        messages = [json.loads(line)["message"] for line in bot.log.splitlines() if line.startswith("{")]
        assert messages == ["serving", "answering", "ended"]
        assert server.token not in bot.log + bot.output
    assert server.texts() == []
    assert not state_path(archive, product_of(server)).exists()


def test_the_command_says_what_it_lacks(archive: Path) -> None:
    with ZulipServer() as server:
        with BotProcess(server, archive) as bot:
            assert bot.process.wait(30) == 2
            assert "not calibrated" in bot.log.splitlines()[-1]
        with BotProcess(server, archive, "--min-similarity", "0.3", ZULIP_API_KEY="wrong") as bot:
            assert bot.process.wait(30) == 2
            assert bot.log.splitlines()[-1].endswith("answered 401 Invalid API key")
            assert "wrong" not in bot.log
