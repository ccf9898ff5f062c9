"""The archive against a dictionary: whatever is added, replaced and deleted, and what its views then say."""

import multiprocessing
import os
import random
import signal
import sqlite3
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from askalike.core.errors import ArchiveError
from askalike.core.filters import Filter
from askalike.core.records import Answer, Link, Question
from askalike.store import Archive
from askalike.store.candidate_pairs import count_unscanned, open_scan
from random_examples import examples

FORKED = multiprocessing.get_context("fork")
TAGS = ["x", "y", "é"]
DATES = [None, "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "2022-01-01T00:00:00Z"]

ids = st.sampled_from(["a", "b", "c", "d", "'; --", "é#1"])
questions = st.builds(
    Question, ids, st.sampled_from(["", "one", "two", "x\0y"]), st.sampled_from(["", "<p>three"]),
    st.sampled_from(["text", "html"]), st.sets(st.sampled_from(TAGS)).map(lambda s: tuple(sorted(s))),
    language=st.sampled_from([None, "de"]), created_at=st.sampled_from(DATES), votes=st.sampled_from([None, -1, 3]),
    accepted_answer_id=st.sampled_from([None, "A", "B"]), rephrasings=st.lists(st.just("r"), max_size=2).map(tuple),
)  # fmt: skip
answers = st.builds(
    Answer, st.sampled_from("ABC"), ids, st.sampled_from(["yes", "no"]), votes=st.sampled_from([None, 2])
)
links = st.builds(Link, ids, ids, st.sampled_from(["duplicate", "related"]))
steps = st.lists(st.tuples(st.lists(questions | answers | links, max_size=8), st.sets(ids, max_size=2)), max_size=6)


@contextmanager
def new_archive():
    with tempfile.TemporaryDirectory() as folder, Archive.create(Path(folder) / "archive") as archive:
        archive._connection.execute("PRAGMA synchronous = OFF")
        yield archive


def apply_changes(archive, records, gone, held):
    archive.upsert(records)
    for record in records:
        key = (record.source, record.target, record.kind) if isinstance(record, Link) else record.id
        held[type(record)][key] = record
    assert archive.delete(gone) == len(gone & held[Question].keys())
    held[Question] = {id: q for id, q in held[Question].items() if id not in gone}
    held[Answer] = {id: a for id, a in held[Answer].items() if a.question_id not in gone}
    held[Link] = {key: link for key, link in held[Link].items() if not gone & {link.source, link.target}}


@examples(60)
@given(steps)
def test_an_archive_holds_what_a_dictionary_would(changes):
    held = {Question: {}, Answer: {}, Link: {}}
    with new_archive() as archive:
        for records, gone in changes:
            apply_changes(archive, records, gone, held)
        view, own = archive.view(), archive.view("answers")
        rows = list(view.questions())
        assert {q.id: q for _, q in rows} == held[Question]
        assert [n for n, _ in rows] == sorted({n for n, _ in rows})
        assert view.docids([*held[Question], "nobody"]) == {q.id: n for n, q in rows}
        for more in (0, 2_000):  # many are read another way
            assert view.ids([*(n for n, _ in rows), *range(10**6, 10**6 + more)]) == {n: q.id for n, q in rows}
        assert view.get_questions(held[Question]) == held[Question]
        assert {a.id: (a.question_id, a.body) for _, a in own.answers()} == {
            a.id: (a.question_id, a.body) for a in held[Answer].values()
        }
        for id, said in view.get_answers_to(held[Question]).items():
            assert {a.id for a in said} == {a.id for a in held[Answer].values() if a.question_id == id}
            assert [a.accepted for a in said] == sorted((a.accepted for a in said), reverse=True)
        both = [x for x in held[Link].values() if {x.source, x.target} <= held[Question].keys()]
        for kind in ("duplicate", "related"):
            assert {(x.source, x.target) for x in view.links(kind)} == {
                (x.source, x.target) for x in both if x.kind == kind
            }


@examples(60)
@given(steps, steps, st.sampled_from(DATES))
def test_changes_lead_from_any_state_to_current(early, late, before):
    """What an index does: take off the deleted, put on the changed."""
    with new_archive() as archive:
        held = {Question: {}, Answer: {}, Link: {}}
        for records, gone in early:
            apply_changes(archive, records, gone, held)
        for view in (archive.view(before=before), archive.view("answers", before=before)):
            rows = view.questions if view.kind == "questions" else view.answers
            since, state = view.change, dict(rows())
            for records, gone in late:
                apply_changes(archive, records, gone, held)
            gone, changed = set(view.deleted_docids(since)), dict(rows(since))
            assert {n: x for n, x in state.items() if n not in gone} | changed == dict(rows())
            assert view.count_changed(since) == len(changed)
            assert not changed.keys() & gone


def test_docids_are_never_reused(archive):
    for _ in range(3):
        archive.upsert([Question("a", "x")])
        archive.delete(["a"])
    archive.upsert([Question("a", "x"), Question("b", "x")])
    assert [n for n, _ in archive.view().questions()] == [4, 5]
    assert archive.view().deleted_docids() == [1, 2, 3]


def test_writing_the_same_again_is_no_change(archive):
    question = Question("a", "x", tags=("t",), rephrasings=("y",))
    since = archive.upsert([question])
    archive.upsert([question])
    assert list(archive.view().questions(since)) == []


def write_for_ever(path, acknowledged):
    with Archive.open(path) as archive:
        for n in range(1_000_000):
            archive.upsert([Question(f"{os.getpid()}-{n}", "x", tags=("t",)), Answer(f"{os.getpid()}-{n}", "q", "y")])
            os.write(acknowledged, b".")


def test_acknowledged_writes_survive_kill_9(tmp_path):
    path = tmp_path / "archive"
    Archive.create(path).close()
    dice, total = random.Random(1), 0
    for _ in range(5):
        reader, writer = os.pipe()
        child = FORKED.Process(target=write_for_ever, args=(path, writer))
        child.start()
        total += len(os.read(reader, 1))  # it writes now
        time.sleep(dice.uniform(0, 0.15))
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        os.close(writer)
        total += len(os.read(reader, 1 << 20))
        os.close(reader)
        with Archive.open(path) as archive:
            archive.require_intact(thorough=True)
            held = len(archive.view())
            assert len(archive.view("answers")) == held == len(archive.view().filtered_docids(Filter(("t",))))
            assert total <= held <= total + 1
            total = held
    assert total > 5


def test_writers_take_turns_and_readers_see_batches(tmp_path):
    with Archive.create(tmp_path / "a") as one, Archive.open(tmp_path / "a") as other:
        one.upsert([Question("a", "x")])
        other.upsert([Question("b", "x")])
        with pytest.raises(KeyError), one.open_writer() as writer:
            list(map(writer.put, [Question("c", "x"), "no record"]))
        assert {q.id for _, q in other.view().questions()} == {"a", "b"}
        with one.open_writer() as writer:
            writer.put(Question("c", "x"))
            assert len(other.view()) == 2
        assert len(other.view()) == 3


def error_of(attempt):
    with pytest.raises(ArchiveError) as caught:
        attempt()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_other_files_are_refused_in_one_line(tmp_path):
    assert "not an archive" in error_of(lambda: Archive.open(tmp_path))
    assert "not an archive" in error_of(lambda: Archive.open(tmp_path / "nothing"))
    (tmp_path / "faq.csv").write_text("question\n")
    message = error_of(lambda: Archive.open(tmp_path / "faq.csv"))
    assert message.endswith(f"a file, not an archive; import it: askalike import READER {tmp_path / 'faq.csv'} -o DIR")
    (tmp_path / "file").write_text("x")
    assert "is a file" in error_of(lambda: Archive.create(tmp_path / "file"))
    assert "has other files" in error_of(lambda: Archive.create(tmp_path))
    assert "cannot be created" in error_of(lambda: Archive.create(tmp_path / "file" / "below"))
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "archive.sqlite").write_bytes(b"no database" * 100)
    assert "damaged, or not an SQLite file" in error_of(lambda: Archive.open(tmp_path / "damaged"))


@pytest.mark.parametrize("version", [3, 14])
def test_an_archive_of_another_schema_is_refused(tmp_path, version):
    Archive.create(tmp_path / "a").close()
    connection = sqlite3.connect(tmp_path / "a" / "archive.sqlite")
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    message = error_of(lambda: Archive.open(tmp_path / "a"))
    assert f"has schema {version}; this askalike reads schema 2" in message
    assert "import its sources again" in message


def test_an_archive_of_schema_1_is_upgraded(tmp_path):
    Archive.create(tmp_path / "a").close()
    connection = sqlite3.connect(tmp_path / "a" / "archive.sqlite")
    connection.executescript("""DROP TABLE proposal_scans; CREATE TABLE proposal_scans (fingerprint TEXT PRIMARY KEY,
        started_at TEXT NOT NULL, change INTEGER NOT NULL, docid INTEGER NOT NULL, backlog_docid INTEGER NOT NULL,
        sample_links TEXT NOT NULL, duplicate_rate REAL) WITHOUT ROWID; PRAGMA user_version = 1""")
    connection.close()
    with Archive.open(tmp_path / "a") as archive:
        archive.upsert([Question("a", "x")])
        assert open_scan(archive, "words").change == 0
        assert count_unscanned(archive) == 1


def test_unstorable_text_is_refused_with_its_batch(tmp_path):
    with Archive.create(tmp_path / "a") as archive:
        for bad in (Question("b", "x\ud800"), Question("\udfff", "x"), Question("b", "x", tags=("\ud800",))):
            assert "lone surrogate" in error_of(lambda bad=bad: archive.upsert([Question("a", "x"), bad]))
            assert len(archive.view()) == 0
        archive.upsert([Question("a", "x")])
        assert archive.delete(["\ud800"]) == 0
