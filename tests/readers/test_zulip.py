"""Topics of Zulip: its API (zulip.com/api/get-messages, feature level 400), and a data export of version 11."""

import json
from pathlib import Path
from typing import Any

import pytest

from askalike import Archive
from askalike.core.errors import InputError
from askalike.readers import import_archive
from askalike.store.drafts import Draft, list_drafts


def message(id: int, sender: int, topic: str, content: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": id, "type": "stream", "stream_id": 7, "display_recipient": "help", "subject": topic, "content": content,
        "content_type": "text/x-markdown", "sender_id": sender, "sender_email": f"user{sender}@example.org",
        "timestamp": 1767600000 + id, "reactions": [],
    } | fields  # fmt: skip


MESSAGES = [
    message(1, 1, "vpn", "@**Grace|2** how can I reset the VPN? See #**general>x**."),
    message(2, 3, "vpn", "Beep", sender_email="helper-bot@example.org"),
    message(3, 2, "✔ vpn", "<p>Press <b>reset</b>.</p>", content_type="text/html"),
    message(4, 2, "news", "We have moved."),
    message(5, 1, "news", "Where to?"),
    message(6, 1, "private", "Who is asking?", type="private", display_recipient=[{"id": 1}]),
    message(7, 1, "bots", "Does anybody answer?"),
    message(8, 9, "bots", "No.", sender_realm_str="zulipinternal"),
    {"subject": "no id"},
]


def read(tmp_path: Path, *documents: Any, **options: Any) -> tuple[list[Draft], Any]:
    folder = tmp_path / "zulip"
    folder.mkdir(exist_ok=True)
    for n, document in enumerate(documents):
        name = "realm.json" if "zerver_stream" in document else f"messages-{n}.json"
        (folder / name).write_text(json.dumps(document))
    summary = import_archive("zulip", [folder], tmp_path / "desk", options=options)
    with Archive.open(tmp_path / "desk") as archive:
        return list_drafts(archive), summary


def test_topics_of_the_api(tmp_path: Path) -> None:
    [draft], summary = read(tmp_path, {"result": "success", "messages": MESSAGES}, site="https://chat.example.org")
    assert draft.title == "@Grace how can I reset the VPN?"
    assert (draft.body, draft.answer) == ("@Grace how can I reset the VPN? See #general>x.", "Press reset.")
    assert (draft.origin, draft.url) == ("zulip/7/1", "https://chat.example.org/#narrow/channel/7-help/near/1")
    assert (summary.questions, summary.rejected) == (0, 1)
    assert summary.notes == {
        "threads that begin with no question left out": 1, "threads that bots alone answered left out": 1,
        "direct messages, and messages in private channels, left out": 1,
    }  # fmt: skip


@pytest.mark.parametrize("timestamp", [5, 10**40, float("inf"), None, [1]])
def test_a_message_without_a_date_is_rejected(tmp_path: Path, timestamp: Any) -> None:
    drafts, summary = read(tmp_path, {"messages": [*MESSAGES, message(9, 2, "vpn", "Later.", timestamp=timestamp)]})
    assert (len(drafts), summary.rejected) == (1, 2)


def test_people_of_the_api_tell_bots(tmp_path: Path) -> None:
    users = {"members": [{"user_id": 2, "is_bot": True}]}
    drafts, summary = read(tmp_path, users, {"messages": MESSAGES})
    assert (drafts, summary.notes["threads that bots alone answered left out"]) == ([], 2)


def test_a_data_export(tmp_path: Path) -> None:
    realm = {
        "zerver_userprofile": [{"id": 1}, {"id": 2}, {"id": 3, "is_bot": True}],
        "zerver_userprofile_crossrealm": [{"id": 4}],
        "zerver_stream": [{"id": 7, "name": "help me"}, {"id": 8, "name": "board", "invite_only": True}],
        "zerver_recipient": [
            {"id": 70, "type": 2, "type_id": 7},
            {"id": 80, "type": 2, "type_id": 8},
            {"id": 9, "type": 2, "type_id": [7]},
        ],
    }
    rows = [
        {"id": 1, "sender": 1, "recipient": 70, "subject": "t", "content": "Is it open?", "date_sent": 1767600001.5},
        {"id": 2, "sender": 2, "recipient": 70, "subject": "T", "content": "Perhaps.", "date_sent": 1767600002.5},
        {"id": 3, "sender": 2, "recipient": 70, "subject": "t", "content": "Until six.", "date_sent": 1767600003.5},
        {"id": 4, "sender": 1, "recipient": 80, "subject": "t", "content": "Who?", "date_sent": 1767600004.5},
        {"id": 5, "sender": 4, "recipient": 70, "subject": "u", "content": "Any bot?", "date_sent": 1767600005.5},
    ]
    export = {
        "zerver_message": rows,
        "zerver_reaction": [{"message": 3, "emoji_name": ["check"]}, {"message": 3, "emoji_name": "check"}],
    }
    [draft], summary = read(tmp_path, realm, export, channels="help me")
    assert (draft.title, draft.body, draft.answer) == ("Is it open?", "", "Until six.")
    assert summary.notes["threads that a bot began left out"] == 1
    assert summary.notes["direct messages, and messages in private channels, left out"] == 1


def test_responses_that_are_errors_or_cut_short(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Invalid API key; expected a response of Zulip's API"):
        read(tmp_path, {"result": "error", "msg": "Invalid API key"})
    (tmp_path / "zulip" / "messages-0.json").write_text(json.dumps({"messages": MESSAGES})[:200])
    with pytest.raises(InputError, match="messages-0.json.*cut short"):
        import_archive("zulip", [tmp_path / "zulip"], tmp_path / "desk")
