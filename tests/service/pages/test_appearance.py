"""How pages look: for everybody (axe-core), in light and dark, on a phone, from right to left; and what they weigh."""

import pytest

PAGES = {
    "start": "/",
    "ask": "/a/riverside?title=my+bike+was+stolen",
    "question": "/a/riverside/questions/x%2F1",
    "queue": "/a/riverside/queue",
    "gaps": "/a/riverside/gaps",
    "drafts": "/a/riverside/drafts",
    "quality": "/a/riverside/quality",
    "decisions": "/a/riverside/queue/decisions",
    "why": "/a/riverside/why?one=r001&other=math",
    "manage": "/a/riverside/manage",
    "login": "/login",
}
PHONE = {"width": 360, "height": 740}
MAX_FIRST_LOAD_BYTES = 35_000


@pytest.mark.parametrize("path", PAGES.values(), ids=list(PAGES))
def test_pages_are_accessible(visit, path: str) -> None:
    sync = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    page = visit(path)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        results = sync.Axe().run(page)
        assert results.violations_count == 0, results.generate_report()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(n) for n in dark.removeprefix("rgb(").removesuffix(")").split(",")) < 64
    page.set_viewport_size(PHONE)
    for direction in ("ltr", "rtl"):
        page.evaluate("d => { document.documentElement.dir = d; }", direction)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_the_first_load_is_light(browser, service) -> None:
    context = browser.new_context(base_url=service.url.geturl())
    page = context.new_page()
    protocol = context.new_cdp_session(page)
    protocol.send("Network.enable")
    weights: list[int] = []
    protocol.on("Network.loadingFinished", lambda event: weights.append(event["encodedDataLength"]))
    page.goto("/a/riverside", wait_until="networkidle")
    context.close()
    print(f"{sum(weights):,} bytes in {len(weights)} requests")
    assert len(weights) >= 5
    assert sum(weights) < MAX_FIRST_LOAD_BYTES


NAME_OF_FOCUS = """() => { const e = document.activeElement;
    return e.id || e.getAttribute("aria-label") || e.getAttribute("name") || e.innerText.trim(); }"""


def walk(page, stop: str) -> list[str]:
    """Press Tab until the focus is on an element whose name begins so; return the names of all on the way."""
    names = []
    for _ in range(60):
        page.keyboard.press("Tab")
        names.append(page.evaluate(NAME_OF_FOCUS))
        if names[-1].startswith(stop):
            return names
    raise AssertionError(names)


def test_ask_is_walked_by_keyboard(visit) -> None:
    page = visit("/a/riverside?title=my+bike+was+stolen")
    page.locator(".skip").focus()
    names = walk(page, "The bike I hired was stolen")
    assert [name for name in names if name in ("title", "body")] == ["title", "body"]
    answer = walk(page, "Answer")
    assert len(answer) == 1
    page.keyboard.press("Enter")
    assert page.locator(".full .prose").is_visible()
    assert walk(page, "Not the same")[-2].startswith("This answers it")
    page.keyboard.press("Space")
    page.get_by_text("Noted as different.").wait_for()
    assert "Noted as different." in page.evaluate(NAME_OF_FOCUS)
    walk(page, "none_of_these")
