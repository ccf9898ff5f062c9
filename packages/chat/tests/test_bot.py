"""Bots for chats, against a real service, and small servers that speak the products' protocols and misbehave."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from askalike.store import Archive
from askalike.store.drafts import list_drafts
from askalike.store.feedback import read_verdicts
from askalike_chat.bot import Bot, format_answer
from askalike_chat.chat import Chat
from askalike_chat.command import chat_class
from askalike_chat.errors import RefusedBotError
from askalike_chat.service import Hit, Service as Client
from chat_servers import BOT, HELPER, OTHER_BOT, DiscordServer, SlackServer, SocketServer, ZulipServer
from commands import run_command
from conftest import KINDS
from running import LATE_BOOK, LOST_CARD, OFF_TOPIC, bot_for, product_of, settle
from service.serving import Service, create_key
from waiting import wait_for

SOCKETS = [name for name, kind in KINDS.items() if issubclass(kind, SocketServer)]


def test_new_thread_is_answered_once_with_a_reason(server: Any, desk: Service, tmp_path: Path) -> None:
    with bot_for(server, desk, tmp_path / "state.jsonl"):
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
    assert "library" not in (tmp_path / "state.jsonl").read_text()


def server_event(server: Any, first: str) -> Any:
    """The event of a message again, as after a lost acknowledgement."""
    message = server.find(first)
    if isinstance(server, ZulipServer):
        return {"type": "message", "message": message}
    if isinstance(server, SlackServer):
        return {**message, "channel": "C7", "channel_type": "channel"}
    return "MESSAGE_CREATE", {**message, "guild_id": "1"}


def test_it_is_silent_off_topic_and_to_bots(server: Any, desk: Service) -> None:
    with bot_for(server, desk):
        server.ask(OFF_TOPIC)
        server.ask(LOST_CARD, private=True)
        server.ask(LOST_CARD, OTHER_BOT)
        server.ask(LOST_CARD, BOT)
        own = len(server.texts())
        server.ask("Good morning, my library card!")
        server.ask("")
        settle(server)
        assert len(server.texts()) == own + 1


def test_no_thread_is_answered_twice_after_restart(server: Any, desk: Service, tmp_path: Path) -> None:
    with bot_for(server, desk, tmp_path / "state.jsonl"):
        first = server.ask(LOST_CARD)
        wait_for(server.texts)
    server.connections = 0
    with bot_for(server, desk, tmp_path / "state.jsonl"):
        server.emit(server_event(server, first))
        settle(server)
        assert len(server.texts()) == 2


def test_what_is_remembered_has_no_texts(server: Any, desk: Service, tmp_path: Path) -> None:
    with bot_for(server, desk, tmp_path / "state.jsonl"):
        server.ask(LOST_CARD)
        wait_for(server.texts)
        answer = next(server.id_of(m) for m in server.messages if server.is_ours(m))
        server.react(answer, "👍", 2)
        settle(server)
    text = (tmp_path / "state.jsonl").read_text()
    [line, *_] = [json.loads(line) for line in text.splitlines()]
    assert set(line) == {"thread", "channel", "first", "shown", "answer", "withdrawn", "verdicts"}
    assert "card" not in text


def verdicts_in(service: Service) -> list[tuple[str, str, bool]]:
    with Archive.open(service.archive_path) as opened:
        return [(v.query.title, v.document_id, v.relevant) for v in read_verdicts(opened)]


def test_reactions_are_feedback_once_a_person(server: Any, desk: Service) -> None:
    before = verdicts_in(desk)
    with bot_for(server, desk):
        server.ask(LOST_CARD)
        wait_for(server.texts)
        answer = next(server.id_of(m) for m in server.messages if server.is_ours(m))
        for emoji, person in (("👍", 2), ("👍", 2), ("👎", HELPER), ("🎉", 2), ("👍", BOT)):
            server.react(answer, emoji, person)
        settle(server)
    title = "What should I do?"
    assert sorted(verdicts_in(desk)) == sorted([*before, (title, "r013", False), (title, "r013", True)])


def drafts_in(service: Service, origin: str) -> list[Any]:
    with Archive.open(service.archive_path) as opened:
        return [draft for draft in list_drafts(opened) if draft.origin == origin]


def test_check_mark_keeps_the_thread_as_a_draft(server: Any, desk: Service) -> None:
    with bot_for(server, desk):
        first = server.ask("Where do I find the minutes of the chess club?")
        helpful = server.reply(first, "In the blue folder.")
        server.reply(first, "Yes, there.", OTHER_BOT)
        server.react(first, "✅")
        server.react(helpful, "✅")
        server.react(helpful, "✅", HELPER)
        own = server.ask("Why zorble a quexly?")
        server.react(server.reply(own, "I know it now.", 2), "✅")
        settle(server)
    channel = {"slack": "C7"}.get(product_of(server), "7")
    [draft] = drafts_in(desk, f"{product_of(server)}/{channel}/{first}")
    assert drafts_in(desk, f"{product_of(server)}/{channel}/{own}") == []
    assert (draft.title, draft.answer) == ("Where do I find the minutes of the chess club?", "In the blue folder.")
    assert draft.url
    assert draft.url.startswith(("http", "https"))


def test_edits_change_the_answer_and_deletions_remove_it(server: Any, desk: Service) -> None:
    with bot_for(server, desk):
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


def test_a_removed_answer_is_not_written_again(server: Any, desk: Service) -> None:
    with bot_for(server, desk):
        first = server.ask(LOST_CARD)
        wait_for(server.texts)
        server.delete(next(server.id_of(m) for m in server.messages if server.is_ours(m)))
        server.edit(first, LATE_BOOK)
        settle(server)
        assert len(server.texts()) == 1


def test_rate_limits_are_obeyed_without_repeated_answers(server: Any, desk: Service) -> None:
    with bot_for(server, desk):
        server.faults += [(429, {"retry_after": 0.01}), (429, "no JSON object"), (500, None)]
        failing = server.ask(LOST_CARD)
        wait_for(lambda: not server.faults)
        server.emit(server_event(server, failing))
        settle(server)
        assert len(server.texts()) == 1


def test_it_connects_again_after_a_loss(server: Any, desk: Service) -> None:
    with bot_for(server, desk):
        for n in range(1, 4):
            server.disconnect()
            wait_for(lambda n=n: server.connections == n + 1)  # type: ignore[misc]
            server.ask(LOST_CARD)
            wait_for(lambda n=n: len(server.texts()) == n)  # type: ignore[misc]


def test_odd_events_change_nothing(server: Any, desk: Service) -> None:
    with bot_for(server, desk):
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


def test_refused_token_ends_the_bot_with_one_line(server: Any, desk: Service) -> None:
    server.is_locked_out = True
    with bot_for(server, desk) as ended:
        [error] = wait_for(lambda: ended)
    assert isinstance(error, RefusedBotError)
    assert server.token not in str(error)


@pytest.mark.parametrize("product", SOCKETS)
def test_each_event_is_acknowledged(product: str, desk: Service) -> None:
    with KINDS[product]() as running, bot_for(running, desk):
        server: Any = running
        server.ask(OFF_TOPIC)
        sent = {"slack": "envelope_id", "discord": "op"}[product]
        wait_for(lambda: any(sent in message for message in server.received))
        settle(server)


def test_slack_may_reconnect_or_switch_it_off(desk: Service) -> None:
    with SlackServer() as server, bot_for(server, desk) as ended:
        server.send_raw({"type": "disconnect", "reason": "refresh_requested"})
        wait_for(lambda: server.connections == 2)
        settle(server)
        server.send_raw({"type": "disconnect", "reason": "link_disabled"})
        [error] = wait_for(lambda: ended)
        assert "Socket Mode" in str(error)


def test_discord_resumes_its_session_until_it_is_invalid(desk: Service) -> None:
    with DiscordServer() as server, bot_for(server, desk) as ended:
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


def test_forum_post_is_asked_by_its_title(desk: Service) -> None:
    with DiscordServer() as server, bot_for(server, desk):
        post = server.post("I have lost my library card", "Since yesterday.")
        [text] = wait_for(server.texts)
        assert "r013" in text
        server.react(server.reply(post, "Tell the desk."), "✅")
        settle(server)
        [draft] = drafts_in(desk, f"discord/9/{post}")
        assert (draft.title, draft.body) == ("I have lost my library card", "Since yesterday.")
        assert draft.url == f"https://discord.com/channels/1/{post}/{post}"


def test_old_messages_are_not_answered(desk: Service) -> None:
    with ZulipServer() as server, bot_for(server, desk):
        old = server.ask(OFF_TOPIC)
        server.find(old)["timestamp"] = int(time.time()) - 7200
        server.edit(old, LOST_CARD)
        settle(server)
        assert len(server.texts()) == 1


def make_chat(product: Any) -> Chat:
    async def make() -> Chat:
        async with ClientSession() as session:
            return chat_class(product)(session, "https://h.example", KINDS[product].credentials)

    return asyncio.run(make())


@pytest.mark.parametrize(("probability", "words"), [
    (0.97, "Almost certainly the same question (97 %)"), (0.5, "Likely the same question (50 %)"),
    (0.3, "Possibly the same question (30 %)"),
])  # fmt: skip
@pytest.mark.parametrize(("product", "named"), [
    ("zulip", "[@\u200b∗∗all∗∗ (x)](https://h.example/a%28b%29)"),
    ("slack", "<https://h.example/a%28b%29|@**all** [x]>"),
    ("discord", "[@\u200b∗∗all∗∗ (x)](https://h.example/a%28b%29)"),
])  # fmt: skip
def test_answer_says_its_likelihood_and_mentions_nobody(
    product: Any, named: str, probability: float, words: str
) -> None:
    hit = Hit(id="q", title="@**all** [x]", probability=probability, solution="was solved in 2.1", main_words=("card",))
    text = format_answer(make_chat(product), hit, "https://h.example/a(b)")
    assert named in text
    assert f"{words}: both say card; was solved in 2.1." in text


def test_answer_tells_shared_words_from_similar_ones() -> None:
    similar = "bike ≈ bicycle"
    for words, expected in ((("card", similar), "both say card"), ((similar,), "its meaning is close")):
        answer = format_answer(make_chat("slack"), Hit(id="q", title="lost", main_words=words), None)
        assert f": {expected}; {similar}." in answer


def test_question_without_an_address_is_linked_in_service() -> None:
    async def links(address: str, page: str | None) -> str | None:
        async with ClientSession() as session:
            return Client(session, address).link("a/1", page)

    public, local = "https://q.example/a/desk", "http://127.0.0.1:8080/a/desk"
    assert asyncio.run(links(f"{public}/", None)) == f"{public}/questions/a%2F1"
    assert asyncio.run(links("https://q.example/v1/desk", None)) == f"{public}/questions/a%2F1"
    assert asyncio.run(links(local, f"{public}/")) == f"{public}/questions/a%2F1"
    assert asyncio.run(links(local, None)) is None
    hit = Hit(id="a/1", title="Title", probability=0.9)
    assert "[Title](https://q.example/1)" in format_answer(make_chat("zulip"), hit, "https://q.example/1")
    assert "asked before: Title\n" in format_answer(make_chat("zulip"), hit, None)


def test_message_becomes_no_mention_and_no_link(desk: Service) -> None:
    with SlackServer() as server, bot_for(server, desk):
        first = server.ask(LOST_CARD)
        wait_for(server.texts)
        server.edit(first, LATE_BOOK)
        wait_for(lambda: any("r013" not in text for text in server.texts()))
    assert {fields["parse"] for fields in server.written} == {"none"}
    assert len(server.written) == 2


@pytest.mark.parametrize("interval", ["NaN", "0", "-5", "1e300", "-Infinity", '"x"', "null"])
def test_missing_heartbeat_ends_the_connection_alone(desk: Service, interval: str) -> None:
    with DiscordServer() as server:
        server.intervals.append(interval)
        with bot_for(server, desk):
            wait_for(lambda: server.connections == 2)
            settle(server)
        assert len([message for message in server.received if message["op"] == 2]) == 1


def test_fault_is_logged_and_the_next_event_taken(
    desk: Service, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, failures = Bot._search, [KeyError("a mistake")]

    async def fail_once(self: Bot, message: Any) -> Any:
        if failures:
            raise failures.pop()
        return await search(self, message)

    monkeypatch.setattr(Bot, "_search", fail_once)
    with ZulipServer() as server, bot_for(server, desk):
        server.ask(LOST_CARD)
        settle(server)
        assert len(server.texts()) == 1
    [record] = [record for record in caplog.records if record.exc_info]
    assert "a mistake" in str(record.exc_info and record.exc_info[1])


def test_a_service_that_starts_again_is_waited_for(archive: Path, serve: Callable[..., Service]) -> None:
    service = serve(archive)
    with ZulipServer() as server, bot_for(server, service):
        settle(server)
        service.end()
        server.ask(LOST_CARD)
        serve(archive, "--port", str(service.url.port))
        wait_for(lambda: len(server.texts()) == 2)


def test_a_service_that_keeps_nothing_gets_no_words(archive: Path, serve: Callable[..., Service]) -> None:
    service = serve(archive, "--set", "keep_days=0")
    with ZulipServer() as server, bot_for(server, service):
        first = server.ask(LOST_CARD)
        wait_for(server.texts)
        server.react(next(server.id_of(m) for m in server.messages if server.is_ours(m)), "👍")
        server.react(server.reply(first, "Tell the desk."), "✅")
        settle(server)
    assert verdicts_in(service) == drafts_in(service, f"zulip/7/{first}") == []


def test_separate_keys_read_answers_and_keep_drafts(
    archive: Path, serve: Callable[..., Service], caplog: pytest.LogCaptureFixture
) -> None:
    keys = {scope: create_key(archive, scope) for scope in ("read", "write")}
    service = serve(archive, "--set", "require_keys=true")
    with ZulipServer() as server:
        with bot_for(server, service, key="ask_no_key") as ended:
            server.ask(LOST_CARD)
            [error] = wait_for(lambda: ended)
        assert isinstance(error, RefusedBotError)
        assert "this key is unknown or revoked" in str(error)
        for scope, n_drafts in (("read", 0), ("write", 1)):
            server.connections = 0
            with bot_for(server, service, key=keys[scope]):
                settle(server)
                first = server.ask("Where do I find the minutes of the chess club?")
                server.react(server.reply(first, "In the blue folder."), "✅")
                settle(server)
            assert len(drafts_in(service, f"zulip/7/{first}")) == n_drafts
    refused = [record.fields["error"] for record in caplog.records if record.message == "an event had no effect"]  # type: ignore[attr-defined]
    assert len(refused) == 1
    assert "needs write" in refused[0]


def test_a_calibrated_archive_answers_what_is_likely(archive: Path, serve: Callable[..., Service]) -> None:
    calibrated = run_command("calibrate", archive, "-r", "bm25", "--prevalence", "0.3")
    assert calibrated[0] == 0, calibrated
    service = serve(archive)
    with ZulipServer() as server, bot_for(server, service, without=()):
        server.ask(OFF_TOPIC)
        server.ask("I have lost my library card?")
        [text] = wait_for(server.texts)
        assert "the same question (" in text
    with ZulipServer() as server, bot_for(server, service, min_probability=1.0):
        server.ask("I have lost my library card?")
        server.ask("Is the reading room open?")
        wait_for(lambda: server.events == [] and len(server.requests) > 3)
        assert server.texts() == []
