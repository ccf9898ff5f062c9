"""The bundled example archive: its counts and its integrity."""

import csv
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

Row = dict[str, str]

PATH = Path(__file__).parents[2] / "examples" / "riverside.csv"
HEADER = "id,question,answer,category,tags,language,alternates,duplicate_of,created_at,url"


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    with PATH.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def alternates(row: Row) -> list[str]:
    return row["alternates"].split(" | ") if row["alternates"] else []


def asked(row: Row) -> datetime:
    return datetime.strptime(row["created_at"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def test_every_row_has_every_column(rows: list[Row]) -> None:
    assert all(",".join(row) == HEADER and None not in row.values() for row in rows)


def test_counts_are_those_of_the_readme(rows: list[Row]) -> None:
    assert len(rows) == 244
    assert Counter(row["language"] for row in rows) == {"en": 161, "de": 83}
    assert sum(row["answer"] != "" for row in rows) == 219
    assert sum(row["duplicate_of"] != "" for row in rows) == 39
    assert sum(len(alternates(row)) for row in rows) == 664


def test_rephrasings_are_three_to_five_on_enough_rows(rows: list[Row]) -> None:
    counts = Counter(row["language"] for row in rows if alternates(row))
    assert counts == {"en": 105, "de": 58}
    assert {len(alternates(row)) for row in rows} <= {0, 3, 4, 5}


def test_ids_are_unique_and_make_the_address(rows: list[Row]) -> None:
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(re.fullmatch(r"r\d{3}", row["id"]) for row in rows)
    assert all(row["url"] == f"https://desk.example/q/{row['id']}" for row in rows)


def test_dates_cover_two_years_in_order(rows: list[Row]) -> None:
    dates = [asked(row) for row in rows]
    assert dates == sorted(dates)
    assert timedelta(days=700) < dates[-1] - dates[0] < timedelta(days=731)


def test_duplicate_names_an_older_original_in_its_language(rows: list[Row]) -> None:
    by_id = {row["id"]: row for row in rows}
    duplicates = [row for row in rows if row["duplicate_of"]]
    assert len(duplicates) == 39
    for row in duplicates:
        original = by_id[row["duplicate_of"]]
        assert not original["duplicate_of"], f"{row['id']} points to a duplicate"
        assert asked(original) < asked(row)
        assert original["language"] == row["language"]


def test_only_duplicates_lack_an_answer(rows: list[Row]) -> None:
    assert all(row["answer"] or row["duplicate_of"] for row in rows)


def test_no_two_phrasings_are_alike(rows: list[Row]) -> None:
    phrasings = Counter(plain(text) for row in rows for text in [row["question"], *alternates(row)])
    assert [text for text, n in phrasings.items() if n > 1] == []


def test_separators_stay_out_of_the_values(rows: list[Row]) -> None:
    assert all("|" not in text and text == text.strip() != "" for row in rows for text in alternates(row))
    assert all(re.fullmatch(r"([a-z0-9é-]+(;[a-z0-9é-]+)*)?", row["tags"]) for row in rows)


def test_the_file_exercises_quoting(rows: list[Row]) -> None:
    answers = "".join(row["answer"] for row in rows)
    assert all(mark in answers for mark in (",", '"', "\n", "ü", "https://"))
    assert any(not row["tags"] for row in rows)
