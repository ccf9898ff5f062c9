"""Exports of Slack ("How to read Slack data exports", slack.com/help, 2026): JSON files, a folder for each channel."""

import json
from pathlib import Path
from typing import Any

import pytest
from imported import Refusing

from askalike import Archive
from askalike.core.errors import InputError, SettingsError
from askalike.readers import import_archive
from askalike.readers._threads import find_question
from askalike.store.drafts import accept_draft, list_drafts, reject_draft

USERS = [
    {"id": "U1", "name": "ada", "profile": {"display_name": "Ada"}}, {"id": "U2", "name": "grace", "profile": {}},
    {"id": "U3", "name": "bob", "is_bot": True, "profile": {}},
]  # fmt: skip

SOLVED = [{"name": "white_check_mark", "count": 1}]
ROOT = "1767600000.000100"


def message(ts: str, user: str, text: str, thread: str = "", **fields: Any) -> dict[str, Any]:
    root = {"thread_ts": thread} if thread else {}
    return {"type": "message", "user": user, "text": text, "ts": ts, **root, **fields}


DAYS = {
    "2026-01-05": [
        message(ROOT, "U1", "Hi all! <@U2> How do I reset my <#C9|vpn> &amp; token? It says `E12?`", ROOT),
        message("1767600010.000200", "U3", "I am a bot.", ROOT),
        message("1767600020.000300", "U2", "See <https://wiki.example.org/vpn|the wiki>.", ROOT),
        message("1767600030.000400", "U1", "Thanks!", ROOT),
        message("1767600040.000500", "U2", "Deploying now.", "1767600040.000500"),
        message("1767600050.000600", "U1", "ok", "1767600040.000500"),
        message("1767600060.000700", "U3", "Any blockers today?", "1767600060.000700"),
        message("1767600070.000800", "U1", "none", "1767600060.000700"),
        message("1767600080.000900", "U1", "Is anybody there?", "1767600080.000900"),
        message("1767600090.001000", "U3", "Beep.", "1767600080.000900"),
        message("1767600095.001000", "U1", "Nobody replied in a thread?"),
        {"type": "message", "subtype": "channel_join", "user": "U1", "ts": "1767600096.0", "text": "joined"},
    ],
    "2026-01-06": [
        message("1767700000.000100", "U2", "Online.", ROOT, reactions=[{"name": ["no name"]}, *SOLVED]),
        message("1767700100.000100", "U2", "how do I print", "1767700100.000100", reply_count=1),
        message("1767700200.000100", "U1", "Use the queue.", "1767700100.000100"),
        message("1767700300.000100", "U1", "Whose root is elsewhere", "1700000000.000100"),
        "no message",
    ],
}  # fmt: skip


@pytest.fixture
def export(tmp_path: Path) -> Path:
    folder = tmp_path / "acme"
    (folder / "help").mkdir(parents=True)
    (folder / "D1").mkdir()
    (folder / "channels.json").write_text(json.dumps([{"id": "C1", "name": "help"}, {"id": "C2", "name": "empty"}]))
    (folder / "dms.json").write_text(json.dumps([{"id": "D1"}]))
    (folder / "users.json").write_text(json.dumps(USERS))
    (folder / "D1" / "2026-01-05.json").write_text(json.dumps(DAYS["2026-01-05"]))
    for day, messages in DAYS.items():
        (folder / "help" / f"{day}.json").write_text(json.dumps(messages))
    return folder


def test_threads_beginning_with_a_question_are_drafts(export: Path, tmp_path: Path) -> None:
    summary = import_archive("slack", [export], tmp_path / "desk", options={"workspace": "https://acme.slack.com/"})
    assert (summary.questions, summary.rejected, summary.changes["drafts"]["added"]) == (0, 1, 2)
    assert summary.notes == {
        "threads that begin with no question left out": 1, "threads that a bot began left out": 1,
        "threads that bots alone answered left out": 1,
    }  # fmt: skip
    with Archive.open(tmp_path / "desk") as archive:
        vpn, printing = sorted(list_drafts(archive), key=lambda draft: draft.number or 0)
        assert len(archive.view()) == 0
        assert vpn.title == "@grace How do I reset my #vpn & token?"
        assert vpn.body == "Hi all! @grace How do I reset my #vpn & token? It says `E12?`"
        assert (vpn.answer, vpn.source_ids) == ("Online.", ())  # what was marked as the solution
        assert (vpn.origin, vpn.url) == (
            "acme/C1/1767600000.000100", "https://acme.slack.com/archives/C1/p1767600000000100",
        )  # fmt: skip
        assert (printing.title, printing.body, printing.answer) == ("how do I print", "", "Use the queue.")


def test_channel_is_a_folder_whatever_its_name(export: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "2026-01-05.json").write_text(json.dumps(DAYS["2026-01-05"]))
    names = ("../elsewhere", str(tmp_path / "elsewhere"), "x" * 5_000, "", "\0", "help")
    (export / "channels.json").write_text(json.dumps([{"id": f"C{n}", "name": name} for n, name in enumerate(names)]))
    summary = import_archive("slack", [export], tmp_path / "desk")
    assert summary.changes["drafts"]["added"] == 2
    (export / "channels.json").write_text("[" * 100_000)
    with pytest.raises(InputError, match=r"channels\.json: cannot be read"):
        import_archive("slack", [export], tmp_path / "desk")


@pytest.mark.parametrize("ts", ["99999999999999", "5", "soon", None])
def test_a_message_without_a_date_is_rejected(export: Path, tmp_path: Path, ts: Any) -> None:
    (export / "help/2026-01-07.json").write_text(json.dumps([message(ts, "U2", "At the desk.", ROOT)]))
    summary = import_archive("slack", [export], tmp_path / "desk")
    assert (summary.rejected, summary.changes["drafts"]["added"]) == (2, 2)


@pytest.mark.parametrize("mark", ["?", "？", "\u037e"])
def test_question_marks_of_several_scripts(mark: str) -> None:
    assert find_question(f"Καλημέρα. Πού είναι{mark}") == f"Πού είναι{mark}"


def test_a_second_export_updates_open_drafts_alone(export: Path, tmp_path: Path) -> None:
    import_archive("slack", [export], tmp_path / "desk")
    with Archive.open(tmp_path / "desk") as archive:
        question = accept_draft(archive, 1, title="How do I reset the VPN?", rephrasings=["Reset VPN"])
        assert question.rephrasings == ("Reset VPN",)
    day = export / "help" / "2026-01-06.json"
    later = message("1767700400.000100", "U1", "Or by mail.", "1767700100.000100")
    day.write_text(json.dumps([*DAYS["2026-01-06"], later]))
    changes = import_archive("slack", [export], tmp_path / "desk", dry_run=True).changes
    assert changes == import_archive("slack", [export], tmp_path / "desk").changes
    assert changes["drafts"] == {"added": 0, "updated": 1, "unchanged": 1, "removed": 0}
    with Archive.open(tmp_path / "desk") as archive:
        [draft] = list_drafts(archive)
        assert draft.answer == "Use the queue.\n\nOr by mail."
        reject_draft(archive, draft.number or 0)
    assert import_archive("slack", [export], tmp_path / "desk").changes["drafts"]["unchanged"] == 2


def test_only_threads_that_went_on_since(export: Path, tmp_path: Path) -> None:
    summary = import_archive("slack", [export], tmp_path / "desk", options={"since": "2026-01-07"})
    assert (summary.changes["drafts"]["added"], summary.notes["older than --since left out"]) == (0, 3)


def test_an_export_without_users(export: Path, tmp_path: Path) -> None:
    (export / "users.json").unlink()
    summary = import_archive("slack", [export], tmp_path / "desk")
    assert (
        summary.notes["exports without users.json (people have no names, and bots are known by their messages alone)"]
        == 1
    )
    with Archive.open(tmp_path / "desk") as archive:
        assert "@someone How do I reset my #vpn & token?" in [draft.title for draft in list_drafts(archive)]


@pytest.mark.parametrize(
    ("break_export", "options", "error", "problem"),
    [
        (lambda e: (e / "channels.json").unlink(), {}, InputError, "no channels.json in it; expected the folder of a"),
        (lambda e: None, {"channels": "help,secret"}, SettingsError, "secret: no public channel of that name; there"),
        (
            lambda e: (e / "help" / "2026-01-06.json").write_text('[{"ts": "1'), {}, InputError,
            "2026-01-06.json.*cut short",
        ),
    ],
)  # fmt: skip
def test_exports_that_cannot_be_read(
    export: Path, expect_refusal: Refusing, break_export, options, error, problem
) -> None:
    break_export(export)
    expect_refusal(problem, "slack", export, error=error, **options)


def test_a_zip_is_to_be_unpacked_first(expect_refusal: Refusing, tmp_path: Path) -> None:
    (tmp_path / "export.zip").write_bytes(b"PK\x03\x04")
    expect_refusal("is not a folder; unpack it", "slack", tmp_path / "export.zip")
