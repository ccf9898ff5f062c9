"""Links between the repository's pages lead somewhere, and no page has two headings with one anchor."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("", ".github", "benchmarks", "docs", "docs/results", "examples", "packages/*", "packages/*/docs")
PAGES = sorted(page for folder in FOLDERS for page in ROOT.glob(f"{folder}/*.md".lstrip("/")))
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]*))?\)")
CODE = re.compile(r"^```.*?^```|`[^`]*`", re.DOTALL | re.MULTILINE)


def read_anchors(page: Path) -> Counter[str]:
    """Return how often a page has each heading's anchor, as mkdocs makes it."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return Counter(re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_headings(page: Path) -> None:
    broken = []
    for path, anchor in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        target = (page.parent / path).resolve() if path else page
        is_left_out = target.is_relative_to(ROOT / "packages") and not (ROOT / "packages").exists()
        if not is_left_out and (not target.exists() or (anchor and anchor not in read_anchors(target))):
            broken.append(f"{path}#{anchor}")
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_headings_differ(page: Path) -> None:
    assert [anchor for anchor, count in read_anchors(page).items() if count > 1] == []
