"""The menu of the site has every page once, by its title, and at most thirty pages besides those of packages."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
ROOT_PAGES = {"index.md": "README.md", "changes.md": "CHANGELOG.md"}
MENU = [
    entry
    for group in re.findall(r"(?ms)^nav:.*?(?=^markdown_extensions:)", (ROOT / "mkdocs.yml").read_text("utf-8"))
    for pages in yaml.safe_load(group)["nav"]
    for page in next(iter(pages.values()))
    for entry in page.items()
]
"""Name in the menu, page."""


def to_path(page: str) -> Path:
    inside = re.sub(r"^packages/([\w-]+)/", r"packages/\1/docs/", page)
    return ROOT / ROOT_PAGES.get(page, inside if inside != page else f"docs/{page}")


def test_names_in_the_menu_are_titles() -> None:
    titles = {page: to_path(page).read_text(encoding="utf-8").partition("\n")[0] for _, page in MENU}
    assert {page: f"# {name}" for name, page in MENU} == titles


def test_every_page_is_in_the_menu_once() -> None:
    folders = ("docs", "docs/results", "packages/*/docs")
    pages = {page for folder in folders for page in ROOT.glob(f"{folder}/*.md")}
    listed = [to_path(page) for _, page in MENU if page not in ROOT_PAGES]
    assert sorted(listed) == sorted(pages)


def test_thirty_pages_are_enough() -> None:
    own = [page for _, page in MENU if not page.startswith("packages/")]
    assert len(own) <= 30
