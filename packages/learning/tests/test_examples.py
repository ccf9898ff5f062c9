"""The examples in this package's pages run, and print what is shown."""

from pathlib import Path

import pytest

from docs.test_examples import check_page, place  # noqa: F401 (a fixture)

PAGE = Path(__file__).parents[1] / "docs" / "encoders.md"


@pytest.mark.long
def test_examples_run_and_print_what_is_shown(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    check_page(PAGE, place, monkeypatch)
