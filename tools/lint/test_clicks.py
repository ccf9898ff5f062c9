"""The pages that readers look for are a few links away from the README and from the site's first page."""

import re
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s#:]+\.md)(?:#[^)]*)?\)")
MAX_CLICKS = {
    "first-archive.md": (1, 1),
    "formats.md": (1, 1),
    "pages.md": (1, 1),
    "calibration.md": (1, 1),
    "tune.md": (1, 1),
    "operating.md": (1, 1),
    "drop-in.md": (1, 1),
    "troubleshooting.md": (1, 1),
    "first-experiment.md": (1, 1),
    "results/index.md": (1, 1),
    "results/askubuntu-titles.md": (2, 2),
    "results/negative.md": (1, 1),
    "papers.md": (1, 1),
    "evaluation.md": (1, 1),
    "splits.md": (2, 1),
    "extending.md": (1, 1),
}
"""Page that readers look for → the maximum number of links to it from the README, and from the site's first page."""


def count_clicks(start: Path) -> Mapping[Path, int]:
    """Return page → the least number of links from the start to it."""
    clicks, waiting = {start: 0}, deque([start])
    while waiting:
        page = waiting.popleft()
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / link).resolve()
            if target.exists() and target not in clicks:
                clicks[target] = clicks[page] + 1
                waiting.append(target)
    return clicks


@pytest.mark.parametrize(("column", "start"), [(0, "README.md"), (1, "docs/index.md")])
def test_important_pages_are_a_few_links_away(column: int, start: str) -> None:
    clicks = count_clicks((ROOT / start).resolve())
    counted = {page: clicks.get((ROOT / "docs" / page).resolve(), 99) for page in MAX_CLICKS}
    assert {page: n for page, n in counted.items() if n > MAX_CLICKS[page][column]} == {}


def test_every_page_is_reached_by_links() -> None:
    clicks = count_clicks((ROOT / "docs" / "index.md").resolve())
    pages = {page.resolve() for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(str(page.relative_to(ROOT)) for page in pages - set(clicks)) == []
