"""The examples of the documentation run, and print what it shows."""

from pathlib import Path

import pytest

from docs.test_examples import check_page, place  # noqa: F401 (place is a fixture)

PAGES = Path(__file__).parents[1] / "docs"


def test_examples_run(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    check_page(PAGES / "static-site.md", place, monkeypatch)
