"""What is exported holds everything, is whole or not there, and never replaces what is no export."""

import csv
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given as given_records, strategies as st

from askalike.core.errors import ArchiveError, InputError, SettingsError
from askalike.core.records import Answer, EvaluationQuery, Judgement, Link, Question
from askalike.export import export_archive, join_answers_cell, join_cell, parse_cell
from askalike.readers import import_archive
from askalike.store import Archive
from askalike.store.contents import content_hash
from database import run_sql
from random_examples import examples

FULL = Question(
    "1", "How, \"exactly\"?", "<p>a\nb\r\nc</p>", "html", ("eggs", "c|d"), "food", "en", "2020-01-01T00:00:00",
    "2021-01-01T00:00:00", "Ann", "http://example.org/1", "CC BY-SA 4.0", -3, "b", ("one?", "two?"),
    ("answered", "locked"), "2.1",
)  # fmt: skip
PLAIN = Question("2", "=SUM(A1)", "тело")
ANSWERS = (
    Answer("a", "1", "first", votes=9),
    Answer("b", "1", "<b>accepted</b>", "html", True, "2020-01-02T00:00:00", "Bo", "http://x", "MIT", 1, "Good"),
    Answer("c", "404", "of a question that is not there"),
)
LINKS = (Link("2", "1", "duplicate", "2020-02-02T00:00:00"), Link("2", "404"), Link("1", "2", "related"))
JUDGED = (
    Judgement("test", "q", "2", None, 1),
    Judgement("test", "q", "1", 1, 2),
    Judgement("test", "q", "b", 1, 1, "answers"),
    Judgement("train", "1", "2", 1),
)
QUERIES = (
    EvaluationQuery("test", Question("q", "Quick?", "now", language="en")),
    EvaluationQuery("train", Question("1", "How?")),
)


@pytest.fixture
def archive(archive: Archive) -> Archive:
    archive.upsert([FULL, PLAIN, *ANSWERS, *LINKS, *QUERIES, *JUDGED])
    archive.set_meta(name="eggs", language="en")
    return archive


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def table(path: Path, delimiter: str = ",", encoding: str = "utf-8") -> list[dict[str, str]]:
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def question(record: dict) -> Question:
    more = {k: tuple(v) if isinstance(v, list) else v for k, v in record.get("metadata", {}).items()}
    return Question(record["_id"], record["title"], record["text"], **more)


def test_beir_has_everything(archive, tmp_path):
    out = tmp_path / "out"
    rows = export_archive(archive, "beir", out)
    assert [question(record) for record in lines(out / "corpus.jsonl")] == [FULL, PLAIN]
    answers = [
        Answer(r["_id"], r["question_id"], r["text"], **r.get("metadata", {})) for r in lines(out / "answers.jsonl")
    ]
    assert answers == list(ANSWERS)
    links = [Link(r["source"], r["target"], r["kind"], r["created_at"] or None) for r in table(out / "links.tsv", "\t")]
    assert set(links) == set(LINKS)
    whole = {"title": "Quick?", "body": "now", "language": "en"}
    assert lines(out / "queries-test.jsonl") == [{"_id": "q", "text": "Quick?\n\nnow", "metadata": whole}]
    assert lines(out / "queries.jsonl") == [{"_id": "1", "text": "How?"}, *lines(out / "queries-test.jsonl")]
    assert table(out / "qrels/test.tsv", "\t") == [{"query-id": "q", "corpus-id": "1", "score": "1"}]
    assert table(out / "qrels/train.tsv", "\t") == [{"query-id": "1", "corpus-id": "2", "score": "1"}]
    assert lines(out / "candidates-test.jsonl") == [{"_id": "q", "candidates": ["2", "1"]}]
    assert table(out / "answer-qrels/test.tsv", "\t") == [{"query-id": "q", "corpus-id": "b", "score": "1"}]
    assert lines(out / "answer-candidates-test.jsonl") == [{"_id": "q", "candidates": ["b"]}]
    assert not (out / "candidates-train.jsonl").exists()
    manifest = json.loads((out / "export.json").read_text())
    facts = {"name": "eggs", "language": "en"}
    assert manifest == {"format": "beir", "archive": facts, "sources": {}, "rows": dict(rows)}
    assert rows["corpus.jsonl"] == 2
    assert {str(path.relative_to(out)) for path in out.rglob("*.*")} == {*rows, "export.json"}


def test_csv_has_everything(archive, tmp_path):
    out = tmp_path / "out"
    export_archive(archive, "csv", out)
    first, second = table(out / "questions.csv")
    assert first == {
        "id": "1", "question": FULL.title, "body": FULL.body, "answer": '["<b>accepted</b>", "first"]',
        "category": "food",
        "tags": '["eggs", "c|d"]', "language": "en", "alternates": "one?|two?", "duplicate_of": "",
        "created_at": FULL.created_at, "closed_at": FULL.closed_at, "url": FULL.url, "author": "Ann",
        "license": FULL.license, "votes": "-3", "markup": "html", "accepted_answer_id": "b",
            "marks": "answered|locked", "solved_in": "2.1",
        "imported_from": "",
    }  # fmt: skip
    assert second["question"] == "=SUM(A1)"
    assert second["duplicate_of"] == "1|404"
    assert second["answer"] == second["tags"] == second["votes"] == ""
    answers = table(out / "answers.csv")
    assert [row["id"] for row in answers] == ["a", "b", "c"]
    assert answers[1]["body"] == "<b>accepted</b>"
    assert answers[1]["label"] == "Good"
    assert {(r["source"], r["target"], r["kind"], r["created_at"] or None) for r in table(out / "links.csv")} == {
        (link.source, link.target, link.kind, link.created_at) for link in LINKS
    }
    assert [(row["split"], row["id"]) for row in table(out / "queries.csv")] == [("test", "q"), ("train", "1")]
    judged = {
        (r["split"], r["query_id"], r["document_id"], r["relevance"], r["position"], r["record_type"])
        for r in table(out / "judgements.csv")
    }
    assert judged == {
        (
            j.split,
            j.query_id,
            j.document_id,
            "" if j.relevance is None else str(j.relevance),
            str(j.position or ""),
            j.record_type,
        )
        for j in JUDGED
    }


def test_spreadsheets_get_no_formulas(archive, tmp_path):
    export_archive(archive, "spreadsheet", tmp_path / "out")
    first, second = table(tmp_path / "out/questions.csv", encoding="utf-8-sig")
    assert second["question"] == "'=SUM(A1)"
    assert first["votes"] == "-3"
    assert (tmp_path / "out/questions.csv").read_bytes().startswith(b"\xef\xbb\xbf")


def test_more_questions_than_a_chunk(tmp_path):
    with Archive.create(tmp_path / "archive") as archive:
        archive.upsert(Question(str(n), f"title {n}") for n in range(2_500))
        archive.upsert(Answer(f"a{n}", str(n), f"answer {n}") for n in range(2_500))
        export_archive(archive, "csv", tmp_path / "out")
    rows = table(tmp_path / "out/questions.csv")
    assert [(row["id"], row["answer"]) for row in rows] == [(str(n), f"answer {n}") for n in range(2_500)]


def test_an_earlier_export_is_replaced_only_with_force(archive, tmp_path):
    out = tmp_path / "out"
    export_archive(archive, "beir", out)
    with pytest.raises(ArchiveError, match="an earlier export exists; replace it with --force"):
        export_archive(archive, "csv", out)
    export_archive(archive, "csv", out, force=True)
    assert (out / "questions.csv").exists()
    assert not (out / "corpus.jsonl").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "out"]


def test_other_folders_are_never_replaced(archive, tmp_path):
    for place in (tmp_path / "archive", tmp_path / "file"):
        (tmp_path / "file").write_text("precious")
        with pytest.raises(ArchiveError, match="is not an earlier export"):
            export_archive(archive, "beir", place, force=True)
    (tmp_path / "empty").mkdir()
    export_archive(archive, "beir", tmp_path / "empty")


def test_an_unknown_format(archive, tmp_path):
    with pytest.raises(SettingsError, match="no export is called 'xml'; there are: beir, csv, retrieval, spreadsheet"):
        export_archive(archive, "xml", tmp_path / "out")


def test_split_named_as_a_path_is_refused(archive, tmp_path):
    archive.upsert([EvaluationQuery("../../evil", Question("q", "?"))])
    with pytest.raises(ArchiveError, match="cannot name a file"):
        export_archive(archive, "beir", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_leaves_nothing_behind(archive, tmp_path, monkeypatch):
    def to_full_disk(_format, _archive, folder, _track, _log):
        (folder / "corpus.jsonl").symlink_to("/dev/full")
        with (folder / "corpus.jsonl").open("w") as file:
            file.write("x" * 100_000)

    monkeypatch.setattr("askalike.export.beir.BeirExport.write", to_full_disk)
    with pytest.raises(ArchiveError, match=r"No space left on device.*nothing was exported"):
        export_archive(archive, "beir", tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["archive"]


def test_concurrent_writes_are_not_exported(archive, tmp_path):
    with Archive.open(archive.path) as other:

        def writing_meanwhile(rows, *, total, description):
            other.upsert([Question("late", "too late"), Answer("late", "late", "too late")])
            yield from rows

        export_archive(archive, "beir", tmp_path / "out", track=writing_meanwhile)
    assert "late" not in (tmp_path / "out/corpus.jsonl").read_text() + (tmp_path / "out/answers.jsonl").read_text()


@pytest.mark.parametrize(
    ("bodies", "cell"), [([], ""), (["a|b"], "a|b"), (["[1]"], '["[1]"]'), (["a", "б"], '["a", "б"]')]
)
def test_answers_in_a_cell(bodies, cell):
    assert join_answers_cell(bodies) == cell


def contents(archive: Archive) -> tuple[list[Question], list[Answer], list[Link]]:
    questions = [question for _, question in archive.view().questions()]
    return questions, [answer for _, answer in archive.view("answers").answers()], list(archive.view().links())


EVERYTHING = ("questions", "answers", "links", "queries", "judgements")


def rows_of(archive: Archive) -> dict[str, list[tuple]]:
    """All that is content: rows without the numbers of changes and imports, questions and answers in their order."""
    rows_by_table = {}
    for name in EVERYTHING:
        columns = [row[1] for row in run_sql(archive, f"PRAGMA table_info({name})")]
        columns_sql = ", ".join(c for c in columns if c not in ("number", "import_number", "change"))
        order = "number" if "number" in columns else "1, 2, 3"
        rows_by_table[name] = run_sql(archive, f"SELECT {columns_sql} FROM {name} ORDER BY {order}")
    return rows_by_table


READERS = {"csv": "table", "beir": "beir"}


def assert_reimports_equal(archive: Archive, folder: Path, format: str) -> None:
    export_archive(archive, format, folder / "out")
    done = import_archive(READERS[format], [folder / "out"], folder / "second", strict=True)
    assert done.rejected == 0
    with Archive.open(folder / "second") as second:
        assert rows_of(second) == rows_of(archive)
        assert content_hash(second) == content_hash(archive)
        own = ("reader", "source")
        assert {k: v for k, v in second.meta.items() if k not in own} == {
            k: v for k, v in archive.meta.items() if k not in own
        }


@pytest.mark.parametrize("format", READERS)
def test_an_export_imported_is_the_archive(archive, tmp_path, format):
    archive.upsert([Judgement("train", "no such query", "1", 1), Question("3", "Ends in space \r", "\n a\r b\n")])
    archive.set_meta(license="CC BY-SA", groups=["a"])
    assert_reimports_equal(archive, tmp_path, format)


@pytest.mark.parametrize("format", READERS)
def test_the_example_archive_is_reimported(tmp_path, format):
    import_archive("table", [Path(__file__).parents[2] / "examples/riverside.csv"], tmp_path / "first")
    with Archive.open(tmp_path / "first") as archive:
        assert archive.meta["languages"] == ["de", "en"]
        assert_reimports_equal(archive, tmp_path, format)


@pytest.mark.parametrize("format", READERS)
@pytest.mark.parametrize(
    ("reader", "path"),
    [
        ("stackexchange", "stackexchange/beer.stackexchange.com"),
        ("table", "rubq-ru/RuBQ_1.0_dev.json"),
        pytest.param("pairs", "yahoo-zhang2014/dev.tsv", marks=pytest.mark.long),
    ],
)
def test_real_archives_are_reimported(tmp_path, shared_data, reader, path, format):
    import_archive(reader, [shared_data / path], tmp_path / "first")
    with Archive.open(tmp_path / "first") as archive:
        assert_reimports_equal(archive, tmp_path, format)


@pytest.mark.parametrize("format", READERS)
def test_row_longer_than_csv_allows_is_reimported(tmp_path, format):
    with Archive.create(tmp_path / "first") as archive:
        archive.upsert([Question("1", "How?", "x" * 200_000), *(Answer(str(n), "1", "y\n" * 50_000) for n in range(9))])
        assert_reimports_equal(archive, tmp_path, format)


TEXT = st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=20)
FILLED = TEXT.filter(bool)
OPTIONAL = st.none() | FILLED
QUESTIONS = st.builds(
    Question, FILLED, TEXT, TEXT, st.sampled_from(["text", "html"]), st.lists(TEXT, unique=True).map(tuple), OPTIONAL,
    st.sampled_from([None, "en", "de"]), st.sampled_from([None, "2020-01-01T00:00:00"]), author=OPTIONAL, url=OPTIONAL,
    license=OPTIONAL, votes=st.none() | st.integers(-9, 9), accepted_answer_id=OPTIONAL,
    rephrasings=st.lists(TEXT).map(tuple),
)  # fmt: skip
RECORDS = st.lists(
    QUESTIONS
    | st.builds(Answer, FILLED, FILLED, TEXT, author=OPTIONAL, label=OPTIONAL)
    | st.builds(Link, FILLED, FILLED, st.sampled_from(["duplicate", "related"]))
    | st.builds(EvaluationQuery, st.sampled_from(["train", "test"]), st.builds(Question, FILLED, TEXT, TEXT))
    | st.builds(
        Judgement, st.sampled_from(["train", "x"]), FILLED, FILLED, st.none() | st.integers(-1, 2),
        st.none() | st.integers(1, 3), st.sampled_from(["questions", "answers"]),
    ),
    max_size=8,
)  # fmt: skip


@pytest.mark.parametrize("format", READERS)
@given_records(RECORDS)
@example([Question("1", "?"), Link("1", "1")])
@example([Question("1", "?", "a\rb", tags=("",), rephrasings=("[", " x|", "")), Link('a"\t', "b\n", "related")])
@example([EvaluationQuery("dev.2", Question("q", "What?")), Judgement("dev.2", "q", "1", 1)])
@example([EvaluationQuery("dev", Question('a\n"b', "What?")), Judgement("dev", 'a\n"b', "c\rd", 1)])
@examples(60)
def test_any_archive_is_reimported(format, records):
    with tempfile.TemporaryDirectory() as folder, Archive.create(Path(folder) / "first") as archive:
        archive.upsert([Question("q", "There is one."), *records])
        assert_reimports_equal(archive, Path(folder), format)


def test_a_spreadsheet_export_is_refused(archive, tmp_path):
    export_archive(archive, "spreadsheet", tmp_path / "out")
    with pytest.raises(InputError, match="exported for a spreadsheet.*export it again with --format csv"):
        import_archive("table", [tmp_path / "out"], tmp_path / "second")
    assert not (tmp_path / "second").exists()


def test_an_invalid_edited_row_is_rejected(archive, tmp_path):
    export_archive(archive, "csv", tmp_path / "out")
    table = tmp_path / "out/questions.csv"
    table.write_text(table.read_text().replace("2020-01-01T00:00:00", "last year"))
    done = import_archive("table", [tmp_path / "out"], tmp_path / "second")
    assert (done.questions, done.rejected) == (1, 1)
    assert "'last year': expected a date" in (tmp_path / "second/rejected.jsonl").read_text()


def test_table_reader_reads_back_its_own_export(tmp_path):
    before = tmp_path / "faq.csv"
    before.write_text(
        "id,question,body,answer,tags,alternates,duplicate_of,category,lang,created_at,url\n"
        'a,"How, exactly?","two\nlines","[""one"", ""two""]","[""x, y""]",Which?|By what?,,food,en,2020-01-01,u\n'
        "b,Quite how?,,three,x|y,,a,,de,,\n",
        encoding="utf-8",
    )
    import_archive("table", [before], tmp_path / "first")
    with Archive.open(tmp_path / "first") as first:
        export_archive(first, "csv", tmp_path / "out")
        import_archive("table", [tmp_path / "out/questions.csv"], tmp_path / "second")
        with Archive.open(tmp_path / "second") as second:
            assert contents(second) == contents(first)
            assert len(contents(first)[1]) == 3


@pytest.mark.parametrize(
    ("values", "cell"),
    [
        ((), ""),
        (("a",), "a"),
        (("a, b", "c; d"), "a, b|c; d"),
        (("a, b",), '["a, b"]'),
        (("a|b", "c"), '["a|b", "c"]'),
        (("[x]",), '["[x]"]'),
        ((" a", "b"), '[" a", "b"]'),
        (("", "b"), '["", "b"]'),
        (("кот", "пёс"), "кот|пёс"),
    ],
)
def test_several_values_in_a_cell(values, cell):
    assert join_cell(values) == cell
    assert parse_cell(cell) == values
