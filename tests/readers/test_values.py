from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from askalike.core.records import Place, Question, RejectedRow
from askalike.core.values import parse_utc
from askalike.readers import SourceFiles, parse_rows
from askalike.readers._values import split_cell
from askalike.readers._xml import read_elements
from askalike.text.clean import replace_forbidden


def test_a_cell_of_brackets_is_text() -> None:
    assert split_cell("[" * 9_000) == ("[" * 9_000,)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2014-01-21T20:26:05.383", "2014-01-21T20:26:05"),
        ("2014-01-21T20:26:05Z", "2014-01-21T20:26:05"),
        ("2014-01-21 20:26:05+05:30", "2014-01-21T14:56:05"),
        ("2014-01-21", "2014-01-21T00:00:00"),
        (1400000000, "2014-05-13T16:53:20"),
        ("1400000000123", "2014-05-13T16:53:20"),
    ],
)
def test_dates(given: str, expected: str) -> None:
    assert parse_utc(given) == expected


@given(st.text())
def test_what_is_no_date_is_a_value_error(text: str) -> None:
    try:
        date = parse_utc(text)
    except ValueError as error:
        date = str(error)
    assert len(date) == 19 or "expected a date" in date


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_cleaned_values_can_be_written(value: object) -> None:
    text = str(replace_forbidden(value)) if not isinstance(value, str) else replace_forbidden(value)
    assert "\0" not in text
    text.encode()


def test_lists_in_cells() -> None:
    assert split_cell('["a|b", "c"]') == ("a|b", "c")
    assert split_cell("a | b;c") == ("a", "b;c")
    assert split_cell("a;b") == ("a", "b")
    assert split_cell("[draft] a") == ("[draft] a",)
    assert split_cell(None) == split_cell(" ") == split_cell([]) == split_cell([None, ""]) == ()
    assert split_cell(7) == ("7",)


@given(st.lists(st.text(st.characters(codec="utf-8")), max_size=5), st.integers(1, 40))
def test_xml_in_tokenizer_of_any_size(texts: list[str], size: int) -> None:
    from xml.sax.saxutils import quoteattr

    allowed = [t.translate(dict.fromkeys([*range(32), 0xFFFE, 0xFFFF])) for t in texts]
    data = f"<rows>{''.join(f'<row a={quoteattr(t)}/>' for t in allowed)}</rows>".encode()
    pieces = [data[i : i + size] for i in range(0, len(data), size)]
    elements = read_elements(SourceFiles(), Path("rows.xml"), pieces, "row")
    assert [element.attributes["a"] for _, element in elements] == allowed


def test_row_is_taken_whole_or_rejected_by_place() -> None:
    def parse(text: str) -> Iterator[Question]:
        yield Question(text, text)
        if text == "bad":
            raise KeyError("title")

    first, second, third = (Place("file.csv", line) for line in (1, 2, 3))
    unreadable = RejectedRow("file.csv", 3, "not JSON", "{")
    rows = [(first, "good"), (second, "bad"), (third, unreadable)]
    assert list(parse_rows(rows, parse)) == [
        (Question("good", "good"), first),
        (RejectedRow("file.csv", 2, "no title", "bad"), second),
        (unreadable, third),
    ]
    assert [str(place) for place in (first, Place("file.csv"))] == ["file.csv, line 1", "file.csv"]
