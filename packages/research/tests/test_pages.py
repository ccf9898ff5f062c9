"""The examples in this package's pages run, and the places that the glossary names exist."""

import pkgutil
import re
from pathlib import Path

import pytest

from docs.test_examples import check_page, place, steps  # noqa: F401 (a fixture)

ROOT = Path(__file__).parents[3]
PAGES = [page for page in sorted((Path(__file__).parents[1] / "docs").glob("*.md")) if next(steps(page), None)]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run_and_print_what_is_shown(page: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    check_page(page, place, monkeypatch)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(askalike_research\.[\w.]+)`", GLOSSARY))))
def test_every_place_in_the_glossary_exists(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert pkgutil.resolve_name(f"{module}:{attribute}")
