"""Every place in the code that the glossary names exists, and no term is explained twice."""

import importlib
import inspect
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "glossary.md"
ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<meaning>[^|]+) \| (?P<places>`[^|]+`) \| (?P<source>[^|]+) \|$", re.M)
ROWS = list(ROW.finditer(PAGE.read_text(encoding="utf-8")))
NAMED = {place for row in ROWS for place in re.findall(r"`([^`]+)`", row["places"])}
PLACES = sorted(place for place in NAMED if not place.startswith("askalike_"))  # those are of other packages
EXTRAS = {"fastapi", "starlette", "uvicorn"}
"""Packages that come with an extra; what needs one of them is skipped without it."""


def load(place: str) -> Any:
    """Import the longest module that begins a dotted name, and return the attribute that the rest names."""
    parts = ["askalike", *place.split(".")]
    for end in range(len(parts), 1, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] in EXTRAS:
                pytest.skip(f"{error.name} is not installed")
            if not (error.name or "").startswith("askalike"):
                raise
        else:
            return _attribute(value, parts[end:])
    raise LookupError(f"{place} names no module")


def _attribute(value: Any, names: list[str]) -> Any:
    for name in names:
        # A field without a default is no attribute of its class.
        annotation = inspect.get_annotations(value).get(name) if inspect.isclass(value) else None
        value = annotation if annotation is not None else getattr(value, name)
    return value


@pytest.mark.parametrize("place", PLACES)
def test_every_place_in_the_code_exists(place: str) -> None:
    assert load(place) is not None


def test_every_row_has_four_cells_and_a_sentence() -> None:
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    headings = lines.count("| term | meaning | in the code | known from |")
    assert len(ROWS) == len(lines) - headings > 90
    assert [row["term"] for row in ROWS if not row["meaning"].endswith((".", "…"))] == []


def test_no_term_is_explained_twice() -> None:
    terms = Counter(row["term"] for row in ROWS)
    assert [term for term, count in terms.items() if count > 1] == []


@pytest.mark.parametrize("place", ["store.view.Vew", "stor.view.View", "types.Hit.scores"])
def test_a_wrong_place_is_noticed(place: str) -> None:
    with pytest.raises((LookupError, AttributeError)):
        load(place)
