"""Headless Chromium, for the pages' tests and for tools that picture the pages."""

import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None
)
"""The headless shell takes a third of the processor's time."""


def launch_chromium(running: Any) -> Any:
    """Start a browser of a running Playwright."""
    return running.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])


@contextmanager
def watched_pages(
    browser: Any, *homes: str, console: Collection[str] = ("error", "warning")
) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens a page. Afterwards: no error on a console, and no request to anywhere else.

    homes: beginnings of addresses that pages may load. console: the kinds of messages there that are errors.
    """
    problems: list[str] = []
    pages = []

    def open_page(address: str, **options: Any) -> Any:
        pages.append(page := browser.new_page(**options))
        page.set_default_timeout(60_000)
        page.on("console", lambda message: problems.append(message.text) if message.type in console else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(homes) else problems.append(request.url))
        page.goto(address)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert problems == []
