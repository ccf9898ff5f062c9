import bz2
import gzip
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from imported import Importing, Refusing
from openpyxl import Workbook

from askalike.core.errors import InputError, SettingsError
from askalike.core.records import Link
from askalike.readers import import_archive
from askalike.store import Archive
from askalike.store.database import FirstTextStore


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_all_usual_columns(imported: Importing, tmp_path: Path) -> None:
    faq = write(
        tmp_path / "faq.csv",
        "ID,Question,Answer,Body,Tags,Category,Alternate Questions,Duplicate Of,URL,Lang,Created At\n"
        '1,How do I log in?,Press the button.,"At home,\nat night",a|b,Access,"[""Where is the login?"", ""Hm""]",,'
        "https://x/1,en-US,2024-02-03 04:05:06+02:00\n"
        "2,Login how?,See 1.,,c;d,Access,Sign in? | Log on?,1,,,\n",
    )
    done = imported("table", faq)
    assert done.summary.counts == "2 questions, 2 answers, 1 duplicate link, 0 rejected"
    one, two = done.questions["1"], done.questions["2"]
    assert (one.title, one.body, one.tags, one.category) == (
        "How do I log in?", "At home,\nat night", ("a", "b"), "Access",
    )  # fmt: skip
    assert (one.rephrasings, two.rephrasings) == (("Where is the login?",), ("Sign in?", "Log on?"))
    assert (one.url, one.language, one.created_at) == ("https://x/1", "en", "2024-02-03T02:05:06")
    assert two.tags == ("c", "d")
    assert list(done.archive.view().links()) == [Link("2", "1")]
    [answer] = done.archive.view().get_answers_to(["1"])["1"]
    assert (answer.body, answer.accepted) == ("Press the button.", True)
    assert done.summary.notes == {"alternates of three letters or fewer dropped": 1}


def test_the_columns_of_a_forum(imported: Importing, tmp_path: Path) -> None:
    rows = "Topic ID;Subject;Message;Posted on;Permalink\n7;How do I log in?;At home;2024-02-03;https://x/7\n"
    done = imported("table", write(tmp_path / "forum.csv", rows))
    question = done.questions["7"]
    assert (question.title, question.body) == ("How do I log in?", "At home")
    assert (question.created_at, question.url) == ("2024-02-03T00:00:00", "https://x/7")
    assert not done.summary.notes


RECORD = {"question": "How do I log in?", "answers": ["Press.", "Ask."], "paraphrases": ["Where is it?"], "tags": ["a"]}
NESTED = {"skip": [{"a": 1}], "root": {"n": 1, "rows": [RECORD]}}
CELLS = ["How do I log in?", '["Press.","Ask."]', "Where is it?", "a"]
QUOTED = ["How do I log in?", '"[""Press."",""Ask.""]"', "Where is it?", "a"]
HEADER = ["question", "answers", "paraphrases", "tags"]


def delimited(delimiter: str, header: list[str], cells: list[str], end: str = "\n") -> bytes:
    return "".join(delimiter.join(row) + end for row in (header, cells)).encode()


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("a.jsonl", json.dumps(RECORD).encode(), {}),
        ("a.jsonl.gz", gzip.compress(json.dumps(RECORD).encode(), mtime=0), {}),
        ("a.json.bz2", bz2.compress(json.dumps([RECORD], indent=2).encode()), {}),
        ("a.json", json.dumps(NESTED).encode(), {"records": "root.rows"}),
        ("a.csv", b"\xef\xbb\xbf" + delimited(",", HEADER, QUOTED), {}),
        ("a.csv", delimited(";", HEADER, QUOTED, "\r\n"), {}),
        ("a.tsv", delimited("\t", ["_question", "_answers", "paraphrases", "Tags"], CELLS), {"quotes": False}),
        (
            "a.txt",
            delimited("\t", ["Frage", "answers", "andere", "tags"], QUOTED),
            {"question": "Frage", "alternates": "Andere"},
        ),
    ],
)
def test_the_same_row_in_every_form(
    imported: Importing, tmp_path: Path, name: str, content: bytes, options: dict[str, Any]
) -> None:
    (tmp_path / name).write_bytes(content)
    done = imported("table", tmp_path / name, **options)
    [question] = done.questions.values()
    assert (question.title, question.rephrasings, question.tags) == ("How do I log in?", ("Where is it?",), ("a",))
    answers = done.archive.view().get_answers_to([question.id])[question.id]
    assert [(a.body, a.accepted) for a in answers] == [("Press.", False), ("Ask.", False)]
    again = imported("table", tmp_path / name, **options)
    assert again.summary.counts == "1 question, 2 answers, 0 duplicate links, 0 rejected"


def test_repeated_question_without_ids_gains_answers(imported: Importing, tmp_path: Path) -> None:
    faq = write(tmp_path / "faq.csv", "question,answer\nWhy?,Because.\nWhy?,Therefore.\nWhy?,Because.\n")
    done = imported("table", faq)
    assert done.summary.counts == "1 question, 2 answers, 0 duplicate links, 0 rejected"
    assert sum(done.summary.notes.values()) == 3


def test_repeated_ids_are_kept_or_rejected(imported: Importing, tmp_path: Path) -> None:
    faq = write(tmp_path / "faq.csv", "id,question,answer\n7,Why?,Because.\n7,Where?,There.\n7,Why?,So.\n")
    done = imported("table", faq, repeated_ids="reject")
    assert done.summary.counts == "1 question, 1 answer, 0 duplicate links, 2 rejected"
    rejected = done.archive.path / "rejected.jsonl"
    assert '"line": 3, "reason": "question id \'7\' occurs twice' in rejected.read_text()
    done = imported("table", faq)
    assert done.summary.counts == "2 questions, 2 answers, 0 duplicate links, 1 rejected"
    assert '"line": 4, "reason": "question id \'7\' occurs twice' in rejected.read_text()
    assert list(done.summary.notes.values()) == [1]
    assert [id.partition("#")[0] for id in done.questions] == ["7", "7"]


def test_repeated_id_is_rejected_despite_rows_without_ids(imported: Importing, tmp_path: Path) -> None:
    rows = (
        '{"id": 1, "question": "Why?"}\n{"id": 1, "question": "Where?"}\n{"question": "When?"}\n{"question": "When?"}'
    )
    done = imported("table", write(tmp_path / "faq.jsonl", rows), repeated_ids="reject")
    assert done.summary.counts == "2 questions, 0 answers, 0 duplicate links, 1 rejected"
    assert done.summary.notes == {"questions that repeat an earlier one merged with it": 1}
    assert '"row": {"id": "1", "title": "Where?"' in (done.archive.path / "rejected.jsonl").read_text()


def test_a_bare_carriage_return_rejects_its_row_alone(imported: Importing, tmp_path: Path) -> None:
    rows = b'question,answer\r\nHow do I\r join?,yes\r\n"Who\r are you?",We.\r\nWhere?,"a\nb",c\rd\r\nWhen?,Now.\r\n'
    (tmp_path / "faq.csv").write_bytes(rows)
    done = imported("table", tmp_path / "faq.csv")
    assert [question.title for question in done.questions.values()] == ["Who\r are you?", "When?"]
    rejected = (done.archive.path / "rejected.jsonl").read_text().splitlines()
    assert ["a carriage return in a field without quotes" in row for row in rejected] == [True, True]


def test_carriage_returns_are_to_be_converted(expect_refusal: Refusing, tmp_path: Path) -> None:
    (tmp_path / "faq.csv").write_bytes(b"question,answer\rHow do I join?,yes\rWho?,no\r")
    expect_refusal("line 1: a carriage return .* convert the file: tr", "table", tmp_path / "faq.csv")


def test_repeated_ids_are_remembered_on_disk(tmp_path: Path) -> None:
    with FirstTextStore() as first:
        assert [first.get_or_add("1", "a"), first.get_or_add("1", "b"), first.get_or_add("2", "b")] == ["a", "a", "b"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,,a,,\n", "no question"),
        ("1,Why?,a,,English\n", "language 'English': expected a two-letter code"),
        ("1,Why?\n", "2 fields; the header has 5"),
        ("1,Why?,a,,en,f\n", "6 fields; the header has 5"),
    ],
)
def test_rows_that_cannot_be_taken(imported: Importing, tmp_path: Path, row: str, reason: str) -> None:
    faq = write(tmp_path / "faq.csv", "id,question,answer,date,lang\n0,Where?,There.,1400000000,\n\n" + row)
    done = imported("table", faq)
    assert done.summary.counts == "1 question, 1 answer, 0 duplicate links, 1 rejected"
    [line] = (done.archive.path / "rejected.jsonl").read_text().splitlines()
    entry = json.loads(line)
    assert entry["reason"].startswith(reason)
    assert (entry["file"], entry["line"]) == (str(faq), 4)
    assert done.questions["0"].created_at == "2014-05-13T16:53:20"


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.csv", b"q,a\nWhy?,b\n", {}, r"no column is known to hold the question; there are: q, a\. .*--question"),
        ("a.csv", b"question,a\nWhy?,b\n", {"question": "frage"}, r"no column 'frage'; there are: question, a"),
        ("a.csv", b"question,a\nWhy?,b\n", {"tags": "t"}, r"no column 't', which --tags names; there are: question, a"),
        (
            "a.csv",
            b"title,a\nWhy?,b\n",
            {"answer": "title"},
            r"no column is known to hold the question; there are: title, a \('title' is given as --answer\)",
        ),
        ("a.jsonl", b'{"title": {"text": "Why?"}}\n', {}, r"title is an object in JSON; .*--question title\.text"),
        ("a.jsonl", b'{"title": "a"}\n', {"tags": "a.b"}, r"no column 'a\.b', which --tags names; there are: title"),
        (
            "a.csv",
            b'question,a\nHow?,c\n"Why?,b\nWho?,x\n',
            {},
            r"line 3: a quote that opens in this row is not closed",
        ),
        ("a.csv", b'question,a\nHow?,c\n"Why?,b\nWho?,"x"\n', {}, r"line 3: a quote that opens in this row"),
        ("a.csv", b"question,a\nHow?,caf\xe9\n", {}, r"line 2: byte 19 \(0xe9\) is not UTF-8"),
        ("a.csv", b"", {}, r"is empty"),
        ("a.csv", b"question,a\n", {}, r"no question in it"),
        ("a.json", b'[{"question": "Why?"}, {"question"', {}, r"line 1: not JSON .*cut short"),
        ("a.json", b'{"a": {"b": 1}}', {"records": "a.c"}, r"--records a\.c: not there; keys at that place: b"),
        ("a.json", b'{"a": {"b": 1}}', {"records": "a.b"}, r"expected a list of records"),
        ("a.json", b'{\n"meta": {"n": 1},\n"rows": [{}]\n}\n', {}, r"its keys: meta, rows\), .*--records rows$"),
        ("a.json", b'{\n"a": []}', {}, r"is one JSON document \(its keys: a\), .*--records a$"),
        ("a.json", b'{"n": 2, "items": [{"question": "Why?"}]}', {}, r"there are: n, items\. .* --records items$"),
        ("a.json", b'{"data": {"rows": [{"question": "Why?"}]}}', {}, r"Name .* with --records data\.rows$"),
        ("a.csv", b"How do I log in?,Press.\n", {}, r"Name it with --question; or, if .*, use --no-header$"),
        ("a.json", b'{"items": [\n{"question": "Why?"}\n]}', {}, r"\(its keys: items\), .*--records items$"),
        ("a.jsonl", b'{"a\n{"question"\n', {}, r"is one JSON document, not one object per line; .*--records items"),
        ("a.jsonl.gz", gzip.compress(b'{"question": "Why?"}\n' * 9000, mtime=0)[:-30], {}, r"reading failed"),
    ],
)
def test_bad_files_are_one_clear_error(
    tmp_path: Path, name: str, content: bytes, options: dict[str, Any], message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        import_archive("table", [tmp_path / name], tmp_path / "out", options=options)
    assert "\n" not in str(error.value)


def test_nuls_and_lone_surrogates_are_replaced(imported: Importing, tmp_path: Path) -> None:
    lines = [
        '{"question": "a\\u0000b\\ud800c", "answer": "x\\ud83d\\ude00"}',
        '{"question": "d\0e"}',
        "[1]",
        "{",
        "[" * 100_000,
    ]
    done = imported("table", write(tmp_path / "a.jsonl", "\n".join(lines)))
    assert {q.title for q in done.questions.values()} == {"a\ufffdb\ufffdc", "d\ufffde"}
    assert done.rows("SELECT body FROM answers") == [("x😀",)]
    assert done.summary.rejected == 3


def test_stray_quotes_are_taken_as_they_stand(imported: Importing, tmp_path: Path) -> None:
    faq = write(tmp_path / "a.tsv", 'question\tanswer\n"Help" please?\t5 wide\n"Say ""hi""?"\tb\n')
    done = imported("table", faq)
    assert {q.title for q in done.questions.values()} == {"Help please?", 'Say "hi"?'}


def test_chinese_alternates_of_three_characters_stay(imported: Importing, tmp_path: Path) -> None:
    faq = write(tmp_path / "a.csv", "question,alternates\n忘记密码怎么办?,怎么办|abc\n")
    [question] = imported("table", faq).questions.values()
    assert question.rephrasings == ("怎么办",)


def test_json_streams_through_tokenizer_of_any_size(imported: Importing, tmp_path: Path) -> None:
    rows = [{"id": n, "question": f"Why {n}?", "body": "é" * 90_001 * (n % 3)} for n in range(12)]
    path = write(tmp_path / "a.json", json.dumps({"x": {"y": rows}}, indent=1, ensure_ascii=False))
    done = imported("table", path, records="x.y")
    assert [len(q.body) for q in done.questions.values()] == [90_001 * (n % 3) for n in range(12)]


def test_columns_are_checked_before_the_first_row(expect_refusal: Refusing, tmp_path: Path) -> None:
    rows = "".join(f"How do I mend part {n}?,Turn it.\n" for n in range(6_000))
    faq = write(tmp_path / "faq.csv", f"question,answer\n{rows}")
    expect_refusal(
        "no column 'topik', which --category names; there are: question, answer", "table", faq, category="topik"
    )


def test_column_in_later_json_rows_is_known(imported: Importing, tmp_path: Path) -> None:
    lines = [json.dumps({"id": n, "question": f"Why {n}?"} | ({"topic": "late"} if n == 29 else {})) for n in range(30)]
    done = imported("table", write(tmp_path / "faq.jsonl", "\n".join(lines)), category="topic")
    assert [q.category for q in done.questions.values()] == [None] * 29 + ["late"]


def test_nested_json_is_named_with_dots(imported: Importing, tmp_path: Path) -> None:
    row = {"title": {"text": "How do I log in?"}, "answers": [{"body": "Press."}, {"body": "Ask."}], "meta": [{"a": 1}]}
    faq = write(tmp_path / "faq.json", json.dumps([row]))
    done = imported("table", faq, question="title.text", answer="answers.body")
    [question] = done.questions.values()
    assert question.title == "How do I log in?"
    assert sorted(body for (body,) in done.rows("SELECT body FROM answers")) == ["Ask.", "Press."]
    unnamed = imported("table", faq, question="title.text")
    assert [note for note in unnamed.summary.notes if "--answer answers.body" in note]


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le"])
def test_other_encodings(imported: Importing, tmp_path: Path, encoding: str) -> None:
    text = "Frage;Antwort\nWie ändere ich mein Kennwort?;Über die Seite „Konto“.\n"
    (tmp_path / "faq.csv").write_bytes(text.encode(encoding))
    named = None if encoding == "utf-16" else encoding
    summary = import_archive(
        "table", [tmp_path / "faq.csv"], tmp_path / "out", options={"question": "Frage", "answer": "Antwort"},
        encoding=named,
    )  # fmt: skip
    assert summary.notes == ({} if named else {"files read as UTF-16, as their first two bytes say": 1})
    with Archive.open(tmp_path / "out") as archive:
        [(_, question)] = archive.view().questions()
        assert question.title == "Wie ändere ich mein Kennwort?"
        assert [a.body for _, a in archive.view("answers").answers()] == ["Über die Seite „Konto“."]


def test_wrong_encoding_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "faq.csv").write_bytes("question\nWie ändere ich das?\n".encode("cp1252"))
    with pytest.raises(InputError, match=r"byte 13 \(0xe4\) is not UTF-8; .*--encoding cp1252.* iconv -f CP1252 -t"):
        import_archive("table", [tmp_path / "faq.csv"], tmp_path / "out")
    with pytest.raises(InputError, match=r"faq\.csv: byte 13 is not ascii .*--encoding"):
        import_archive("table", [tmp_path / "faq.csv"], tmp_path / "out", encoding="ascii")
    with pytest.raises(SettingsError, match=r"encoding 'klingon' is unknown"):
        import_archive("table", [tmp_path / "faq.csv"], tmp_path / "out", encoding="klingon")


def test_link_to_itself_is_left_out(imported: Importing, tmp_path: Path) -> None:
    faq = write(tmp_path / "faq.csv", "id,question,duplicate_of\n1,How do I log in?,1\n2,Login how?,1 | 2\n")
    done = imported("table", faq)
    assert list(done.archive.view().links()) == [Link("2", "1")]
    assert done.summary.notes == {"links of a question to itself left out": 2}


def dated(imported: Importing, tmp_path: Path, *dates: str, **options: Any) -> tuple[list[str | None], dict[str, int]]:
    rows = "".join(f'Why {n}?,"{date}"\n' for n, date in enumerate(dates))
    done = imported("table", write(tmp_path / "faq.csv", f"question,date\n{rows}"), **options)
    assert done.summary.rejected == 0
    return [q.created_at for q in done.questions.values()], dict(done.summary.notes)


def test_dates_that_people_write(imported: Importing, tmp_path: Path) -> None:
    dates = ["12.03.2023", "1.2.23 14:05", "12. März 2023", "March 12, 2023 4:05 PM", "Mar-2023", "soon", "31.02.2023"]
    assert dated(imported, tmp_path, *dates) == (
        ["2023-03-12T00:00:00", "2023-02-01T14:05:00", "2023-03-12T00:00:00", "2023-03-12T16:05:00", None, None, None],
        {"dates that could not be read (their rows are kept without a date), e.g. 'Mar-2023', 'soon', '31.02.2023'": 3},
    )


@pytest.mark.parametrize(
    ("dates", "options", "first"),
    [
        (["03/04/2023", "13/04/2023"], {}, "2023-04-03T00:00:00"),
        (["03/04/2023", "04/13/2023"], {}, "2023-03-04T00:00:00"),
        (["03/04/2023", "13/04/2023"], {"dates": "month-first"}, "2023-03-04T00:00:00"),
        (["03/04/2023"], {"dates": "day-first"}, "2023-04-03T00:00:00"),
        (["03/04/2023"], {}, None),
        (["03/04/2023", "13/04/2023", "04/13/2023"], {}, None),
    ],
)
def test_date_order_is_what_the_file_shows(
    imported: Importing, tmp_path: Path, dates: list[str], options: dict[str, Any], first: str | None
) -> None:
    read, notes = dated(imported, tmp_path, *dates, **options)
    assert read[0] == first
    assert all("--dates day-first" in note for note in notes)
    assert sum(notes.values()) == (first is None)


def test_a_doubtful_date_stops_a_strict_import(tmp_path: Path) -> None:
    faq = write(tmp_path / "faq.csv", "question,date\nWhy?,soon\n")
    with pytest.raises(InputError, match=r"line 2: date 'soon'.*--strict"):
        import_archive("table", [faq], tmp_path / "out", strict=True)


def test_columns_of_states(imported: Importing, tmp_path: Path) -> None:
    rows = 'id,question,Status,Fixed In\n1,a?,Solved,2.1\n2,b?,"closed, archived",\n3,c?,,\n4,d?,weird,\n'
    done = imported("table", write(tmp_path / "faq.csv", rows))
    assert [q.states for q in done.questions.values()] == [("answered",), ("closed", "locked"), ("open",), ("open",)]
    assert done.questions["1"].solved_in == "2.1"
    assert list(done.summary.notes.values()) == [1]
    strict = imported("table", write(tmp_path / "again.csv", rows), state="Status")
    assert strict.summary.rejected == 1


def test_columns_that_are_left_out_are_named(imported: Importing, tmp_path: Path) -> None:
    first = write(tmp_path / "a.csv", "No.,Question,Alternate phrasings, \n1,How do I log in?,Sign in?,\n")
    second = write(tmp_path / "b.jsonl", '{"question": "How do I log out?", "No.": 2, "meta": {"by": "x"}}')
    done = imported("table", first, second, id="meta.by")
    [[note, count]] = done.summary.notes.items()
    assert note.startswith("columns left out; to import one, name it with --answer, --body, --tags, --category, --alt")
    assert note.endswith(" (No., Alternate phrasings)")
    assert str(done.summary).splitlines()[1:] == [f"{note}: {count}"] == [f"{note}: 2"]
    many = write(tmp_path / "c.csv", "question," + ",".join(f"c{n}" for n in range(12)) + "\nWho?" + "," * 12 + "\n")
    [[note, count]] = imported("table", many).summary.notes.items()
    assert (note.endswith("(c0, c1, c2, c3, c4, c5, c6, c7, …)"), count) == (True, 12)


def test_html_that_is_not_declared_is_counted(imported: Importing, tmp_path: Path) -> None:
    faq = write(
        tmp_path / "faq.csv",
        "question,answer,body\nOne?,<p>Yes.</p>,a < b > c\nTwo?,Tom &amp; Jerry,one<br>two\nThree?,AT&T <3,1 & 2\n",
    )
    note = "titles, bodies and answers that look like HTML and are read as plain text (else: --markup html)"
    assert imported("table", faq).summary.notes == {note: 3}
    assert imported("table", faq).summary.notes == {note: 3}, "once, though an import again reads the file twice"
    assert imported("table", faq, markup="html").summary.notes == {}


def test_folder_may_contain_the_written_archive(imported: Importing, tmp_path: Path) -> None:
    write(tmp_path / "faq.csv", "question,answer\nHow do I log in?,Press.\n,an answer alone\n")
    for _ in range(2):
        done = imported("table", tmp_path)
        assert done.summary.counts == "1 question, 1 answer, 0 duplicate links, 1 rejected"
        assert (done.archive.path / "rejected.jsonl").is_file()


@pytest.mark.parametrize(
    "cell", ["zahlung,sepa", "zahlung, sepa", "zahlung;sepa", "zahlung|sepa", '["zahlung", "sepa"]']
)
def test_tags_are_split_at_commas_too(imported: Importing, tmp_path: Path, cell: str) -> None:
    row = {"question": "Wie zahle ich?", "tags": cell, "alternates": "Kann ich mit Karte, bar oder per SEPA zahlen?"}
    [question] = imported("table", write(tmp_path / "a.jsonl", json.dumps(row))).questions.values()
    assert question.tags == ("zahlung", "sepa")
    assert question.rephrasings == (row["alternates"],)
    other = {"question": "Wo?", "tags": "a,b|c"}
    *_, question = imported("table", write(tmp_path / "b.jsonl", json.dumps(other))).questions.values()
    assert question.tags == ("a,b", "c")


@pytest.mark.parametrize(
    "header",
    [
        "Text,Frage,Antwort,Schlagworte,Kategorie,Datum,Sprache",
        "Contenu,Question,Réponse,Mots-clés,Catégorie,Date de création,Langue",
        "Texto,Pregunta,Respuesta,Palabras clave,Categoría,Fecha,Idioma",
        "Описание,Вопрос,Ответ,Ключевые слова,Раздел,Дата,Язык",
        "CONTENU,Question,Re\u0301ponse,E\u0301tiquettes,RUBRIQUE,cree le,langue",
    ],
)
def test_columns_of_other_languages(imported: Importing, tmp_path: Path, header: str) -> None:
    faq = write(tmp_path / "faq.csv", f"{header}\nLong.,Why?,So.,a|b,Bills,3. Mai 2024,fr\n")
    done = imported("table", faq)
    [question] = done.questions.values()
    assert (question.title, question.body, question.tags) == ("Why?", "Long.", ("a", "b"))
    assert (question.category, question.created_at, question.language) == ("Bills", "2024-05-03T00:00:00", "fr")
    assert done.archive.view().get_answers_to([question.id])[question.id][0].body == "So."
    assert done.summary.notes == {}


def test_russian_dates(imported: Importing, tmp_path: Path) -> None:
    expected = ["2023-03-12T00:00:00", "2023-08-01T14:05:00", "2023-11-30T00:00:00"]
    assert dated(imported, tmp_path, "12 марта 2023 г.", "1 авг. 2023 г. 14:05", "30 Ноября 2023 года") == (
        expected,
        {},
    )


def test_declared_html_titles_are_cleaned(imported: Importing, tmp_path: Path) -> None:
    rows = (
        "question,answer\n<b>Wo</b> ist Tom &amp; Jerry?,<p>Da.</p>\nWhat does <b> do with a < b?,It <b>shouts</b>.\n"
    )
    done = imported("table", write(tmp_path / "faq.csv", rows), markup="html")
    assert [q.title for q in done.questions.values()] == ["Wo ist Tom & Jerry?", "What does <b> do with a < b?"]
    assert done.summary.notes == {"titles with HTML made plain text": 1}
    plain = imported("table", write(tmp_path / "plain.csv", rows.replace("<p>Da.</p>", "Da.")))
    assert set(plain.questions) == set(done.questions), "an id that is made of the text is made of the file's"
    assert plain.summary.notes == {
        "titles, bodies and answers that look like HTML and are read as plain text (else: --markup html)": 2
    }


def test_a_table_without_a_header(imported: Importing, tmp_path: Path) -> None:
    done = imported("table", write(tmp_path / "faq.tsv", "Why?\tSo.\tx\nWho?\tShe.\ty\n"), header=False)
    assert [q.title for q in done.questions.values()] == ["Why?", "Who?"]
    assert done.summary.answers == 2
    [note] = done.summary.notes
    assert note.endswith("--solved-in (3)")
    named = imported(
        "table", write(tmp_path / "named.csv", "1,x,When?\n"), header=False, question="3", answer="2", id="1"
    )
    assert named.questions["1"].title == "When?"


def workbook(path: Path, **sheets: list[list[Any]]) -> Path:
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_an_excel_workbook(imported: Importing, tmp_path: Path) -> None:
    header = ["Nr", "ID", "Frage", "Antwort", "Schlagworte", "Datum"]
    rows = [
        [1, 17, "Wie zahle\nich?", "Per SEPA.", "zahlung,sepa", datetime(2024, 5, 3, 14, 5)],
        [],
        [2, 18, "Wo?", None, None, None],
        [3, 19, "Wann?", "Um acht.", "", "morgen", "", "a cell too many"],
    ]
    faq = workbook(tmp_path / "faq.xlsx", Deckblatt=[], Fragen=[header, *rows], Alt=[["Frage"], ["Warum?"]])
    done = imported("table", faq)
    question = done.questions["17"]
    assert (question.title, question.tags, question.created_at) == (
        "Wie zahle\nich?", ("zahlung", "sepa"), "2024-05-03T14:05:00",
    )  # fmt: skip
    assert (list(done.questions), done.summary.answers, done.summary.rejected) == (["17", "18"], 1, 1)
    assert '"line": 5' in (done.archive.path / "rejected.jsonl").read_text()
    assert done.summary.notes["sheets left out (--sheet NAME reads one of them)"] == 1
    assert [q.title for q in imported("table", faq, sheet="Alt").questions.values()][-1] == "Warum?"
    renamed = faq.rename(tmp_path / "faq.csv")
    assert imported("table", renamed).summary.changes["questions"]["unchanged"] == 2


def test_bad_workbooks_are_one_clear_error(expect_refusal: Refusing, tmp_path: Path) -> None:
    faq = workbook(tmp_path / "faq.xlsx", Eins=[["Frage"], ["Wo?"]], Zwei=[])
    (tmp_path / "cut.xlsx").write_bytes(faq.read_bytes()[:-500])
    expect_refusal(r"faq\.xlsx: no sheet 'Drei'; there are: Eins, Zwei$", "table", faq, sheet="Drei")
    expect_refusal(r"faq\.xlsx: is empty", "table", faq, sheet="Zwei")
    expect_refusal(r"cut\.xlsx: is not an Excel workbook, or is damaged", "table", tmp_path / "cut.xlsx")
