"""Records that callers put, one after the other and at once: checked, each call one transaction, nothing lost."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Barrier

import pytest

import askalike
from askalike.core.errors import ArchiveError, InputError
from askalike.core.records import Answer, EvaluationQuery, Judgement, Link, Question
from askalike.store import Archive, MissingRecordError
from askalike.store.changes import get_revisions
from askalike.store.editing import ChangedRecordError, put_records, replace_record, write_together
from database import run_sql

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


def test_no_answer_to_a_question_deleted_meanwhile(tmp_path):
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
        assert run_sql(archive, "SELECT COUNT(*) FROM answers")[0] == (0,)


def test_record_changed_since_reading_is_not_replaced(archive):
    question, answer = Question("q", "How long?"), Answer("a", "q", "Five minutes.")
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


def put(*records):
    return partial(put_records, records=records)


def test_writes_commit_in_order_and_fail_alone(tmp_path):
    statements = []
    writes = [
        put(Question("q1", "How long?")), put(Answer("a", "nowhere", "Five minutes.")),
        put(Question("q2", "How wide?"), Link("q2", "nowhere")),
        put(Question("q1", "How high?"), Question("q3", "Why?")),
        lambda archive: archive.delete(["q3"]),
    ]  # fmt: skip
    with Archive.create(tmp_path / "archive") as archive:
        archive._connection.set_trace_callback(statements.append)
        first, second, third, fourth, fifth = write_together(archive, writes)
        assert statements.count("COMMIT") == 1
        assert [type(second), type(third)] == [MissingRecordError] * 2
        assert (first.created, fourth.created, fifth) == (1, 1, 1)
        assert first.change < fourth.change
        assert [question.title for _, question in archive.view().questions()] == ["How high?"]
        [revision] = get_revisions(archive, "q1")
        assert revision.changes["title"] == ("How long?", "How high?")


def test_writes_together_are_undone_on_full_disks(archive, tmp_path, limit_file_size):
    put_records(archive, [Question("old", "How long?")])
    size = (tmp_path / "archive" / "archive.sqlite-wal").stat().st_size
    limit_file_size(size + 20_000)
    with pytest.raises(ArchiveError, match="free some space"):
        write_together(archive, [put(Question(f"q{n}", "How long?", "b" * 9_000)) for n in range(9)])
    limit_file_size(1 << 40)
    assert [question.id for _, question in archive.view().questions()] == ["old"]
    assert write_together(archive, [put(Question("q0", "How long?"))])[0].created == 1


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (Question(7, "A title"), "Question: id is 7; expected a string"),
        (Question("7", None), "Question: title is None; expected a string"),
        (
            Question("7", "A title", created_at="yesterday"),
            "Question: created_at is 'yesterday'; expected a date such as 2014-01-21T20:26:05",
        ),
        (Question("7", "A title", tags="linux"), "Question: tags is 'linux'; expected a tuple, each a string"),
        (Question("7", "A title", markup="md"), "Question: markup is 'md'; expected one of text, html"),
        (Question("7", "A title", votes=True), "Question: votes is True; expected a whole number or None"),
        (Answer("1", "7", "Yes.", accepted=1), "Answer: accepted is 1; expected True or False"),
        (Link("1", 2), "Link: target is 2; expected a string"),
        (EvaluationQuery("dev", "A title"), "EvaluationQuery: question is 'A title'; expected a Question"),
        (
            Question("7", "A title", votes=2**63),
            f"Question: votes: the number is too large; expected one from {-(2**63)} to {2**63 - 1}",
        ),
        ("A title", "'A title': expected a record, one of Answer, EvaluationQuery, Judgement, Link, Question"),
    ],
)
def test_a_record_of_wrong_types_is_refused(archive, record, message):
    with pytest.raises(InputError) as error:
        archive.upsert([record])
    assert str(error.value) == message
    assert len(archive.view()) == 0


def test_right_records_are_stored(archive):
    archive.upsert([Question("1", "One", tags=["a"], votes=3), Question("2", "Two", marks=("closed",))])
    archive.upsert([Link("1", "2"), Judgement("dev", "q", "1", None), EvaluationQuery("dev", Question("q", "What"))])
    assert archive.view().get_questions(["1"])["1"].tags == ("a",)


def test_a_retriever_names_the_field_that_is_wrong():
    with pytest.raises(InputError, match="Question: id is 7; expected a string"):
        askalike.Retriever([Question(7, "How do I boil an egg?")])


N_THREADS, BATCH = 8, 10


def test_threads_write_and_read_whole_batches(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:

        def put_and_count(thread):
            counts = []
            for n in range(N_ROUNDS):
                archive.upsert([Question(f"{thread}-{n}-{m}", "How long?") for m in range(BATCH)])
                counts.append(len(archive.view()))
            return counts

        with ThreadPoolExecutor(N_THREADS) as threads:
            counts = [count for counts in threads.map(put_and_count, range(N_THREADS)) for count in counts]
        assert len(archive.view()) == N_THREADS * N_ROUNDS * BATCH
    assert {count % BATCH for count in counts} == {0}


def test_threads_delete_and_label_while_others_write(archive):
    archive.upsert([Question(f"old-{n}", "How long?") for n in range(N_ROUNDS)])

    def write(thread):
        for n in range(N_ROUNDS):
            archive.upsert([Question(f"{thread}-{n}", "How long?")])
            archive.set_meta(**{f"fact-{thread}-{n}": n})

    def delete():
        return sum(archive.delete([f"old-{n}"]) for n in range(N_ROUNDS))

    with ThreadPoolExecutor(N_THREADS) as threads:
        deleted = threads.submit(delete)
        list(threads.map(write, range(N_THREADS - 1)))
    assert (deleted.result(), len(archive.view())) == (N_ROUNDS, (N_THREADS - 1) * N_ROUNDS)
    assert len(archive.meta) == (N_THREADS - 1) * N_ROUNDS
