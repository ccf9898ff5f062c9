"""The widget on a plain page of another site, in Chromium."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from serving import Service

from askalike.core.records import Question
from askalike.moderation.gaps import find_gaps
from askalike.service.widget import load_script
from askalike.store import Archive, keys
from askalike.store.query_log import daily_use, sum_use
from chromium import assert_accessible, watched_pages
from database import run_sql
from http_servers import LocalServer, QuietHandler
from waiting import wait_for

MAX_BYTES = 5_000
HOSTILE = "Zeppelin <img src=x onerror=\"document.title='taken'\"> & <b>more</b>"
FORMULAS = r"Why is $\log_2 n$ in $O(\sqrt{n})$, from $5 to $10, and $\frac{$ is none, for zygohistomorphic queues?"
PAGE = """<!doctype html><html lang="en" dir="{dir}"><meta charset="utf-8"><title>Ask</title>
<meta name="color-scheme" content="light dark"><meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<main><h1>Ask</h1><form><label>Title <input id="title" name="title"></label>
<label>Text <textarea id="text"></textarea></label></form></main>
<script src="{home}/widget.js" data-archive="riverside" data-key="{key}" data-input="#title" data-body="#text"
 data-k="3"></script></html>"""


def test_it_is_small_and_calls_no_other_host() -> None:
    script = load_script()
    assert len(script) <= MAX_BYTES
    assert b"innerHTML" not in script
    assert b"//" not in script.replace(b"\\/\\/", b"")


class Site:
    """A site of its own origin, with one page."""

    def __init__(self) -> None:
        self.page = ""
        site = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                headers = {
                    "content_type": "text/html; charset=utf-8",
                    "content_security_policy": "style-src 'none'; object-src 'none'",
                }
                self.reply(site.page.encode(), **headers)

        self._server = LocalServer(Handler)
        self.origin = self._server.address

    def end(self) -> None:
        self._server.server_close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.end()


@pytest.fixture(scope="module")
def closed(copy: Callable[..., Path], site: Site, serve_all: Callable[..., Service]) -> tuple[Service, str]:
    archive = copy()
    with Archive.open(archive) as opened:
        key = keys.create_key(opened, "read", origin=site.origin)
        opened.upsert([Question("z", HOSTILE), Question("j", "Zeppelin two", url="javascript:document.title='taken'")])
        opened.upsert([Question("f", FORMULAS)])
    return serve_all(archive, options=("--set", "require_keys=true", "--set", "propose=0")), key


@pytest.fixture
def visit(browser: Any, site: Site, closed: tuple[Service, str]) -> Iterator[Callable[..., Any]]:
    """Open the site's page. Afterwards: no request went to other hosts, and no script failed."""
    served, key = closed
    with watched_pages(browser, site.origin, served.url.geturl(), "data:", console=()) as open_page:

        def visit_site(dir: str = "ltr", **options: Any) -> Any:
            site.page = PAGE.format(dir=dir, home=served.url.geturl(), key=key)
            return open_page(site.origin, **options)

        yield visit_site


def type_text(page: Any, text: str) -> Any:
    page.locator("#title").press_sequentially(text, delay=5)
    page.locator("[role=option]").first.wait_for()
    return page.locator("[role=option]")


def test_it_shows_what_is_similar_while_somebody_types(visit) -> None:
    page = visit(alone=True)
    titles: list[str] = []
    page.on("request", lambda request: titles.extend([request.post_data_json["title"]] if request.post_data else []))
    page.clock.install()
    page.reload()
    page.clock.pause_at("2100-01-01")
    page.locator("#title").press_sequentially("I lost my librery ca")
    page.clock.run_for(300)
    options = page.locator("[role=option]")
    options.first.wait_for()
    assert "lost my library card" in options.first.inner_text()
    assert 1 <= options.count() <= 3
    options.first.locator("b", has_text="library").wait_for()  # a misspelt word, as it was read
    assert titles == ["I lost my librery ca"]  # not one a key
    assert page.get_by_role("status").inner_text() == f"Similar questions: {options.count()}"
    box = page.get_by_role("combobox", name="Title", exact=True)  # named by its label alone, which holds it
    assert box.get_attribute("aria-expanded") == "true"
    listed = page.get_by_role("listbox", name="Similar questions")
    assert listed.get_attribute("id") == box.get_attribute("aria-controls")
    top, bottom = box.bounding_box(), listed.bounding_box()
    assert bottom["y"] >= top["y"] + top["height"]
    page.locator("#title").press_sequentially(" ")
    page.clock.run_for(300)
    assert titles[1:] == ["I lost my librery ca "]  # whose last word is finished
    page.clock.resume()
    page.locator("#title").fill("")
    listed.wait_for(state="hidden")


def test_its_labels_speak_the_pages_language(browser, site, closed) -> None:
    served, key = closed
    site.page = PAGE.format(dir="ltr", home=served.url.geturl(), key=key).replace('lang="en"', 'lang="de-AT"')
    page = browser.new_page()
    page.goto(site.origin)
    options = type_text(page, "I lost my library ca")
    assert page.get_by_role("status").inner_text() == f"Ähnliche Fragen: {options.count()}"
    page.close()


def test_formulas_are_drawn_by_the_browser(visit) -> None:
    page = visit()
    option = type_text(page, "zygohistomorphic").first
    option.locator("math msqrt").wait_for()
    assert option.locator("math").count() == 2
    assert "from $5 to $10" in option.inner_text()
    assert "frac{" in option.inner_text()
    page.locator("#title").fill("zygohistomorphic queues")  # a list that comes later
    option.locator("b", has_text="queues").wait_for()
    option.locator("math msqrt").wait_for()


@pytest.mark.parametrize("position", ["static", "relative"])
def test_list_is_below_a_field_in_its_label(browser, site, closed, position: str) -> None:
    served, key = closed
    rules = f"label {{ position: {position}; display: block; margin: 3em }}"
    style = f"const s = new CSSStyleSheet(); s.replaceSync('{rules}'); document.adoptedStyleSheets.push(s)"
    page_text = PAGE.format(dir="ltr", home=served.url.geturl(), key=key)
    site.page = page_text.replace("<script", f"<script>{style}</script><script")
    page = browser.new_page()
    page.goto(site.origin)
    type_text(page, "I lost my library ca")
    field, listed = page.locator("#title").bounding_box(), page.get_by_role("listbox").bounding_box()
    assert 0 < listed["y"] - field["y"] - field["height"] < 10
    assert abs(listed["x"] - field["x"]) < 1
    page.close()


@pytest.mark.parametrize("wrong", ["input", "body"])
def test_selector_without_match_is_told_on_console(browser, site, closed, wrong) -> None:
    served, key = closed
    fields = {"input": "#title", "body": "#text"} | {wrong: "#nowhere"}
    page_text = PAGE.format(dir="ltr", home=served.url.geturl(), key=key)
    site.page = page_text.replace("#title", fields["input"]).replace("#text", fields["body"])
    page = browser.new_page()
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.goto(site.origin)
    assert told == [f"askalike: no #nowhere (data-{wrong})"]
    assert page.get_by_role("combobox").count() == (wrong == "body")
    assert page.locator("input").count() == 1
    page.close()


def test_refusal_is_told_on_the_console(browser, site, closed) -> None:
    served, key = closed
    site.page = PAGE.format(dir="ltr", home=served.url.geturl(), key=key).replace('"3"', '"1000"')
    page = browser.new_page()
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.goto(site.origin)
    page.locator("#title").fill("library card")
    wait_for(lambda: page.evaluate("1") and any("askalike: body.k" in text for text in told))
    page.close()


def test_chosen_and_posted_things_are_feedback(visit, closed) -> None:
    served, _ = closed
    page = visit()
    page.evaluate("addEventListener('askalike', (e) => e.preventDefault())")
    page.evaluate("document.querySelector('form').addEventListener('submit', (e) => e.preventDefault())")
    type_text(page, "my library card is lost").first.click()
    page.locator("#title").fill("Do you rent out zebras?")
    page.locator("#title").press("Enter")

    def read_verdicts() -> list[tuple[str, str, str | None]]:
        with Archive.open(served.archive_path) as archive:
            return run_sql(archive, "SELECT title, verdict, chosen_id FROM feedback ORDER BY 1")

    wait_for(lambda: len(read_verdicts()) == 2)
    zebras, card = read_verdicts()
    assert zebras == ("Do you rent out zebras?", "posted_anyway", None)
    assert card[:2] == ("my library card is lost", "accept")
    assert card[2]
    one_each = {"opened": 1, "accepted": 1, "posted": 1, "posted_after_opening": 1}

    def count_use() -> dict[str, int]:
        with Archive.open(served.archive_path) as archive:
            use = sum_use(daily_use(archive, 1))
        return {event: use.counts[event] for event in one_each}

    wait_for(lambda: count_use() == one_each)  # a count is written after the verdict that it is of
    with Archive.open(served.archive_path) as archive:
        use = sum_use(daily_use(archive, 1))
        assert (use.counts["shown"] > 0, use.not_asked) == (True, 0)
        assert "Do you rent out zebras?" in [gap.title for gap in find_gaps(archive)]


def test_keyboard_walks_it_and_escape_closes(visit) -> None:
    page = visit()
    options = type_text(page, "library card")
    box = page.get_by_role("combobox")
    box.press("ArrowDown")
    box.press("ArrowDown")
    assert options.nth(1).get_attribute("aria-selected") == "true"
    assert box.get_attribute("aria-activedescendant") == options.nth(1).get_attribute("id")
    box.press("ArrowUp")
    box.press("ArrowUp")
    assert not box.get_attribute("aria-activedescendant")
    box.press("Escape")
    assert (box.get_attribute("aria-expanded"), page.get_by_role("listbox").count()) == ("false", 0)
    assert box.input_value() == "library card"
    box.press("ArrowDown")
    page.evaluate("addEventListener('askalike', (e) => { e.preventDefault(); document.title = e.detail.url })")
    box.press("Enter")
    assert page.title().startswith("https://desk.example/q/")


def test_texts_of_the_archive_are_never_markup(visit) -> None:
    page = visit()
    options = type_text(page, "zeppelin")
    assert HOSTILE in [text.split("\n")[0] for text in options.all_inner_texts()]
    options.filter(has_text="two").click()
    assert page.title() == "Ask"
    assert page.locator("img").count() == 0


@pytest.mark.parametrize(
    "options",
    [{}, {"color_scheme": "dark", "dir": "rtl", "viewport": {"width": 360, "height": 640}}],
    ids=["light", "dark, right to left, on a phone"],
)
def test_it_is_accessible(visit, options) -> None:
    page = visit(**options)
    type_text(page, "library card")
    page.get_by_role("combobox").press("ArrowDown")
    assert_accessible(page)
    style = "getComputedStyle(document.querySelector('[role=listbox]'))"
    background, direction = page.evaluate(f"[{style}.backgroundColor, {style}.direction]")
    dark = options.get("color_scheme") == "dark"
    assert (sum(map(int, background.strip("rgb()").split(","))) < 200) == dark
    assert direction == options.get("dir", "ltr")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_it_is_cached_by_browsers(closed) -> None:
    served, _ = closed
    first = served.get("/widget.js")
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    assert first.headers["cross-origin-resource-policy"] == "cross-origin"
    assert served.get("/widget.js", **{"if-none-match": first.headers["etag"]}).status == 304
