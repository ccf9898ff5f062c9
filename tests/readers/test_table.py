import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from imported import Importing

from askalike.errors import InputError
from askalike.readers import import_archive
from askalike.store.database import FirstTextStore
from askalike.types import Link


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
    assert str(done.summary) == "2 questions, 2 answers, 1 duplicate links, 0 rejected"
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
    assert str(again.summary) == "1 questions, 2 answers, 0 duplicate links, 0 rejected"


def test_a_question_that_comes_again_without_ids_gains_answers(imported: Importing, tmp_path: Path) -> None:
    faq = write(tmp_path / "faq.csv", "question,answer\nWhy?,Because.\nWhy?,Therefore.\nWhy?,Because.\n")
    done = imported("table", faq)
    assert str(done.summary) == "1 questions, 2 answers, 0 duplicate links, 0 rejected"
    assert sum(done.summary.notes.values()) == 3


def test_repeated_ids_are_kept_or_rejected(imported: Importing, tmp_path: Path) -> None:
    faq = write(tmp_path / "faq.csv", "id,question,answer\n7,Why?,Because.\n7,Where?,There.\n7,Why?,So.\n")
    done = imported("table", faq, repeated_ids="reject")
    assert str(done.summary) == "1 questions, 1 answers, 0 duplicate links, 2 rejected"
    rejected = done.archive.path / "rejected.jsonl"
    assert '"line": 3, "reason": "question id \'7\' occurs twice' in rejected.read_text()
    done = imported("table", faq)
    assert str(done.summary) == "2 questions, 2 answers, 0 duplicate links, 1 rejected"
    assert '"line": 4, "reason": "question id \'7\' occurs twice' in rejected.read_text()
    assert list(done.summary.notes.values()) == [1]
    assert [id.partition("#")[0] for id in done.questions] == ["7", "7"]


def test_repeated_ids_are_remembered_on_disk(tmp_path: Path) -> None:
    with FirstTextStore() as first:
        assert [first.get_or_add("1", "a"), first.get_or_add("1", "b"), first.get_or_add("2", "b")] == ["a", "a", "b"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("1,,a,,\n", "no question"),
        ("1,Why?,a,soon,\n", "date 'soon'"),
        ("1,Why?,a,2020-13-01,\n", "date '2020-13-01'"),
        ("1,Why?,a,,English\n", "language 'English': expected a two-letter code"),
        ("1,Why?\n", "2 fields; the header has 5"),
        ("1,Why?,a,,en,f\n", "6 fields; the header has 5"),
    ],
)
def test_rows_that_cannot_be_taken(imported: Importing, tmp_path: Path, row: str, reason: str) -> None:
    faq = write(tmp_path / "faq.csv", "id,question,answer,date,lang\n0,Where?,There.,1400000000,\n\n" + row)
    done = imported("table", faq)
    assert str(done.summary) == "1 questions, 1 answers, 0 duplicate links, 1 rejected"
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
        ("a.csv", b"question,a\nWhy?,b\n", {"tags": "t"}, r"no row has the column 't' given as --tags"),
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
        ("a.json", b'{\n"a": []}', {}, r"all 2 rows were rejected, line 1: not JSON"),
        ("a.jsonl.gz", gzip.compress(b'{"question": "Why?"}\n' * 9000, mtime=0)[:-30], {}, r"cannot be read on"),
    ],
)
def test_bad_files_are_one_clear_error(
    tmp_path: Path, name: str, content: bytes, options: dict[str, Any], message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        import_archive("table", [tmp_path / name], tmp_path / "out", options=options)
    assert "\n" not in str(error.value)


def test_nothing_is_left_of_an_archive_without_questions(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        import_archive("table", [write(tmp_path / "a.csv", "question\n\n")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


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


def test_stray_quotes_in_one_line_are_taken_as_they_stand(imported: Importing, tmp_path: Path) -> None:
    faq = write(tmp_path / "a.tsv", 'question\tanswer\n"Help" please?\t5 wide\n"Say ""hi""?"\tb\n')
    done = imported("table", faq)
    assert {q.title for q in done.questions.values()} == {"Help please?", 'Say "hi"?'}


def test_chinese_alternates_of_three_characters_stay(imported: Importing, tmp_path: Path) -> None:
    faq = write(tmp_path / "a.csv", "question,alternates\n忘记密码怎么办?,怎么办|abc\n")
    [question] = imported("table", faq).questions.values()
    assert question.rephrasings == ("怎么办",)


def test_json_streams_through_pieces_of_any_size(imported: Importing, tmp_path: Path) -> None:
    rows = [{"id": n, "question": f"Why {n}?", "body": "é" * 90_001 * (n % 3)} for n in range(12)]
    path = write(tmp_path / "a.json", json.dumps({"x": {"y": rows}}, indent=1, ensure_ascii=False))
    done = imported("table", path, records="x.y")
    assert [len(q.body) for q in done.questions.values()] == [90_001 * (n % 3) for n in range(12)]
