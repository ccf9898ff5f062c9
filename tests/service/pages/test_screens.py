"""Every page with texts that have no place to break, in light and dark, on screens of four widths, from right to left.

None scrolls sideways, and axe-core finds nothing that somebody cannot use.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from serving import Service

from askalike import Answer, Question
from askalike.core.records import Link
from askalike.store import Archive
from askalike.store.candidate_pairs import CandidatePair, add_proposals
from askalike.store.drafts import ThreadDraft, put_thread
from askalike.store.query_log import LoggedQuery, log_query
from chromium import assert_accessible

WIDTHS = (1200, 768, 390, 320)
WORD = "quillwort"
ENDLESS = "x" * 500
CODE = f"<pre><code>def f({'a' * 200}):\n    return {'b' * 200}</code></pre>"
TABLE = f"<table><tr>{f'<td>{ENDLESS[:40]}</td>' * 12}</tr></table>"
QUOTED = f"<blockquote><ul><li><dl><dt>it</dt><dd><a href='https://e.example/'>{ENDLESS}</a></dd></dl></li></ul></blockquote>"
FORMULA = r"$$\sum_{i=1}^n a_{\text{" + "subscript" * 18 + "}}$$"
UNREAD_FORMULA = "$" + r"\alpha_{" * 90 + "1" + "}" * 89 + "$"
TEXTS = {
    "endless": ENDLESS,
    "address": f"https://desk.example/{'path/' * 20}?query={'y' * 300}",
    "html": f"{CODE}<p><code>{'c' * 200}</code></p>{TABLE}{QUOTED}",
    "arabic": f"كيف أجدد بطاقة المكتبة؟ {'ك' * 300} كيف أجدد بطاقة المكتبة؟ {ENDLESS}",
    "emoji": "👩‍👩‍👧‍👦" * 120,
    "formula": f"{FORMULA} and {UNREAD_FORMULA} and \\begin{{align}} \\text{{{'z' * 200}}} \\end{{align}}",
}
PAGES = {
    "start": "/",
    "ask": f"/a/riverside?title={WORD}+{ENDLESS}&body={ENDLESS}",
    "queue": "/a/riverside/queue",
    "gaps": "/a/riverside/gaps",
    "drafts": "/a/riverside/drafts",
    "quality": "/a/riverside/quality",
    "decisions": f"/a/riverside/queue/decisions?text={ENDLESS[:150]}",
    "why": "/a/riverside/why?one=endless&other=html",
    "manage": "/a/riverside/manage",
    "login": "/login",
    "question": "/a/riverside/questions/x%2F1",
    "why-formulas": "/a/riverside/why?one=r001&other=math",
} | {f"question-{name}": f"/a/riverside/questions/{name}" for name in ("html", "arabic", "formula")}
EVERYDAY = ("start", "ask", "question", "queue", "quality")
"""The pages that most people see; the others take long."""


def fill_with_unbroken_texts(path: Path) -> None:
    """Add a question, an answer, a proposal, a draft and a gap of each text that has no place to break."""
    with Archive.open(path) as archive:
        for name, text in TEXTS.items():
            title = f"{WORD} {name} {'' if '<' in text else text[:900]}"
            fields: dict[str, Any] = {
                "tags": (text[:60],),
                "author": text[:80],
                "license": text[:60],
                "rephrasings": (title,),
            }
            archive.upsert(
                [
                    Question(name, title, f"{WORD} {text}", "html", **fields),
                    Answer(f"{name}-a", name, f"{WORD} {text}", "html", author=text[:80]),
                    Link("r001", name, "related"),
                ]
            )
            add_proposals(archive, [CandidatePair(name, "endless", 0.99, 1.0, "lm")] if name != "endless" else [])
            put_thread(archive, f"slack/{name}", ThreadDraft(f"C9/{name}", title, text, text, TEXTS["address"]))
            log_query(archive, LoggedQuery(title, "", [], "lm"))


@pytest.fixture(scope="module")
def service(filled: Path, copy: Callable[..., Path], serve_all: Callable[..., Service]) -> Service:
    path = copy(filled)
    fill_with_unbroken_texts(path)
    return serve_all(path, options=("--set", "propose=0", "--set", "requests_per_s=0"))


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=name, marks=[pytest.mark.long] * (name not in EVERYDAY)) for name, path in PAGES.items()],
)
def test_pages_fit_their_screens_and_are_accessible(visit: Callable[..., Any], path: str) -> None:
    page = visit(path)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    for direction in ("rtl", "ltr"):
        page.evaluate("d => { document.documentElement.dir = d; }", direction)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (width, find_wide(page))
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    assert_accessible(page)
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert_accessible(page, runOnly=["color-contrast"])  # the other rules are not about colours
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(n) for n in dark.removeprefix("rgb(").removesuffix(")").split(",")) < 64


def find_wide(page: Any) -> list[str]:
    """Return the first elements that reach beyond the screen, on either side."""
    wide = "e => (r => r.right > innerWidth + 1 || r.left < -1)(e.getBoundingClientRect())"
    return list(
        page.evaluate(
            f"[...document.querySelectorAll('*')].filter({wide}).slice(0, 5).map(e => e.outerHTML.slice(0, 90))"
        )
    )


def test_long_question_folds_on_a_phone(visit: Callable[..., Any], service: Service) -> None:
    body = "<p>It is long.</p>" * 200 + '<p><a href="https://e.example/">the last link</a></p>'
    service.send("PUT", "/v1/riverside/questions/long", {"title": "Why so long?", "body": body, "markup": "html"})
    link = {"source": "long", "target": "r001", "kind": "related"}
    service.send("PUT", "/v1/riverside/links", link)
    page = visit("/a/riverside/questions/long", viewport={"width": 390, "height": 800})
    prose = page.locator(".question .prose")
    assert prose.bounding_box()["height"] < 400
    page.get_by_role("link", name="the last link").focus()
    assert prose.bounding_box()["height"] > 4_000
    page.get_by_role("link", name="Answers").focus()
    page.get_by_label("Show the whole question").check()
    assert prose.bounding_box()["height"] > 4_000
    page.evaluate("scrollTo(0, 3000)")
    page.get_by_role("navigation", name="On this page").get_by_role("link", name="Related (1)").click()
    page.get_by_role("heading", name="Related").wait_for()
    assert 0 < page.locator("#related").bounding_box()["y"] < 700
    page.set_viewport_size({"width": 1200, "height": 800})
    assert prose.bounding_box()["height"] > 4_000
    assert page.get_by_role("navigation", name="On this page").is_hidden()


def test_menu_and_verdict_fit_a_narrow_phone(visit: Callable[..., Any]) -> None:
    page = visit("/a/riverside?title=my+bicycle+was+stolen", viewport={"width": 360, "height": 740})
    for links in (page.locator("header nav li a"), page.locator(".item").first.locator(".verdict button")):
        assert len(rows_of(links)) == 1


@pytest.mark.parametrize("locale", ["de-DE", "fr-FR", "ru-RU"])
def test_menu_of_longer_words_is_two_rows(visit: Callable[..., Any], locale: str) -> None:
    page = visit("/a/riverside", viewport={"width": 360, "height": 740}, locale=locale)
    assert [*rows_of(page.locator("header nav li a")).values()] == [3, 3]


def rows_of(links: Any) -> Counter[int]:
    """Count links by their distance from the top of the page."""
    return Counter(round(one.bounding_box()["y"]) for one in links.all())
