"""Parquet, written by pyarrow."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from imported import Importing, Refusing

pyarrow = pytest.importorskip("pyarrow", reason="needs the extra parquet")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")

ROWS = [
    {
        "id": n, "title": {"text": f"How do I mend part {n}?"},
        "answers": [{"body": f"Turn it {n} times."}, {"body": "Wait."}],
        "labels": ["part", f"n{n}"], "date": datetime(2024, 1, 2, 3, 4, n, tzinfo=UTC),
    }
    for n in range(5)
]  # fmt: skip


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def test_nested_columns_lists_and_dates(imported: Importing, tmp_path: Path) -> None:
    path = write(tmp_path / "parts.parquet", ROWS)
    done = imported("parquet", path, question="title.text", answer="answers.body")
    assert (done.summary.questions, done.summary.answers, done.summary.source) == (5, 10, "parts")
    question = done.questions["3"]
    assert (question.title, question.tags, question.created_at) == (
        "How do I mend part 3?", ("part", "n3"), "2024-01-02T03:04:03",
    )  # fmt: skip


def test_rows_without_a_title_are_rejected_by_number(imported: Importing, tmp_path: Path) -> None:
    path = write(
        tmp_path / "faq.parquet", [{"question": "Why?", "answer": b"Because."}, {"question": None, "answer": b""}]
    )
    done = imported("parquet", path)
    assert (done.summary.questions, done.summary.rejected) == (1, 1)
    assert done.rows("SELECT body FROM answers") == [("Because.",)]
    assert '"line": 2, "reason": "no question"' in (done.archive.path / "rejected.jsonl").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "title is an object in JSON; name the key to take, e.g. --question title.text"),
        (
            {"question": "title.text", "tags": "topics"},
            "no column 'topics', which --tags names; there are: id, title, title.text",
        ),
    ],
)
def test_columns_are_named_in_errors(
    expect_refusal: Refusing, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    expect_refusal(message, "parquet", write(tmp_path / "parts.parquet", ROWS), **options)


def test_a_damaged_file_is_one_clear_error(expect_refusal: Refusing, tmp_path: Path) -> None:
    path = write(tmp_path / "parts.parquet", ROWS)
    content = path.read_bytes()
    for damaged in (content[:-20], content.replace(b"title", b"t\xf7tle")):
        path.write_bytes(damaged)
        expect_refusal(r"parts\.parquet: is not a Parquet file, or is damaged", "parquet", path)
