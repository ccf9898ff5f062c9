"""What the first page weighs, and how *Ask* is walked by keyboard."""

MAX_FIRST_LOAD_BYTES = 35_000


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
