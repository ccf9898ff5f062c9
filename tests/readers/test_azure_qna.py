"""The export of QnA Maker and of custom question answering (learn.microsoft.com, import and export formats, 2024)."""

import zipfile
from pathlib import Path

import pytest
from imported import Importing, Refusing
from openpyxl import Workbook

from askalike.core.records import Link

HEADER = ["Question", "Answer", "Source", "Metadata", "SuggestedQuestions", "IsContextOnly", "Prompts", "QnaId"]
PROMPTS = '[{"displayOrder":0,"qnaId":3,"displayText":"Hours"},{"displayOrder":1,"qnaId":2,"displayText":"Me"}]'
SITE = "https://example.org/faq"
ROWS = [
    [
        "How do I join?",
        "Fill in the *form*.\\nThen ring.",
        "Editorial",
        "topic:cards|age:all",
        "[]",
        "False",
        "[]",
        "1",
    ],
    ["What are you called?", "Riverside.", SITE, "", "[]", "False", PROMPTS, "2"],
    ["Who are you?", "Riverside.", SITE, "", "[]", "False", PROMPTS, "2"],
    ["What is your name?", "Riverside.", SITE, "", "[]", "False", PROMPTS, "2"],
    ["When are you open?", "Till eight.", SITE, "", "[]", "True", "[" * 9_000, "3"],
]


def write_tsv(path: Path, rows: list[list[str]]) -> Path:
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    return path


def write_workbook(path: Path, rows: list[list[str]]) -> Path:
    workbook = Workbook()
    workbook.active.title = "Synonyms"
    sheet = workbook.create_sheet("QnAs")
    for row in rows:
        sheet.append(row)
    workbook.save(path)
    return path


@pytest.mark.parametrize(("name", "write"), [("faq.tsv", write_tsv), ("faq.xlsx", write_workbook)])
def test_rows_with_one_id_are_one_question(imported: Importing, tmp_path: Path, name: str, write: object) -> None:
    assert callable(write)
    done = imported("azure_qna", write(tmp_path / name, [HEADER, *ROWS]))
    one, two, three = done.questions.values()
    assert (one.id, one.title, one.tags, one.category, one.url) == (
        "1", "How do I join?", ("topic:cards", "age:all"), "Editorial", None,
    )  # fmt: skip
    assert (two.title, two.rephrasings, two.url) == (
        "What are you called?", ("Who are you?", "What is your name?"), SITE,
    )  # fmt: skip
    assert three.title == "When are you open?"
    [answer] = done.archive.view().get_answers_to(["1"])["1"]
    assert (answer.body, answer.accepted) == ("Fill in the *form*.\nThen ring.", True)
    assert list(done.archive.view().links("related")) == [Link("2", "3", "related")]
    assert done.summary.notes == {"prompts that are not JSON left out": 1}


def test_without_ids_the_same_answer_makes_alternates(imported: Importing, tmp_path: Path) -> None:
    done = imported("azure_qna", write_tsv(tmp_path / "faq.tsv", [row[:3] for row in (HEADER, *ROWS)]))
    assert [len(q.rephrasings) for q in done.questions.values()] == [0, 2, 0]


def test_repeated_id_is_rejected_despite_rows_without_ids(imported: Importing, tmp_path: Path) -> None:
    rows = [
        ["Why?", "So.", "", "1"],
        ["Who?", "She.", "", "2"],
        ["Where?", "Here.", "", "1"],
        ["When?", "Now.", "", ""],
    ]
    path = write_tsv(tmp_path / "faq.tsv", [["Question", "Answer", "Source", "QnaId"], *rows])
    assert imported("azure_qna", path).summary.rejected == 1


def test_rows_that_cannot_be_taken(imported: Importing, tmp_path: Path) -> None:
    bad = [[*ROWS[0], "a tab too many"], ["", *ROWS[0][1:7], "9"]]
    done = imported("azure_qna", write_tsv(tmp_path / "faq.tsv", [HEADER, *ROWS, *bad]))
    assert (done.summary.questions, done.summary.rejected) == (3, 2)


def test_a_formula_counts_by_its_value(imported: Importing, tmp_path: Path) -> None:
    rows = [HEADER, ROWS[0], ['=HYPERLINK("https://x","y")', "No.", "", "", "", "", "", "8"]]
    done = imported("azure_qna", write_workbook(tmp_path / "faq.xlsx", rows))
    assert (list(done.questions), done.summary.rejected) == (["1"], 1)


def test_workbook_with_macros_gives_values_alone(imported: Importing, tmp_path: Path) -> None:
    """As Excel saves it: each formula with its last value, and a project of macros, which nobody runs."""
    rows = [HEADER, ROWS[0], ["formula", "Yes.", "", "", "", "", "", "8"]]
    plain = write_workbook(tmp_path / "plain.xlsx", rows)
    sheet, macros = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml", "vnd.ms-excel.sheet"
    changes = {
        f'ContentType="{sheet}"': f'ContentType="application/{macros}.macroEnabled.main+xml"',
        't="inlineStr"><is><t>formula</t></is>': 't="str"><f>CMD("calc")</f><v>Is it computed?</v>',
    }
    with zipfile.ZipFile(plain) as before, zipfile.ZipFile(tmp_path / "faq.xlsm", "w") as after:
        text = {name: before.read(name).decode() for name in before.namelist()}
        for old, new in changes.items():
            assert any(old in content for content in text.values())
            text = {name: content.replace(old, new) for name, content in text.items()}
        for name, content in text.items():
            after.writestr(name, content)
        after.writestr("xl/vbaProject.bin", b"\xd0\xcf\x11\xe0 a project of macros")
    done = imported("azure_qna", tmp_path / "faq.xlsm")
    assert [q.title for q in done.questions.values()] == ["How do I join?", "Is it computed?"]
    assert done.summary.rejected == 0


def test_bad_files_are_one_clear_error(expect_refusal: Refusing, tmp_path: Path) -> None:
    cases = {
        write_tsv(tmp_path / "other.tsv", [["Name", "Age"], ["Ada", "9"]]): "no column Question, Answer; there are:",
        write_workbook(tmp_path / "other.xlsx", [["Name", "Age"]]): "no sheet has the columns Question and Answer",
        write_tsv(tmp_path / "text.xlsx", [HEADER, *ROWS]): "is not an Excel workbook, or is damaged",
    }  # fmt: skip
    with zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("xl/workbook.xml", b" " * (101 << 20))
    cases[tmp_path / "bomb.xlsx"] = "unpacks to over 101 MB"
    with zipfile.ZipFile(tmp_path / "broken.xlsx", "w") as broken:
        broken.writestr("[Content_Types].xml", "<Types/><Types/>")
    torn = write_workbook(tmp_path / "torn.xlsx", [HEADER, *ROWS])
    head, sheet, rest = torn.read_bytes().partition(b"xl/worksheets/sheet2.xml")
    torn.write_bytes(head + sheet + rest[:40] + b"\xff" * 40 + rest[80:])
    cases |= dict.fromkeys((tmp_path / "broken.xlsx", torn), "is not an Excel workbook, or is damaged")
    for path, message in cases.items():
        expect_refusal(message, "azure_qna", path)
