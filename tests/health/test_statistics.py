"""What `info` counts, worked out by hand."""

from askalike.core.records import Answer, EvaluationQuery, Judgement, Link, Question
from askalike.health.statistics import SplitSize, compute_statistics, disk_sizes
from askalike.store.contents import sample_answers, sample_questions
from database import run_sql


def begin_import(archive, source, finished_at, rejected):
    sql = (
        "INSERT INTO imports (reader, paths, started_at, finished_at, rejected_count) VALUES ('table', ?, '2020', ?, ?)"
    )
    run_sql(archive, sql, source, finished_at, rejected)


def test_an_empty_archive(archive):
    known = compute_statistics(archive)
    assert (known.summary.questions, known.summary.answers, known.question_lengths.n) == (0, 0, 0)
    assert (known.first_date, known.unfinished_import, known.splits, known.tags) == (None, None, (), {})


def test_counts_of_everything(archive):
    archive.set_meta(language="en")
    archive.upsert(
        [
            Question("1", "a", tags=("x", "y"), category="c", created_at="2020-05-05", rephrasings=("b", "c")),
            Question("2", "b", tags=("x",), language="de", created_at="2019-01-01", license="MIT"),
            Question("3", "c"),
            Answer("a", "1", "x"),
            Answer("b", "1", "x"),
            Link("1", "2"),
            Link("1", "404"),
            Link("2", "3", "related"),
            EvaluationQuery("test", Question("q", "?")),
            Judgement("test", "q", "1", 1, 1),
            Judgement("test", "q", "2", 0, 2),
            Judgement("test", "q", "3", None, 3),
        ]
    )
    known = compute_statistics(archive)
    assert (known.summary.questions, known.summary.answers, known.summary.duplicate_links) == (3, 2, 1)
    assert (known.answered_questions, known.related_links, known.rephrasings) == (1, 1, 2)
    assert (known.first_date, known.last_date) == ("2019-01-01", "2020-05-05")
    assert (known.tags, known.distinct_tags) == ({"x": 2, "y": 1}, 2)
    assert (known.categories, known.licenses) == ({"c": 1}, {"MIT": 1})
    assert known.languages == {"en": 2, "de": 1}
    assert known.splits == (SplitSize("test", queries=1, judged=2, relevant=1, candidates=3),)


def test_words_and_sentences(archive):
    archive.upsert([Question("1", "one two?", "<p>three four. Five six seven.</p>", "html"), Question("2", "one")])
    archive.upsert([Answer(str(n), "1", "word " * n) for n in range(1, 12)])
    known = compute_statistics(archive)
    asked, said = known.question_lengths, known.answer_lengths
    assert (asked.n, asked.sampled, asked.words.median, asked.words.mean) == (2, False, 4, 4)
    assert asked.sentences.mean == 2
    assert (said.n, said.words.median, said.words.p90, said.sentences.p90) == (11, 6, 10, 1)


def test_the_last_import_is_the_one_that_counts(archive):
    begin_import(archive, "old.csv", None, 9)
    begin_import(archive, "new.csv", "2020", 2)
    known = compute_statistics(archive)
    assert (known.summary.rejected, known.unfinished_import) == (2, None)
    begin_import(archive, "newest.csv", None, 0)
    assert compute_statistics(archive).unfinished_import == "newest.csv"


def test_samples_are_seeded_ordered_and_without_repetition(archive):
    archive.upsert(Question(str(n), "q") for n in range(300))
    archive.upsert(Answer(f"a{n}", "0", "a") for n in range(300))
    drawn = [question.id for question in sample_questions(archive.view(), 50)]
    assert drawn == [question.id for question in sample_questions(archive.view(), 50)]
    assert drawn == sorted(set(drawn), key=int)
    assert len(drawn) == 50
    assert drawn != [question.id for question in sample_questions(archive.view(), 50, seed=1)]
    assert [a.id for a in sample_answers(archive.view(), 300)] == [f"a{n}" for n in range(300)]


def test_sizes_on_disk(archive):
    (archive.path / "index/bm25/segment").mkdir(parents=True)
    (archive.path / "index/bm25/segment/terms.bin").write_bytes(b"x" * 1000)
    (archive.path / "models/cnn").mkdir(parents=True)
    (archive.path / "rejected.jsonl").write_text("not counted")
    found = disk_sizes(archive.path)
    assert found.pop("archive") > 1000
    assert found == {"index/bm25": 1000, "models/cnn": 0}
