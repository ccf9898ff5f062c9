"""How similar questions are used is counted once a view of the page, without a cookie and without who it was.

Figures of use: shown, opened, accepted, and not asked after all; on Quality and in /metrics.
"""

from askalike.store import Archive
from askalike.store.query_log import daily_use, sum_use
from waiting import wait_for

ASK = "/a/riverside"


def counts(service) -> dict[str, int]:
    with Archive.open(service.archive_path) as archive:
        return {event: n for event, n in sum_use(daily_use(archive, 30)).counts.items() if n}


def since(service, before: dict[str, int]) -> dict[str, int]:
    return {event: n - before.get(event, 0) for event, n in counts(service).items() if n != before.get(event, 0)}


def test_ask_counts_a_view_once(visit, service) -> None:
    before = counts(service)
    page = visit(ASK)
    cookies = {cookie["name"] for cookie in page.context.cookies()}
    page.locator("#title").fill("xyzzy")
    page.get_by_role("heading", name="No similar questions").wait_for()
    assert since(service, before) == {}
    for text in ("my bike was stol", "my hired bike was stolen"):
        page.locator("#title").fill(text)
        page.locator(".item", has_text="The bike I hired was stolen").first.wait_for()
    wait_for(lambda: since(service, before) == {"shown": 1})
    page.locator(".item h3 a").first.click()
    page.wait_for_url("**/questions/*")
    wait_for(lambda: since(service, before) == {"shown": 1, "opened": 1})
    page.go_back()
    page.get_by_role("button", name="This answers it").first.click()
    page.get_by_text("Noted that this answers your question.").wait_for()
    wait_for(lambda: since(service, before) == {"shown": 1, "opened": 1, "accepted": 1})
    assert {cookie["name"] for cookie in page.context.cookies()} == cookies
    page.goto("/a/riverside/quality")
    use = page.locator("figure", has_text="Usage")
    assert "Views with similar questions today:" in use.inner_text()
    use.get_by_text("Daily counts").click()
    assert use.get_by_role("row").count() == 2
    assert page.locator("figure", has_text="Feedback").get_by_text("Weekly counts").count() == 1
    metrics = service.get("/metrics").body.decode()
    for event in ("shown", "opened", "accepted"):
        assert f'askalike_use_total{{archive="riverside",event="{event}"}}' in metrics


def test_what_is_accepted_at_once_counts_as_opened(visit, service) -> None:
    before = counts(service)
    page = visit(f"{ASK}?title=my+bike+was+stolen")
    page.get_by_role("button", name="This answers it").first.click()
    page.get_by_text("Noted that this answers your question.").wait_for()
    wait_for(lambda: since(service, before) == {"opened": 1, "accepted": 1})


def test_programs_say_what_counts(service) -> None:
    before = counts(service)
    api = "/v1/riverside"
    for values in ({"title": "library card"}, {"title": "library card", "count_shown": True}, {"title": "xyzzy"}):
        service.send("POST", f"{api}/similar", values)
    for opened in (False, True):
        said = {"title": "boats", "shown_ids": [], "verdict": "posted_anyway", "opened": opened}
        assert service.send("POST", f"{api}/feedback", said).status == 204
    assert since(service, before) == {"shown": 1, "posted": 2, "posted_after_opening": 1}
