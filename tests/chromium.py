"""Headless Chromium, for the pages' tests and for tools that picture the pages."""

import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None
)
"""The headless shell takes a third of the processor's time."""
FLAGS = ["--no-sandbox", "--renderer-process-limit=1"]
SHARED_OPTIONS = {"base_url", "locale"}
"""Pages that set nothing else share a context."""


def launch_chromium(running: Any) -> Any:
    """Start a browser of a running Playwright."""
    return running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    driver = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not CHROMIUM:
        pytest.skip("needs Chromium: apt-get install chromium-headless-shell")
    with driver.sync_playwright() as running:
        chromium = launch_chromium(running)
        yield chromium
        chromium.close()


@cache
def shared_context(browser: Any, **options: str) -> Any:
    """Return a context with a page that stays open: its process draws the others, which costs them 40 % less."""
    context = browser.new_context(**options)
    context.new_page()
    return context


@cache
def load_axe() -> str:
    """Return the script of axe-core."""
    checker = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    return str(checker.Axe().axe_script)


def assert_accessible(page: Any, **options: Any) -> None:
    """Fail where axe-core finds something that somebody cannot use. options: those of its `run`."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(load_axe())
    options = {"resultTypes": ["violations"]} | options
    seen = page.evaluate("options => axe.run(document, options)", options)
    problems = [(problem["help"], problem["nodes"][0]["html"]) for problem in seen["violations"]]
    assert not problems, problems


@contextmanager
def watched_pages(
    browser: Any, *homes: str, console: Collection[str] = ("error", "warning")
) -> Iterator[Callable[..., Any]]:
    """Yield a function that opens a page. Afterwards: no error on a console, and no request to anywhere else.

    homes: beginnings of addresses that pages may load. console: the kinds of messages there that are errors.
    """
    problems: list[str] = []
    pages, contexts = [], []

    def open_page(address: str, alone: bool = False, **options: Any) -> Any:
        """alone: with cookies of its own, as have all pages that set more than a few options."""
        if alone or not options.keys() <= SHARED_OPTIONS:
            contexts.append(context := browser.new_context(**options))
        else:
            context = shared_context(browser, **options)
        pages.append(page := context.new_page())
        page.set_default_timeout(60_000)
        page.on("console", lambda message: problems.append(message.text) if message.type in console else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(homes) else problems.append(request.url))
        page.goto(address)
        return page

    yield open_page
    for page in pages:
        page.context.clear_cookies()
        page.close()
    for context in contexts:
        context.close()
    assert problems == []
