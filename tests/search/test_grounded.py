"""Grounded answers, written by a small server that speaks OpenAI's chat completions, and misbehaves."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from askalike.core.errors import SettingsError
from askalike.core.records import Question
from askalike.search.archive_retriever import ArchiveRetriever
from askalike.search.grounded import (
    INSTRUCTIONS,
    ChatEndpoint,
    EndpointError,
    check_sentences,
    is_supported,
    write_grounded,
)
from calibration.riverside import riverside
from commands import askalike
from http_servers import LocalServer, QuietHandler

WORDS = "lm_jelinek_mercer"
LOST_CARD = "I have lost my library card"


class ChatServer:
    """Answers with a text, or as `behave` does; `requests` are those that it has had, `key` the last one's."""

    def __init__(self) -> None:
        self.text, self.finish_reason = "", "stop"
        self.behave: Callable[[QuietHandler], None] | None = None
        self.requests: list[dict[str, Any]] = []
        self.key: str | None = None
        chat = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                chat.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                chat.key = self.headers.get("Authorization")
                if chat.behave:
                    chat.behave(self)
                else:
                    message = {"role": "assistant", "content": chat.text}
                    choice = {"index": 0, "message": message, "finish_reason": chat.finish_reason}
                    self.reply(json.dumps({"object": "chat.completion", "choices": [choice]}).encode())

        self.server = LocalServer(Handler)
        self.url = f"{self.server.address}/v1"

    def endpoint(self, timeout_s: float = 30.0) -> ChatEndpoint:
        return ChatEndpoint(self.url, "small", "secret", timeout_s)


@pytest.fixture
def chat() -> Iterator[ChatServer]:
    chat = ChatServer()
    yield chat
    chat.server.server_close()


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return riverside(tmp_path_factory.mktemp("grounded") / "riverside")


@pytest.fixture(scope="module")
def engine(archive: Path) -> Iterator[ArchiveRetriever]:
    with ArchiveRetriever.open(archive, WORDS) as engine:
        yield engine


def ask(engine: ArchiveRetriever, endpoint: ChatEndpoint, title: str = LOST_CARD) -> Any:
    return write_grounded(Question("", title), engine.answer(title, "nearest", 2), endpoint)


def test_supported_sentences_are_kept_alone(engine: ArchiveRetriever, chat: ChatServer) -> None:
    first = engine.answer(LOST_CARD, "nearest", 1).sources[0]
    sentence = first.text.split(". ")[0].rstrip(".")
    chat.text = (
        f"{sentence} [r013]. The mayor eats bananas on Tuesday [r013]. {sentence} [r999]. {sentence}. "
        f"Pay 9999 euros and {sentence.lower()} [r013]."
    )
    grounded = ask(engine, chat.endpoint())
    assert grounded.reply.text == f"{sentence} [r013]."
    assert (grounded.written, grounded.supported, grounded.reply.removed) == (5, 1, 4)
    assert (grounded.reply.generated, grounded.reply.grounded, grounded.reply.model) == (True, True, "small")
    assert [source.question.id for source in grounded.reply.sources] == ["r013"]
    [request] = chat.requests
    assert chat.key == "Bearer secret"
    assert (request["model"], request["messages"][0]["content"]) == ("small", INSTRUCTIONS)
    assert "Source [r013]:" in request["messages"][1]["content"]
    assert request["messages"][1]["content"].endswith(f"Question: {LOST_CARD}")


@pytest.mark.parametrize("status", [302, 307])
def test_redirect_is_an_error_and_reveals_no_key(chat: ChatServer, status: int) -> None:
    other = ChatServer()

    def redirect(handler: QuietHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", f"{other.url}/chat/completions")
        handler.end_headers()

    chat.behave = redirect
    with pytest.raises(EndpointError, match=f"answered {status}"):
        chat.endpoint().complete([{"role": "user", "content": "hello"}])
    other.server.shutdown()
    other.server.server_close()
    assert other.key is None


@pytest.mark.parametrize(
    ("text", "removed"),
    [("NONE", 0), ("NONE.", 0), ("", 0), ("I do not know.", 1), ("Tell us at once [r999]. Bananas [r013].", 2)],
)
def test_it_abstains_where_nothing_is_supported(
    engine: ArchiveRetriever, chat: ChatServer, text: str, removed: int
) -> None:
    chat.text = text
    grounded = ask(engine, chat.endpoint())
    assert grounded.reply.abstained
    assert not grounded.reply.generated
    assert (grounded.reply.sources, grounded.reply.removed, grounded.reply.model) == ((), removed, "small")


def test_below_the_threshold_nobody_is_asked(engine: ArchiveRetriever, chat: ChatServer) -> None:
    grounded = ask(engine, chat.endpoint(), "zyzzyva quux")
    assert grounded.reply.abstained
    assert (chat.requests, grounded.written) == ([], 0)


def test_cut_answer_loses_its_last_sentence_alone(engine: ArchiveRetriever, chat: ChatServer) -> None:
    sentence = engine.answer(LOST_CARD, "nearest", 1).sources[0].text.split(". ")[0].rstrip(".")
    chat.text, chat.finish_reason = f"{sentence} [r013]. {sentence} and", "length"
    assert ask(engine, chat.endpoint()).reply.text == f"{sentence} [r013]."


def drip(handler: QuietHandler) -> None:
    """A byte now and then: no single one is late."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(100):
        time.sleep(0.02)
        try:
            handler.wfile.write(b" ")
        except OSError:
            return


def drip_headers(handler: QuietHandler) -> None:
    """A header now and then: the body never begins."""
    with suppress(OSError):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for n in range(60):
            handler.wfile.write(b"x-%d: y\r\n" % n)
            time.sleep(0.02)


MISBEHAVIOUR: dict[str, tuple[Callable[[QuietHandler], None], str]] = {
    "slow": (lambda handler: time.sleep(1), "sent no complete answer within 0.3 s"),
    "dripping": (drip, "sent no complete answer within 0.3 s"),
    "dripping headers": (drip_headers, "sent no complete answer within 0.3 s"),
    "nested": (lambda handler: handler.reply(b"[" * 100_000 + b"]" * 100_000), "not a chat completion"),
    "cut off": (lambda handler: handler.reply(b'{"choices": [{"mess', content_length="999"), "not a chat completion"),
    "half of JSON": (lambda handler: handler.reply(b'{"choices": [{"mess'), "not a chat completion"),
    "another shape": (lambda handler: handler.reply(b'{"error": "overloaded"}'), "not a chat completion"),
    "no choices": (lambda handler: handler.reply(b'{"choices": []}'), "not a chat completion"),
    "a list": (lambda handler: handler.reply(b"[]"), "not a chat completion"),
    "no text": (
        lambda handler: handler.reply(b'{"choices": [{"message": {"content": null}}]}'),
        "the answer has no text",
    ),
    "an error": (lambda handler: handler.reply(b"", 429), "answered 429"),
    "endless": (lambda handler: handler.reply(b" " * (2 << 20)), "not a chat completion"),
}


@pytest.mark.parametrize("kind", MISBEHAVIOUR)
def test_an_endpoint_that_misbehaves_is_one_clear_error(engine: ArchiveRetriever, chat: ChatServer, kind: str) -> None:
    chat.behave, problem = MISBEHAVIOUR[kind]
    with pytest.raises(EndpointError, match=problem) as error:
        ask(engine, chat.endpoint(0.3 if "0.3" in problem else 30.0))
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)


def test_missing_endpoint_and_impossible_address() -> None:
    with pytest.raises(EndpointError, match="does not answer"):
        ChatEndpoint("http://127.0.0.1:9/v1", "small").complete([])
    with pytest.raises(SettingsError, match="expected an address"):
        ChatEndpoint("file:///etc/passwd", "small")


def test_citations_belong_to_their_sentence_wherever_they_stand() -> None:
    texts = {"1": "Ring the desk at noon.", "2": "Books are due on Monday."}
    checked = check_sentences("Ring the desk at noon. [1] Books are due on Monday [2, 1].\n- Wait [3].", texts)
    assert [(s.text, s.supported_by) for s in checked] == [
        ("Ring the desk at noon.", ("1",)),
        ("Books are due on Monday.", ("2",)),
        ("- Wait.", ()),
    ]


def test_support_needs_most_words_and_all_numbers() -> None:
    text = "The library opens at 9.30 on weekdays and closes at 18."
    assert is_supported("It opens at 9.30 on weekdays.", text)
    assert not is_supported("It opens at 9 on weekdays.", text)
    assert not is_supported("The cinema opens at 9.30 for members and guests.", text)
    assert not is_supported("...", text)


def test_sentence_denying_its_text_is_not_supported() -> None:
    text = "Opening hours\nThe library opens at 9.30 on weekdays. Dogs are not allowed inside. Guests pay a deposit."
    assert is_supported("Dogs are not allowed inside.", text)
    assert not is_supported("Dogs are allowed inside.", text)
    assert not is_supported("The library does not open at 9.30 on weekdays.", text)
    assert not is_supported("Guests never pay a deposit.", text)
    assert is_supported("Tell us at once.", "Tell us at once, so that nobody can borrow with it.")
    german = "Hunde sind drinnen nicht erlaubt."
    assert is_supported(german, german, "de")
    assert not is_supported("Hunde sind drinnen erlaubt.", german, "de")


def test_the_command_labels_what_it_generates(
    archive: Path, engine: ArchiveRetriever, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = engine.answer(LOST_CARD, "nearest", 1).sources[0].text.split(". ")[0].rstrip(".")
    chat.text = f"{sentence} [r013]."
    monkeypatch.setenv("ASKALIKE_ENDPOINT_KEY", "of the environment")
    command = ("answer", archive, LOST_CARD, "-r", WORDS, "--mode", "grounded")
    named = ("--endpoint", chat.url, "--model", "small")
    done = askalike(*command, *named)
    assert done.stdout.startswith("GENERATED by small: a machine wrote this")
    assert chat.key == "Bearer of the environment"
    as_json = json.loads(askalike(*command, *named, "--json").stdout)
    assert (as_json["generated"], as_json["grounded"], as_json["text"]) == (True, True, chat.text)
    chat.text = f"{sentence} [r013]. Bananas are yellow [r013]."
    assert (
        "\n1 sentence of small was left out: no stored answer that it cites says so\n"
        in askalike(*command, *named).stdout
    )
    chat.text = "Bananas are yellow [r013]. So is the sun [r013]."
    reason = "2 sentences of small were left out: no stored answer that it cites says so"
    assert askalike(*command, *named).stdout == f"no answer: {reason}; see the stored answers with --mode nearest\n"
    refused = askalike(*command)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--endpoint" in refused.stderr
