"""Words in italics on the page about the pages are those that a reader finds on them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "pages.md"
TEMPLATES = ROOT / "src/askalike/service/pages/templates"


def test_every_name_in_italics_is_on_the_pages() -> None:
    shown = "\n".join(path.read_text(encoding="utf-8") for path in TEMPLATES.rglob("*.html"))
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    names = set(re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", text))
    assert "This answers it" in names
    assert {name for name in names if name not in shown} == set()
