"""Imports that are repeated, refused, killed, or run out of disk."""

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from askalike.core.errors import ArchiveError, InputError, SettingsError
from askalike.core.records import Question
from askalike.readers import import_archive
from askalike.store import Archive
from askalike.store.contents import ArchiveSummary, summarise_archive
from askalike.store.drafts import ThreadDraft, list_drafts, put_thread
from askalike.store.importing import open_for_import
from database import run_sql


def write_faq(path: Path, rows: int, extra: str = "") -> Path:
    lines = (f'"{n}","How do I mend the part number {n} of my machine?","Turn it {n} times."\n' for n in range(rows))
    path.write_text("id,question,answer\n" + "".join(lines) + extra)
    return path


def import_table(path: Path, directory: Path, **more: Any) -> ArchiveSummary:
    return import_archive("table", [path], directory, language="en", **more)


def test_importing_twice_moves_no_change_number(tmp_path: Path) -> None:
    path = write_faq(tmp_path / "write_faq.csv", 100)
    changes = []
    for _ in range(2):
        import_table(path, tmp_path / "out")
        with Archive.open(tmp_path / "out") as archive:
            changes.append([run_sql(archive, f"SELECT id, number, change FROM {t}") for t in ("questions", "answers")])
    assert changes[0] == changes[1]
    write_faq(tmp_path / "write_faq.csv", 101)
    path.write_text(path.read_text().replace("number 7 of", "number seven of"))
    import_table(path, tmp_path / "out")
    with Archive.open(tmp_path / "out") as archive:
        assert [q.id for _, q in archive.view().questions(since=changes[0][0][0][2])] == ["7", "100"]


def test_rejected_rows_are_of_the_last_import(tmp_path: Path) -> None:
    rejected = tmp_path / "out/rejected.jsonl"
    done = import_table(write_faq(tmp_path / "write_faq.csv", 3, '9,"",nothing\n8,too few\n'), tmp_path / "out")
    assert str(done) == "3 questions, 3 answers, 0 duplicate links, 2 rejected"
    first = json.loads(rejected.read_text().splitlines()[0])
    assert first == {
        "file": str(tmp_path / "write_faq.csv"), "line": 5, "reason": "no question",
        "row": {"id": "9", "question": "", "answer": "nothing"},
    }  # fmt: skip
    assert import_table(write_faq(tmp_path / "write_faq.csv", 3), tmp_path / "out").rejected == 0
    assert not rejected.exists()


def test_strict_stops_at_the_first_rejected_row(tmp_path: Path) -> None:
    path = write_faq(tmp_path / "write_faq.csv", 3, '9,"",nothing\n10,Why not?,x\n')
    with pytest.raises(InputError, match=r"line 5: no question; --strict stops .*; kept the 3 questions before it"):
        import_table(path, tmp_path / "out", strict=True)
    repeated = write_faq(tmp_path / "again.csv", 3, "1,Twice?,x\n")
    with pytest.raises(InputError, match=r"again\.csv, line 5: question id '1' occurs twice.*--strict"):
        import_table(repeated, tmp_path / "out", strict=True, source="write_faq")
    with Archive.open(tmp_path / "out") as archive:
        assert len(archive.view()) == 3


def test_error_leaves_an_older_archive(tmp_path: Path) -> None:
    import_table(write_faq(tmp_path / "write_faq.csv", 3), tmp_path / "out")
    (tmp_path / "none.csv").write_text("question\n")
    with pytest.raises(InputError, match="no question in it"):
        import_table(tmp_path / "none.csv", tmp_path / "out")
    with Archive.open(tmp_path / "out") as archive:
        assert len(archive.view()) == 3


def test_a_directory_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/rejected.jsonl").write_text("mine")
    with pytest.raises(ArchiveError, match="has other files"):
        import_table(write_faq(tmp_path / "write_faq.csv", 3), tmp_path / "out")
    with pytest.raises(ArchiveError, match="is a file"):
        import_table(tmp_path / "write_faq.csv", tmp_path / "write_faq.csv")
    assert (tmp_path / "out/rejected.jsonl").read_text() == "mine"
    assert (tmp_path / "write_faq.csv").exists()


def test_an_empty_directory_stays_after_a_failed_import(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="no question in it"):
        import_table(write_faq(tmp_path / "write_faq.csv", 0), tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_failed_import_leaves_a_begun_archive(tmp_path: Path) -> None:
    failing = open_for_import(tmp_path / "out")
    failing.__enter__()
    with open_for_import(tmp_path / "out") as archive:
        failing.__exit__(InputError, InputError("no question"), None)
        archive.upsert([Question("1", "How long does a keg last?")])
    with Archive.open(tmp_path / "out") as archive:
        assert len(archive.view()) == 1


def test_failed_import_of_drafts_keeps_earlier_ones(tmp_path: Path) -> None:
    thread = ThreadDraft("1", "How long does a keg last?", "", "A month.")
    with pytest.raises(InputError, match="damaged"), open_for_import(tmp_path / "out") as archive:
        put_thread(archive, "chat/1", thread)
        raise InputError("damaged")
    with Archive.open(tmp_path / "out") as archive:
        assert [draft.answer for draft in list_drafts(archive)] == ["A month."]


def test_invalid_arguments(tmp_path: Path) -> None:
    path = write_faq(tmp_path / "write_faq.csv", 3)
    with pytest.raises(SettingsError, match="'english': expected a code of ISO 639-1"):
        import_archive("table", [path], tmp_path / "out", language="english")
    with pytest.raises(SettingsError, match="colour is not a setting"):
        import_archive("table", [path], tmp_path / "out", options={"colour": "red"})
    with pytest.raises(InputError, match="no paths; expected"):
        import_archive("table", [], tmp_path / "out")


NEVER_ENDING = """
import sys, time
from askalike.readers import import_archive

def wait_at_the_end(done: int, total: int) -> None:
    if total and done >= total:
        time.sleep(600)

import_archive("table", [sys.argv[1]], sys.argv[2], language="en", progress=wait_at_the_end)
"""
"""An import that is still under way when it is killed, however late: it waits before it takes the last rows."""

ROWS = 60_000


@pytest.mark.long
@pytest.mark.parametrize("batches", [0, 1, 3])
def test_killed_import_is_completed_by_the_same(tmp_path: Path, batches: int) -> None:
    path = write_faq(tmp_path / "write_faq.csv", ROWS)
    out = tmp_path / "out"
    with subprocess.Popen([sys.executable, "-c", NEVER_ENDING, path, out]) as process:
        try:
            killed_at = _wait_for(out, batches * 2_500, process)
        finally:
            process.kill()
    assert killed_at < ROWS
    with Archive.open(out) as archive:
        archive.require_intact(thorough=True)
        assert len(archive.view()) >= killed_at
        assert summarise_archive(archive).finished is False
    done = import_table(path, out)
    assert str(done) == f"{ROWS:,} questions, {ROWS:,} answers, 0 duplicate links, 0 rejected"
    assert done.finished


def _wait_for(directory: Path, questions: int, process: "subprocess.Popen[bytes]") -> int:
    """How many questions are committed once there are at least so many and an import has begun."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(ArchiveError), Archive.open(directory) as archive:  # an error until it has tables
            begun = run_sql(archive, "SELECT COUNT(*) FROM imports")[0][0]
            if begun and len(archive.view()) >= questions:
                return len(archive.view())
        time.sleep(0.002)
    pytest.fail(f"not {questions} questions after a minute")


def test_full_disk_keeps_what_was_committed(tmp_path: Path, small_disk: Path) -> None:
    path = write_faq(tmp_path / "write_faq.csv", 60_000)
    with pytest.raises(ArchiveError, match="free some space and repeat") as error:
        import_table(path, small_disk / "out")
    assert "\n" not in str(error.value)
    with Archive.open(small_disk / "out") as archive:
        archive.require_intact(thorough=True)
        assert 0 < len(archive.view()) < 60_000


def test_a_full_disk_is_left_as_it_was(tmp_path: Path, small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(bytes(3 * 1024 * 1024 - 20_480))
    with pytest.raises(ArchiveError, match="free some space"):
        import_table(write_faq(tmp_path / "write_faq.csv", 10), small_disk / "out")
    assert list(small_disk.iterdir()) == [filler]


def test_rejected_rows_on_a_full_disk_are_told(tmp_path: Path, small_disk: Path) -> None:
    rows = "".join(f'{n},"","{"x" * 900}"\n' for n in range(6_000))
    with pytest.raises(ArchiveError, match=r"rejected\.jsonl: .*free some space"):
        import_table(write_faq(tmp_path / "write_faq.csv", 10, rows), small_disk / "out")


GERMAN = "Wie kann ich mein Passwort zurücksetzen, wenn ich es vergessen habe und der Brief nicht ankommt?"
ENGLISH = "How can I reset my password when I have forgotten it and the letter does not arrive in time?"


def test_archive_of_two_languages_gives_each_question_one(tmp_path: Path) -> None:
    path = tmp_path / "write_faq.csv"
    path.write_text("id,question\n" + "".join(f'{n},"{GERMAN if n % 2 else ENGLISH}"\n' for n in range(20)))
    import_archive("table", [path], tmp_path / "out")
    with Archive.open(tmp_path / "out") as archive:
        assert archive.meta.get("language") is None
        assert archive.meta["languages"] == ["de", "en"]
        assert {q.id: q.language for _, q in archive.view().questions()} == {
            str(n): "de" if n % 2 else "en" for n in range(20)
        }


def test_archive_of_one_language_gets_a_second(tmp_path: Path) -> None:
    for text, ids in ((ENGLISH, range(5)), (GERMAN, range(5, 9))):
        path = tmp_path / "write_faq.csv"
        path.write_text("id,question\n" + "".join(f'{n},"{text}"\n' for n in ids))
        import_archive("table", [path], tmp_path / "out")
    with Archive.open(tmp_path / "out") as archive:
        assert archive.meta["language"] == "en"
        assert [q.language for _, q in archive.view().questions()] == [None] * 5 + ["de"] * 4


def test_a_declared_language_corrects_the_archive(tmp_path: Path) -> None:
    path = write_faq(tmp_path / "write_faq.csv", 5)
    for language in ("en", "nl"):
        import_archive("table", [path], tmp_path / "out", language=language)
    with Archive.open(tmp_path / "out") as archive:
        assert archive.meta["language"] == "nl"
