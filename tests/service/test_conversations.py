"""`drafts`: conversations become the drafts of an import, or are left out with the reason."""

from typing import Any

import pytest
from serving import Service

from askalike.store import Archive
from askalike.store.drafts import list_drafts

DRAFTS = "/v1/riverside/drafts"
ASKED = {"text": "Hello! Where do I find the minutes of the chess club?", "author": "ann"}
ANSWERED = {"text": "In the blue folder.", "author": "ben"}


def thread(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"source": "chat", "id": "7/102", "messages": list(messages), **fields}


def test_thread_is_a_draft_and_updates_it(service: Service) -> None:
    url = "https://chat.example/7/102"
    assert service.send("POST", DRAFTS, thread(ASKED, ANSWERED, url=url)).json == {"effect": "added", "reason": None}
    assert service.send("POST", DRAFTS, thread(ASKED, ANSWERED, url=url)).json["effect"] == "unchanged"
    solved = {"text": "On the shelf.", "author": "eve", "is_solution": True}
    assert service.send("POST", DRAFTS, thread(ASKED, ANSWERED, solved, url=url)).json["effect"] == "updated"
    with Archive.open(service.archive_path) as opened:
        [draft] = list_drafts(opened)
    assert (draft.origin, draft.url, draft.state) == ("chat/7/102", url, "open")
    assert (draft.title, draft.body) == ("Where do I find the minutes of the chess club?", ASKED["text"])
    assert draft.answer == "On the shelf."


@pytest.mark.parametrize(("messages", "reason"), [
    ([{"text": "Good evening", "author": "ann"}, ANSWERED], "threads that begin with no question left out"),
    ([ASKED | {"is_bot": True}, ANSWERED], "threads that a bot began left out"),
    ([ASKED], "threads that nobody answered left out"),
    ([ASKED, ANSWERED | {"author": "ann"}], "threads that nobody answered left out"),
    ([ASKED, ANSWERED | {"is_bot": True}], "threads that bots alone answered left out"),
])  # fmt: skip
def test_what_is_no_answered_question_is_left_out(service: Service, messages: list[Any], reason: str) -> None:
    sent = service.send("POST", DRAFTS, thread(*messages, id="left out"))
    assert (sent.status, sent.json) == (200, {"effect": "left_out", "reason": reason})


def test_a_title_is_the_question(service: Service) -> None:
    begun = {"text": "Since yesterday.", "author": "ann"}
    sent = service.send("POST", DRAFTS, thread(begun, ANSWERED, id="titled", title="I have lost my card"))
    assert sent.json["effect"] == "added"
    with Archive.open(service.archive_path) as opened:
        [draft] = [draft for draft in list_drafts(opened) if draft.origin == "chat/titled"]
    assert (draft.title, draft.body) == ("I have lost my card", "Since yesterday.")


def test_keeping_nothing_is_honoured(serve, archive) -> None:
    served = serve(archive, options=("--set", "keep_days=0"))
    assert served.send("POST", DRAFTS, thread(ASKED, ANSWERED)).json["effect"] == "left_out"
    with Archive.open(archive) as opened:
        assert list_drafts(opened) == []


@pytest.mark.parametrize("fields", [
    {"source": ""}, {"source": "a/b"}, {"id": ""}, {"url": "javascript:x"}, {"messages": []}, {"title": ""},
])  # fmt: skip
def test_odd_threads_are_refused(service: Service, fields: dict[str, Any]) -> None:
    assert service.send("POST", DRAFTS, thread(ASKED, ANSWERED) | fields).status == 422
