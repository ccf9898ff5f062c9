"""A static site finds what the archive finds, with the same grades."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from askalike import export_archive
from contracts.ways_contract import *  # noqa: F403 (tests and their fixtures)
from contracts.ways_contract import WORDS, Hits, K

FIND = "([text, k]) => askalikeSite.search(text, { k }).hits.map(({ id, grade }) => [id, grade])"


@pytest.fixture(scope="module")
def ask(browser: Any, library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Hits]]:
    """Ask a site that searches by words, as vectors are rounded there."""
    site = tmp_path_factory.mktemp("ways") / "site"
    export_archive(library, "static-site", site, options={"ranker": WORDS})
    page = browser.new_page()
    page.goto(f"{site.as_uri()}/index.html")
    page.evaluate("askalikeSite.complete")
    yield lambda text: [tuple(hit) for hit in page.evaluate(FIND, [text, K])]
    page.close()
