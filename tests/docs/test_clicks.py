"""What readers look for is as few clicks away as CONTRIBUTING.md says."""

import re
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)\s#:]+\.md)(?:#[^)]*)?\)")
ROW = re.compile(
    r"^\|[^|]*\| (?P<what>[^|]+) \| (?P<readme>\d) \| (?P<site>\d) \| (?P<page>docs/\S+\.md) \|$", re.MULTILINE
)
ROWS = list(ROW.finditer((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))


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


@pytest.mark.parametrize(("column", "start"), [("readme", "README.md"), ("site", "docs/index.md")])
def test_the_table_of_clicks_is_true(column: str, start: str) -> None:
    clicks = count_clicks((ROOT / start).resolve())
    assert len(ROWS) > 10
    counted = {row["what"]: clicks.get((ROOT / row["page"]).resolve()) for row in ROWS}
    assert counted == {row["what"]: int(row[column]) for row in ROWS}


def test_every_page_is_reached_by_links() -> None:
    clicks = count_clicks((ROOT / "docs" / "index.md").resolve())
    pages = {page.resolve() for page in (ROOT / "docs").rglob("*.md")}
    assert sorted(str(page.relative_to(ROOT)) for page in pages - set(clicks)) == []
