"""What *Quality* says of its figures, what it advises, its charts as files, and the use that it counts.

Use is counted once a view of the page, without a cookie and without who it was.
"""

from pathlib import Path

import pytest
from serving import Service

from askalike import Question, build
from askalike.calibration.calibrate import calibrate
from askalike.core.records import Link
from askalike.service.pages.quality import advise, sum_weeks
from askalike.store import Archive
from askalike.store.query_log import DailyUse, UseEvent, daily_use, sum_use
from waiting import wait_for


def test_figures_say_if_of_titles_alone(archive: Path, serve, service: Service) -> None:
    with Archive.open(archive) as opened:
        report = calibrate(opened, build("lm_jelinek_mercer"), titles_only=True, max_queries=120)
        report.calibration.save(archive)
    titles = serve(archive, options=("--set", "propose=0"))
    for served in (service, titles):
        page = served.get("/a/riverside/quality").body.decode()
        assert "measured on this archive’s own duplicates" in page
        assert ("By their titles alone" in page) == (served is titles)


def test_the_advice_is_what_the_archive_needs_most(tmp_path: Path) -> None:
    with Archive.create(tmp_path / "desk") as archive:
        advice = advise(archive, "hybrid", False, None)
        assert advice
        assert advice.command == "askalike import table FILE -o desk"
        archive.upsert([Question(str(n), f"How do I boil egg number {n}?", language="en") for n in range(110)])
        advice = advise(archive, "hybrid", False, None)
        assert advice
        assert advice.sentence.startswith("0 of the 100 known duplicates")
        assert not advice.command
        archive.upsert([Link("1", "absent", "duplicate")])
        assert advise(archive, "hybrid", False, None) == advice
        archive.upsert([Link(str(n), "0", "duplicate") for n in range(1, 102)])
        advice = advise(archive, "hybrid", False, None)
        assert advice
        assert advice.sentence == "101 known duplicates: enough for probabilities."
        assert advice.command == "askalike calibrate desk"
        archive.upsert([Question("0", "How do I boil egg number 0?", votes=9, language="en")])
        advice = advise(archive, "hybrid", True, None)
        assert advice
        assert advice.sentence.startswith("101 known duplicates: another ranker would probably find more")
        assert advice.command == "askalike tune desk"
        archive.set_meta(tuned_at="2026-11-30")
        advice = advise(archive, "hybrid", False, "it is old")
        assert advice
        assert "out of date" in advice.sentence
        assert advise(archive, "hybrid", True, None) is None


def test_a_small_archive_names_no_threshold_of_nothing(tmp_path: Path, serve) -> None:
    with Archive.create(tmp_path / "riverside") as archive:
        archive.upsert([Question("1", "The printer does not print"), Question("2", "I cannot log in")])
    served = serve(tmp_path / "riverside", options=("--ranker", "lm_jelinek_mercer", "--set", "propose=0"))
    served.get("/a/riverside?title=printer")
    page = served.get("/a/riverside/quality").body.decode()
    assert "more similar than off-topic questions usually are" in page
    assert "at least about" not in page


def test_words_alone_are_told_of_an_encoder(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askalike.rankers.DEFAULT_NAME", "hybrid")
    with Archive.open(example) as archive:
        advice = advise(archive, "lm_jelinek_mercer", True, None)
    assert advice
    assert advice.command == "askalike tune riverside"


def test_use_is_summed_by_week() -> None:
    counts: dict[UseEvent, int] = {"shown": 2, "opened": 1, "accepted": 0, "posted": 0, "posted_after_opening": 0}
    weeks = sum_weeks([DailyUse(day, counts) for day in ("2026-11-20", "2026-11-22", "2026-11-23")])
    assert [(week.day, week.counts["shown"]) for week in weeks] == [("2026-11-16", 4), ("2026-11-23", 2)]


def test_charts_are_saved_as_svg_and_png(visit, service: Service) -> None:
    image = service.get("/a/riverside/quality/accuracy.svg")
    assert image.headers["content-type"] == "image/svg+xml"
    assert image.body.startswith(b'<svg xmlns="http://www.w3.org/2000/svg"')
    assert service.get("/a/riverside/quality/none.svg").status == 404
    page = visit("/a/riverside/quality")
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG")):
        with page.expect_download() as saving:
            page.get_by_role("link", name=kind).first.click()
        assert saving.value.suggested_filename == f"accuracy.{kind.lower()}"
        assert Path(saving.value.path()).read_bytes().startswith(start)


def counts(service) -> dict[str, int]:
    with Archive.open(service.archive_path) as archive:
        return {event: n for event, n in sum_use(daily_use(archive, 30)).counts.items() if n}


def since(service, before: dict[str, int]) -> dict[str, int]:
    return {event: n - before.get(event, 0) for event, n in counts(service).items() if n != before.get(event, 0)}


def test_ask_counts_a_view_once(visit, service) -> None:
    before = counts(service)
    page = visit("/a/riverside")
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
    page = visit("/a/riverside?title=my+bike+was+stolen")
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
