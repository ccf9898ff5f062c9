"""An error message pasted into the search field finds the question that quotes it in a code block."""

import pytest

from askalike import rankers
from askalike.core.config import parse_assignments
from askalike.core.errors import SettingsError
from askalike.core.records import Question
from askalike.store import Archive

REPORTS = {
    "The nightly job stops": "OSError: [Errno 28] No space left on device: '/var/backups/desk.tar'",
    "Printing from the reading room": "lp: Error - no default destination available.",
    "Catalogue does not start after the update": "ModuleNotFoundError: No module named 'catalogue.shelves'",
    "Cannot log in from home": "Permission denied (publickey,keyboard-interactive).",
    "Scanner is not recognised": "scanimage: open of device failed: Invalid argument",
    "Export comes out empty": "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xe4 in position 17",
    "The loans table is locked": "sqlite3.OperationalError: database is locked",
    "Kiosk shows a white page": "Uncaught TypeError: Cannot read properties of undefined (reading 'loans')",
    "Wi-Fi drops every hour": "wlan0: deauthenticated from 02:00:00:00:01:00 (Reason: 15=4WAY_HANDSHAKE_TIMEOUT)",
    "Reminder mails are sent twice": "WARNING: cron entry 'remind' runs in two containers, lock not acquired",
}
"""Title → the message in the question's code block."""
BODY = "<p>{} since this morning, what can I do? It says:</p><pre><code>{}</code></pre><p>We changed nothing.</p>"
PASTED = {
    "OSError: [Errno 28] No space left on device": "The nightly job stops",
    "lp: Error - no default destination available.": "Printing from the reading room",
    "No module named 'catalogue.shelves'": "Catalogue does not start after the update",
    "Permission denied (publickey,keyboard-interactive).": "Cannot log in from home",
    "open of device failed: Invalid argument": "Scanner is not recognised",
    "'utf-8' codec can't decode byte 0xe4": "Export comes out empty",
    "OperationalError database is locked": "The loans table is locked",
    "Cannot read properties of undefined": "Kiosk shows a white page",
    "Reason: 15=4WAY_HANDSHAKE_TIMEOUT": "Wi-Fi drops every hour",
    "lock not acquired": "Reminder mails are sent twice",
}
"""What people paste of it → the title of the question that quotes it."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    with Archive.create(tmp_path_factory.mktemp("errors") / "archive") as archive:
        bodies = {title: BODY.format(title, message) for title, message in REPORTS.items()}
        archive.upsert(Question(title, title, body, "html") for title, body in bodies.items())
        yield archive


def first_hits(archive, ranker, *pairs):
    queries = {text: Question(text, text) for text in PASTED}
    created = rankers.create(ranker, parse_assignments(pairs))
    run = rankers.rank(rankers.open_current(created, archive.view()), queries, 1)
    return {text: run[text][0].id if run[text] else None for text in PASTED}


def count_right(archive, ranker, *pairs):
    hits = first_hits(archive, ranker, *pairs)
    return sum(hits[text] == title for text, title in PASTED.items())


@pytest.mark.parametrize(("ranker", "least"), [("lm_jelinek_mercer", 10), ("bm25", 10), ("hybrid", 9)])
def test_a_pasted_message_finds_its_question_first(archive, ranker, least):
    assert count_right(archive, ranker) >= least


def test_code_is_a_setting_of_all_parts(archive):
    assert count_right(archive, "hybrid", "code=drop") < len(PASTED) / 2
    values = rankers.create("hybrid", {"code": "drop", "static.code": "keep"}).values
    assert (values["code"], values["lm_jelinek_mercer.code"], values["static.code"]) == ("drop", "drop", "keep")


def test_a_part_without_text_takes_no_code(archive):
    values = rankers.create("hybrid", {"parts": "bm25,votes", "code": "drop"}).values
    assert values["bm25.code"] == "drop"
    with pytest.raises(SettingsError, match="code"):
        rankers.create("hybrid", {"code": "some"})


def test_tuning_tries_code_where_there_is_some(archive, tmp_path):
    from askalike.tuning.candidates import tuning_grids

    assert tuning_grids(archive, "bm25", {})[0]["code"] == ("keep", "drop")
    assert "code" not in tuning_grids(archive, "bm25", {"fields": "title"})[0]
    with Archive.create(tmp_path / "plain") as plain:
        plain.upsert([Question("a", "a title", "a body about <code>", "text")])
        assert "code" not in tuning_grids(plain, "bm25", {})[0]
