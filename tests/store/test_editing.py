"""Records that are put by several callers at once: each call is one transaction, checks included."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Barrier

import pytest

from askalike.core.types import Answer, Question
from askalike.store import Archive, MissingRecordError
from askalike.store.editing import ChangedRecordError, put_records, replace_record

N_CALLERS = 4
N_ROUNDS = 30
LIMIT_S = 60


def test_one_of_several_callers_creates_a_record(tmp_path):
    Archive.create(tmp_path / "archive").close()
    barrier = Barrier(N_CALLERS, timeout=LIMIT_S)

    def put_all(_):
        with Archive.open(tmp_path / "archive") as archive:
            created = []
            for n in range(N_ROUNDS):
                barrier.wait()
                created.append(put_records(archive, [Question(f"q{n}", "How long?")]).created)
            return created

    with ThreadPoolExecutor(N_CALLERS) as callers:
        created = list(callers.map(put_all, range(N_CALLERS)))
    assert [sum(counts) for counts in zip(*created, strict=True)] == [1] * N_ROUNDS


def test_an_answer_is_never_put_to_a_question_that_is_deleted_meanwhile(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        put_records(archive, [Question(f"q{n}", "How long?") for n in range(N_ROUNDS)])
    barrier = Barrier(2, timeout=LIMIT_S)

    def answer_all():
        with Archive.open(tmp_path / "archive") as archive:
            for n in range(N_ROUNDS):
                barrier.wait()
                with suppress(MissingRecordError):
                    put_records(archive, [Answer(f"a{n}", f"q{n}", "Five minutes.")])

    with ThreadPoolExecutor(1) as other, Archive.open(tmp_path / "archive") as archive:
        answering = other.submit(answer_all)
        for n in range(N_ROUNDS):
            barrier.wait()
            archive.delete([f"q{n}"])
        answering.result()
        assert archive._connection.execute("SELECT COUNT(*) FROM answers").fetchone() == (0,)


def test_a_record_that_was_changed_or_deleted_since_it_was_read_is_not_replaced(tmp_path):
    question, answer = Question("q", "How long?"), Answer("a", "q", "Five minutes.")
    with Archive.create(tmp_path / "archive") as archive:
        for record in (question, answer):
            put_records(archive, [record])
        replace_record(archive, question, changed := replace(question, title="How long does it take?"))
        for before, after in ((question, replace(question, body="Late")), (replace(answer, body="Six."), answer)):
            with pytest.raises(ChangedRecordError, match="was changed or deleted in the meantime"):
                replace_record(archive, before, after)
        archive.delete(["q"])
        with pytest.raises(ChangedRecordError):
            replace_record(archive, changed, question)
        assert archive.view().get_questions(["q"]) == {}
