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
MAX_FIRST_LOAD_BYTES = 60_000


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
