"""What people posted, and where: how long it stays, and that it is then in no file of the archive.

Each row of the table in docs/threats.md has a test, here or in the file that ROWS names.
"""

import json
import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import rmtree
from types import SimpleNamespace

import numpy as np
import pytest

from askalike import Answer, Archive, EvaluationQuery, Question, distil
from askalike.calibration.calibrate import calibrate
from askalike.encoders import VectorCache
from askalike.export import export_archive
from askalike.moderation import gaps
from askalike.moderation.drafts import find_drafts
from askalike.rankers import create
from askalike.readers import import_archive
from askalike.store.backup import backup
from askalike.store.candidate_pairs import CandidatePair, add_proposals
from askalike.store.drafts import ThreadDraft, accept_draft, get_draft, list_drafts, put_asked, put_thread, reject_draft
from askalike.store.editing import put_records
from askalike.store.keys import create_key, list_keys, revoke_key
from askalike.store.query_log import LoggedQuery, insert_feedback, log_query
from askalike.store.retention import (
    KeepsNothingError,
    delete_containing,
    delete_expired,
    delete_older_than,
    get_keep_days,
    overwrite_deleted,
    set_keep_days,
)
from calibration.riverside import riverside
from commands import askalike
from database import run_sql
from needs import need
from small_models import WORDS, write_encoder

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "threats.md"
OWN = "tests/store/test_retention.py"
ACTION = "tests/deploy/test_github_action.py"
OPENSEARCH, BOT = "packages/opensearch/tests/test_commands.py", "packages/chat/tests/test_bot.py"
ROWS = {
    "complete queries": f"{OWN}::test_queries_feedback_and_drafts_leave_all_files",
    "feedback": f"{OWN}::test_queries_feedback_and_drafts_leave_all_files",
    "drafts of posted questions": f"{OWN}::test_queries_feedback_and_drafts_leave_all_files",
    "drafts of chat threads": f"{OWN}::test_a_purged_thread_is_not_imported_again",
    "drafts of recurring questions": f"{OWN}::test_draft_is_deleted_and_found_again",
    "questions and answers": f"{OWN}::test_deleted_question_leaves_all_files",
    "earlier texts": f"{OWN}::test_deleted_question_leaves_all_files",
    "likely duplicates": f"{OWN}::test_pairs_and_ignored_gaps_have_no_texts",
    "ignored gaps": f"{OWN}::test_pairs_and_ignored_gaps_have_no_texts",
    "keys and sessions": f"{OWN}::test_a_revoked_key_stays_without_its_secret",
    "evaluation sets": f"{OWN}::test_evaluation_queries_stay_with_the_archive",
    "daily counts": "tests/store/test_feedback.py::test_nothing_but_day_event_and_count_is_stored",
    "rejected rows": f"{OWN}::test_rejected_rows_stay_until_the_next_import",
    "the words of an index": f"{OWN}::test_index_without_its_folder_is_rebuilt",
    "vectors": f"{OWN}::test_the_file_of_vectors_has_no_texts",
    "calibrations": f"{OWN}::test_a_calibration_has_no_texts",
    "trained models": f"{OWN}::test_a_model_has_words_and_no_texts",
    "the log": "tests/service/test_requests.py::test_the_log_has_no_text_by_default",
    "the memory of the service": f"{OWN}::test_the_cache_of_gaps_forgets",
    "the cache of a site's responses": f"{OWN}::test_responses_are_in_the_folder_that_is_named",
    "the archive of the GitHub action": f"{ACTION}::test_the_state_has_lines_that_many_issues_share",
    "an OpenSearch cluster (`--engine`)": f"{OPENSEARCH}::test_status_tells_lag_and_drop_removes_everything",
    "the file of a bot (`--state`)": f"{BOT}::test_what_is_remembered_has_no_texts",
    "backups and exports": f"{OWN}::test_later_backups_and_exports_have_what_is_left",
}
MARKER = "SECRETMARKER"


def test_each_row_of_the_table_has_a_test() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## What is stored about people")[2].partition("\n## ")[0]
    rows = [row.partition(" | ")[0].removeprefix("| ") for row in section.splitlines() if row.startswith("| ")]
    assert rows[1:] == list(ROWS)
    for file, _, name in (test.partition("::") for test in ROWS.values()):
        assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.M), name


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive.create(tmp_path / "desk") as archive:
        yield archive


def marked_files(folder: Path) -> list[str]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return sorted(file.name for file in files if MARKER.encode() in file.read_bytes())


def put_everything(archive: Archive, word: str = MARKER) -> None:
    query = LoggedQuery(f"Where do I park my {word}?", f"I am Ann, ann@example.org {word}", (), "bm25")
    log_query(archive, query)
    insert_feedback(archive, query, "none_of_these", None)
    put_asked(archive, query.title, query.body)
    put_thread(
        archive, "slack/C1/1", ThreadDraft("C1/1", query.title, query.body, f"By the {word}", f"https://x/{word}")
    )


DELETIONS = {
    "text": lambda archive: delete_containing(archive, " ANN@example.org "),
    "days": lambda archive: delete_older_than(archive, 0),
    "command": lambda archive: askalike("purge", archive.path, "--text", "Ann@example.org"),
    "keep": lambda archive: askalike("purge", archive.path, "--keep-days", "0"),
    "decisions": lambda archive: (
        [reject_draft(archive, draft.number or 0) for draft in list_drafts(archive)] + [delete_older_than(archive, 0)]
    ),
}


@pytest.mark.parametrize("way", DELETIONS)
def test_queries_feedback_and_drafts_leave_all_files(archive: Archive, way: str) -> None:
    put_everything(archive)
    put_thread(archive, "slack/C1/1", ThreadDraft("C1/1", f"Edited {MARKER}", "ann@example.org", "", None))
    assert marked_files(archive.path)
    DELETIONS[way](archive)
    assert marked_files(archive.path) == []
    assert list_drafts(archive) == []


def test_many_drafts_of_all_sizes_leave_all_files(archive: Archive) -> None:
    chance = random.Random(5)
    for n in range(150):
        text = f"{MARKER} " * chance.choice((1, 20, 200, 2_000))
        put_thread(archive, f"zulip/{chance.randrange(60)}", ThreadDraft("1", f"How {n}?", text, text))
        put_asked(archive, f"Why {n}?", text)
    for draft in chance.sample(list_drafts(archive), 60):
        reject_draft(archive, draft.number or 0)
    accept_draft(archive, list_drafts(archive)[0].number or 0, title="Why?", body="", answer="So.", rephrasings=())
    deleted = delete_containing(archive, MARKER)
    assert (deleted.drafts > 60, deleted.is_overwritten) == (True, True)
    assert marked_files(archive.path) == []


def test_a_decided_draft_has_no_texts(archive: Archive) -> None:
    put_everything(archive)
    question = accept_draft(
        archive, 1, "kim", title="Where do boats park?", body="", answer="At the pier.", rephrasings=()
    )
    reject_draft(archive, 2, "kim")
    for number in (1, 2):
        draft = get_draft(archive, number)
        assert (draft.title, draft.body, draft.answer, draft.rephrasings, draft.url) == ("", "", "", (), None)
        assert (draft.decided_by, bool(draft.origin)) == ("kim", True)
    assert archive.view().get_questions([question.id])[question.id].title == "Where do boats park?"
    delete_older_than(archive, 0)
    assert marked_files(archive.path) == []


def test_texts_of_earlier_versions_drafts_are_deleted(archive: Archive) -> None:
    put_everything(archive)
    run_sql(archive, "UPDATE drafts SET state = 'rejected', decided_at = '2026'")
    assert delete_expired(archive).drafts == 2
    assert get_draft(archive, 2).title == ""


def test_a_purged_thread_is_not_imported_again(archive: Archive) -> None:
    put_everything(archive)
    delete_containing(archive, MARKER)
    put_everything(archive)
    assert [draft.is_asked for draft in list_drafts(archive)] == [True]  # a person may ask the same again
    assert get_draft(archive, 2).state == "rejected"


def test_only_what_is_older_is_deleted(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    monkeypatch.setattr("askalike.core.values.datetime", SimpleNamespace(now=lambda zone: moment))
    put_everything(archive)
    moment += timedelta(days=89)
    put_asked(archive, "Is there tea?", "")
    assert delete_expired(archive)[:3] == (0, 0, 0)
    moment += timedelta(days=2)
    assert delete_expired(archive)[:3] == (1, 1, 2)
    assert [draft.title for draft in list_drafts(archive)] == ["Is there tea?"]


def test_draft_is_deleted_and_found_again(archive: Archive) -> None:
    archive.upsert([
        Question("1", f"How do I moor {MARKER}?", accepted_answer_id="a"), Answer("a", "1", "At the pier."),
        Question("2", f"how do I moor {MARKER}? "),
    ])  # fmt: skip
    assert find_drafts(archive) == 1
    assert delete_containing(archive, MARKER).drafts == 1
    assert find_drafts(archive) == 1
    archive.delete(["1", "2"])
    delete_containing(archive, MARKER)
    assert find_drafts(archive) == 0
    assert marked_files(archive.path) == []


def test_with_0_days_nothing_is_stored(archive: Archive, tmp_path: Path) -> None:
    assert get_keep_days(archive) == 90
    set_keep_days(archive, 0)
    query = LoggedQuery(MARKER, MARKER, (), "bm25")
    log_query(archive, query)
    insert_feedback(archive, query, "none_of_these", None)
    with pytest.raises(KeepsNothingError, match=r"--keep-days 90$"):
        put_asked(archive, MARKER, "")
    with pytest.raises(KeepsNothingError):
        put_thread(archive, "slack/C1/1", ThreadDraft("C1/1", MARKER, "", ""))
    assert marked_files(archive.path) == []
    with Archive.open(archive.path) as again:
        assert get_keep_days(again) == 0


def test_export_omits_how_long_people_are_remembered(archive: Archive, tmp_path: Path) -> None:
    archive.upsert([Question("1", "How?")])
    set_keep_days(archive, 36_500)
    export_archive(archive, "csv", tmp_path / "export")
    import_archive("table", [tmp_path / "export"], tmp_path / "other")
    with Archive.open(tmp_path / "other") as other:
        assert get_keep_days(other) == 90


def test_a_reader_delays_the_overwriting_and_is_told(archive: Archive) -> None:
    put_everything(archive)
    with closing(sqlite3.connect(archive.path / "archive.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT COUNT(*) FROM drafts").fetchone()
        put_everything(archive, "another")
        done = askalike("purge", archive.path, "--days", "0")
        assert "3 drafts deleted" in done.stdout
        assert "repeat" in done.stderr
        reader.execute("ROLLBACK")
    assert askalike("purge", archive.path, "--days", "0").stderr == ""
    assert marked_files(archive.path) == []


def test_deleted_question_leaves_all_files(archive: Archive) -> None:
    for what, where in (MARKER, f"By {MARKER}"), ("my boat", "At the pier."):
        put_records(archive, [Question("1", f"How do I moor {what}?")], "kim")
        put_records(archive, [Answer("a", "1", where)], "kim")
    assert marked_files(archive.path)
    archive.delete(["1"])
    assert overwrite_deleted(archive)
    assert marked_files(archive.path) == []


def test_pairs_and_ignored_gaps_have_no_texts(archive: Archive) -> None:
    archive.upsert([Question("1", f"Moor {MARKER}?"), Question("2", f"{MARKER} mooring")])
    add_proposals(archive, [CandidatePair("1", "2", 0.9, 1.0, "bm25")])
    put_everything(archive)
    gaps.ignore_gap(archive, gaps.find_gaps(archive)[0], "kim")
    delete_older_than(archive, 0)
    archive.delete(["1", "2"])
    overwrite_deleted(archive)
    assert marked_files(archive.path) == []
    assert len(run_sql(archive, "SELECT * FROM ignored_gaps")) == 1


def test_rejected_rows_stay_until_the_next_import(tmp_path: Path) -> None:
    table = tmp_path / "table.jsonl"
    table.write_text(f'{{"id": "1", "title": "How?"}}\n["{MARKER}"]\n')
    import_archive("table", [table], tmp_path / "desk")
    assert marked_files(tmp_path / "desk") == ["rejected.jsonl"]
    table.write_text('{"id": "1", "title": "How?"}\n')
    import_archive("table", [table], tmp_path / "desk")
    assert marked_files(tmp_path / "desk") == []


def test_index_without_its_folder_is_rebuilt(archive: Archive) -> None:
    marker = MARKER.lower()
    archive.upsert([Question(str(n), f"How do I moor boat {n}?") for n in range(20)])
    archive.upsert([Question("x", f"How do I moor {marker}?")])
    ranker = create("bm25")
    ranker.build(archive.view())
    archive.delete(["x"])
    rmtree(archive.path / "index")
    create("bm25").build(archive.view())
    files = [file for file in (archive.path / "index").rglob("*") if file.is_file()]
    assert files
    assert not [file for file in files if marker.encode() in file.read_bytes()]


def test_the_file_of_vectors_has_no_texts(archive: Archive) -> None:
    cache = VectorCache.share(archive.path, "f" * 16, 10)
    cache.get_or_encode([f"How do I moor {MARKER}?"], lambda texts: np.ones((len(texts), 4), np.float32))
    assert list((archive.path / "index").rglob("*.vectors"))
    assert marked_files(archive.path / "index") == []


def test_a_calibration_has_no_texts(tmp_path: Path) -> None:
    path = riverside(tmp_path / "desk")
    with Archive.open(path) as archive:
        calibrate(archive, create("bm25")).calibration.save(path)
        titles = [question.title for _, question in archive.view().questions()]
    files = [file.read_bytes() for file in (path / "calibration").rglob("*") if file.is_file()]
    assert files
    assert not [title for title in titles if any(title.encode() in content for content in files)]


def test_a_model_has_words_and_no_texts(tmp_path: Path) -> None:
    need("onnxruntime", "onnx", "safetensors", "tokenizers")
    path = riverside(tmp_path / "desk")
    distil(path, str(write_encoder(tmp_path / "small", [*dict.fromkeys(WORDS)])), "fast")
    with Archive.open(path) as archive:
        titles = [question.title for _, question in archive.view().questions()]
    files = [file.read_bytes() for file in (path / "models").rglob("*") if file.is_file()]
    assert files
    assert not [title for title in titles if any(title.encode() in content for content in files)]


def test_the_cache_of_gaps_forgets(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    put_everything(archive)
    cache, at = gaps.GapCache(), 0.0
    monkeypatch.setattr(gaps.time, "monotonic", lambda: at)
    assert cache.get(archive)
    delete_older_than(archive, 0)
    at += 1  # of the clock, which stood still while the gaps were found
    assert cache.get(archive) == []


def test_responses_are_in_the_folder_that_is_named(tmp_path: Path, served_pages: str) -> None:
    options = {"pause": 0.0, "responses": tmp_path / "responses"}
    import_archive("faq_pages", [Path(f"{served_pages}/sitemap.xml")], tmp_path / "desk", options=options)
    assert marked_files(tmp_path / "responses")
    rmtree(tmp_path / "responses")
    with Archive.open(tmp_path / "desk") as archive:
        archive.delete([id for (id,) in run_sql(archive, "SELECT id FROM questions")])
        overwrite_deleted(archive)
    assert marked_files(tmp_path) == []


@pytest.fixture
def served_pages() -> Iterator[str]:
    from http_servers import LocalServer, QuietHandler

    item = {"@type": "Question", "name": f"Moor {MARKER}?", "acceptedAnswer": {"@type": "Answer", "text": "There."}}
    page = f'<script type="application/ld+json">{json.dumps({"@type": "FAQPage", "mainEntity": [item]})}</script>'

    class Site(QuietHandler):
        def do_GET(self) -> None:
            entry = f"<url><loc>{server.address}/faq</loc><lastmod>2026-01-01</lastmod></url>"
            self.reply((f"<urlset>{entry}</urlset>" if self.path.endswith(".xml") else page).encode())

    with LocalServer(Site) as server:
        yield server.address


def test_later_backups_and_exports_have_what_is_left(archive: Archive, tmp_path: Path) -> None:
    archive.upsert([Question("1", "How do I moor?")])
    put_everything(archive)
    backup(archive.path, tmp_path / "before.tar")
    delete_containing(archive, MARKER)
    backup(archive.path, tmp_path / "after.tar")
    export_archive(archive, "csv", tmp_path / "export")
    assert marked_files(tmp_path) == ["before.tar"]


def test_a_revoked_key_stays_without_its_secret(archive: Archive) -> None:
    secret = create_key(archive, "read", "Ada")
    revoke_key(archive, list_keys(archive)[0].id)
    assert [(key.note, key.revoked_at is not None) for key in list_keys(archive)] == [("Ada", True)]
    assert secret.encode() not in b"".join(file.read_bytes() for file in archive.path.glob("archive.sqlite*"))


def test_evaluation_queries_stay_with_the_archive(archive: Archive) -> None:
    archive.upsert([EvaluationQuery("asked", Question("q", f"Where is {MARKER}?"))])
    delete_older_than(archive, 0)
    assert run_sql(archive, "SELECT title FROM queries") == [(f"Where is {MARKER}?",)]
