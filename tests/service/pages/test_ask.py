"""*Ask* and *Question* in a browser: typing, marked words, feedback; with JavaScript and without."""

import re
from pathlib import Path

import pytest
from serving import RANKER, Service

from askalike.core.records import Question
from askalike.moderation.gaps import find_gaps
from askalike.store import Archive
from database import run_sql
from waiting import wait_for

ASK = "/a/riverside"
MAX_FIRST_LOAD_BYTES = 35_000


def read_feedback(service):
    with Archive.open(service.archive_path) as archive:
        return run_sql(archive, "SELECT title, shown_ids, chosen_id, verdict FROM feedback")


def test_typing_shows_similar_questions_with_their_words_marked(visit) -> None:
    page = visit(ASK)
    page.locator("#title").press_sequentially("my bike was stol", delay=15)
    first = page.locator(".item").first
    first.locator("mark", has_text="stolen").first.wait_for()
    assert "The bike I hired was stolen" in first.inner_text()
    assert {"bike", "stolen"} <= {m.casefold() for m in first.locator("mark").all_inner_texts()}
    assert "Report it to the police" in first.inner_text()
    assert re.search(r"\d+% likely the same", first.inner_text())
    page.wait_for_url("**" + ASK + "?title=my+bike+was+stol")
    page.locator("#title").fill("xyzzy")
    page.get_by_role("heading", name="No similar questions").wait_for()
    page.locator("#title").fill("")
    page.get_by_role("heading", name="Recent questions").wait_for()


def test_first_key_after_loading_is_typed(visit) -> None:
    page = visit(ASK)
    page.add_init_script("addEventListener('DOMContentLoaded', () => { window.focused = document.activeElement.id; })")
    for _ in range(3):  # without a script, the browser is now and then so fast
        page.reload()
        assert page.evaluate("focused") == "title"


def test_misspelt_hits_say_how_it_was_read(visit) -> None:
    page = visit(f"{ASK}?title=my+bike+was+stoeln")
    page.get_by_text("Read as: stoeln → stolen").wait_for()
    page = visit(ASK)
    page.locator("#title").press_sequentially("my bike was stol", delay=15)
    page.locator(".item").first.wait_for()
    assert page.get_by_text("Read as:").count() == 0


def test_going_back_shows_query_and_hits(visit) -> None:
    page = visit(ASK)
    page.locator("#title").fill("my bike was stolen")
    page.locator("#body").fill("from the station")
    page.wait_for_url("**title=my+bike+was+stolen&body=from+the+station")
    title = page.locator(".item h3 a").first.inner_text()
    page.locator(".item h3 a").first.click()
    page.get_by_role("heading", level=1).wait_for()
    page.go_back()
    assert page.get_by_label("Your question").input_value() == "my bike was stolen"
    assert page.get_by_label("Details").input_value() == "from the station"
    assert page.locator(".item h3 a").first.inner_text() == title


def test_improbable_hits_are_related_without_a_number(visit) -> None:
    page = visit(f"{ASK}?title=my+bike+was+stolen")
    assert re.fullmatch(r"\d likely the same", page.locator("#found").inner_text())
    shares = [int(share) for share in re.findall(r"(\d+)% likely the same", page.locator("#similar").inner_text())]
    assert shares
    assert min(shares) >= 50
    related = page.locator("details.related")
    assert related.locator(".item").first.is_hidden()
    related.locator("summary").first.click()
    assert related.locator(".item").first.is_visible()
    assert related.locator("meter").count() == 0


def test_unlikely_hits_are_open_as_related(visit) -> None:
    page = visit(f"{ASK}?title=what+is+the+police+for")
    assert page.locator("#found").inner_text().endswith(("related questions", "related question"))
    assert page.locator(".item").first.is_visible()
    assert "%" not in page.locator("#similar").inner_text()
    assert "likely" not in page.locator("#similar").inner_text()  # what is not measured is not denied


def test_the_best_answer_is_read_without_leaving(visit) -> None:
    page = visit(f"{ASK}?title=my+bike+was+stolen")
    first = page.locator(".item").first
    prose = first.locator(".full .prose")
    assert prose.is_hidden()
    with page.expect_request("**/opened"):
        first.get_by_text("Read it all").click()
    assert prose.is_visible()
    assert page.locator(".full").count() == 1


def test_what_was_found_is_announced_once_somebody_pauses(visit) -> None:
    page = visit(ASK, alone=True)
    page.clock.install()
    page.reload()
    page.clock.pause_at("2100-01-01")
    page.evaluate("""() => { window.noted = [];
        document.addEventListener("htmx:afterSwap", (e) => e.target.id === "similar" && noted.push("found"));
        new MutationObserver(() => noted.push(document.getElementById("said").textContent))
            .observe(document.getElementById("said"), { childList: true }); }""")
    for n, part in enumerate(("my bike was stolen", "."), start=1):
        page.locator("#title").press_sequentially(part)
        page.clock.run_for(300)
        wait_for(lambda n=n: page.evaluate("noted") == ["found"] * n)
        page.clock.run_for(600)
    assert page.evaluate("noted") == ["found"] * 2
    page.clock.run_for(500)
    assert page.evaluate("noted") == ["found"] * 2 + [page.locator("#found").inner_text()]


def test_an_unanswered_hit_answers_nothing(visit, service) -> None:
    page = visit(f"{ASK}?title=zygohistomorphic+queue")
    first = page.locator(".item").first
    assert "No answer yet" in first.inner_text()
    assert first.get_by_role("button", name="This answers it").count() == 0
    first.get_by_role("button", name="This is my question").click()
    page.get_by_text("Your question is known, but has no answer yet.").wait_for()
    wait_for(lambda: ("zygohistomorphic queue", "math", "accept") in [(r[0], *r[2:]) for r in read_feedback(service)])


def test_an_answer_elsewhere_is_linked(tmp_path: Path, serve) -> None:
    at = "https://example.org/q/1"
    with Archive.create(tmp_path / "desk.example.org") as archive:
        archive.upsert([
            Question("1", "Where is the kraken fed?", url=at, accepted_answer_id="9"),
            Question("2", "Who feeds krakens?"),
        ])  # fmt: skip
    served = serve(tmp_path / "desk.example.org", ranker=RANKER, options=("--set", "propose=0"))
    home = "/a/desk.example.org"
    for path in (f"{home}?title=where+is+the+kraken+fed", f"{home}/questions/1"):
        page = served.get(path).body.decode()
        assert "Answered elsewhere" in page
        assert f'href="{at}"' in page
    assert "No answers yet" in served.get(f"{home}/questions/2").body.decode()
    assert "desk.<wbr>example.<wbr>org" in served.get(home).body.decode()


def test_the_body_counts_too(visit) -> None:
    page = visit(ASK)
    page.locator("#title").fill("Help")
    page.locator("#body").fill("I have lost my library card")
    page.locator(".item", has_text="I have lost my library card").first.wait_for()


def test_feedback_is_stored(visit, service) -> None:
    page = visit(ASK)
    page.locator("#title").fill("my hired bike was stolen")
    page.get_by_role("button", name="This answers it: The bike I hired was stolen").click()
    page.get_by_text("Noted that this answers your question.").wait_for()
    page.get_by_text(re.compile(r"^\d+ related question")).click()
    page.get_by_role("button", name="Not the same").first.click()
    page.get_by_text("Noted as different.").wait_for()
    page.get_by_role("button", name="None of these is my question").click()
    page.get_by_text("Noted as missing.").wait_for()
    rows = [row for row in read_feedback(service) if row[0] == "my hired bike was stolen"]
    assert [(chosen, verdict) for _, _, chosen, verdict in rows][::2] == [("r001", "accept"), (None, "none_of_these")]
    assert all("r001" in shown for _, shown, _, _ in rows)
    page.get_by_role("link", name="Read it in full").click()
    page.get_by_role("heading", level=1, name="The bike I hired was stolen. What do I have to do?").wait_for()


def test_everything_works_without_javascript(visit, service) -> None:
    page = visit(ASK, java_script_enabled=False)
    page.get_by_label("Your question").fill("somebody took my rented bicycle")
    page.get_by_role("button", name="Find similar questions").click()
    page.locator("mark", has_text="bicycle").first.wait_for()
    page.get_by_role("button", name="Not the same").first.click()
    page.get_by_text("Noted as different.").wait_for()
    assert page.get_by_label("Your question").input_value() == "somebody took my rented bicycle"
    wait_for(lambda: ("somebody took my rented bicycle", "reject") in [(r[0], r[3]) for r in read_feedback(service)])
    page.locator(".item a").first.click()
    page.wait_for_url("**/questions/*")
    page.get_by_role("heading", name="1 answer").wait_for()


def test_question_shows_answers_and_reasons_of_duplicates(visit) -> None:
    page = visit("/a/riverside/questions/r013")
    same = page.get_by_role("region", name="Duplicates")
    top = same.locator(".tree > li")
    assert "The original" in top.inner_text()
    assert top.get_attribute("aria-current") == "true"
    assert top.locator("ul > li").count() == 1
    assert page.get_by_role("region", name="Related").locator(".item").count() == 1
    also = page.get_by_role("region", name="Also similar")
    assert also.locator(".why .word").count() >= 1
    assert also.locator("mark").count() >= 1
    shown = [int(share) for share in re.findall(r"(\d+)% likely the same", also.inner_text())]
    assert len(shown) == also.locator(".item meter").count() <= also.locator(".item").count()
    assert all(share >= 50 for share in shown)
    assert page.locator("article.accepted").count() == 1


def test_why_two_questions_may_ask_the_same(visit) -> None:
    page = visit("/a/riverside/questions/x%2F1")
    tree = page.get_by_role("region", name="Duplicates").locator(".tree")
    assert (
        tree.locator("> li").get_by_role("link").first.inner_text() == "I have lost my library card. What should I do?"
    )
    assert tree.locator("ul [aria-current]").count() == 1
    page.get_by_role("link", name="Why these two?").first.click()
    page.get_by_role("heading", level=1, name="Why these two?").wait_for()
    assert page.locator(".sides .card").count() == 2
    page = visit("/a/riverside/why?one=r001&other=r013")
    assert page.locator(".sides .card").count() == 2


def test_hostile_texts_are_only_texts(visit, hostile_title) -> None:
    page = visit("/a/riverside/questions/x%2F1")
    assert page.get_by_role("heading", level=1).inner_text() == hostile_title
    assert page.title() == f"{hostile_title} · riverside"
    prose = page.locator(".question .prose")
    assert prose.locator("script, img, iframe, [onclick], [href^=javascript]").count() == 0
    assert prose.get_attribute("lang") is None
    assert prose.locator("ul li").count() == 2
    assert prose.get_by_role("link", name="[a plan]").get_attribute("rel") == "nofollow noopener noreferrer ugc"
    assert 'print("a long line' in prose.locator("pre code").inner_text()


def test_details_come_before_the_hits_on_narrow_pages(visit) -> None:
    """On a single line, so that hits stand right below; on wide pages the hits stand beside."""
    page = visit("/a/riverside?title=lost+my+card")
    hit, body = page.locator(".item").first, page.locator("#body")
    for width in (375, 700, 900):
        page.set_viewport_size({"width": width, "height": 800})
        details, shown = body.bounding_box(), hit.bounding_box()
        assert page.locator("#title").bounding_box()["y"] < details["y"] < shown["y"] < 500
        assert details["height"] < 60
    page.set_viewport_size({"width": 1200, "height": 800})
    form = body.bounding_box()
    assert hit.bounding_box()["x"] > form["x"] + form["width"]
    body.fill("I have lost my library card.\n" * 4)  # it searches again, and other hits come
    assert body.bounding_box()["height"] > 90


@pytest.fixture(scope="module")
def taking(copy, serve_all) -> Service:
    """A service whose operator lets people post questions to the drafts."""
    return serve_all(copy(), options=("--set", "propose=0", "--set", "take_questions=true"))


def read_gaps(service: Service) -> dict[str, int]:
    with Archive.open(service.archive_path) as archive:
        return {gap.title: gap.count for gap in find_gaps(archive)}


def test_unanswered_question_is_posted_to_drafts(browser, taking: Service) -> None:
    page = browser.new_page(base_url=taking.url.geturl())
    page.goto(f"{ASK}?title=where+is+my+lost+library+card")
    post = page.get_by_role("button", name="Post your question")
    assert post.is_hidden()
    for _ in range(page.locator(".likely .item").count()):
        page.locator(".likely").get_by_role("button", name="Not the same").first.click()
        page.locator(".said").last.wait_for()
        page.wait_for_load_state("networkidle")
    post.click()
    page.get_by_text("Your question is with the moderators.").wait_for()
    assert read_gaps(taking) == {"where is my lost library card": 1}
    page.goto("/a/riverside/drafts")
    draft = page.locator(".card", has_text="where is my lost library card")
    assert "a question posted here" in draft.inner_text()
    draft.get_by_label("Answer", exact=True).fill("At the desk.")
    draft.get_by_role("button", name="Accept").click()
    page.get_by_text("The entry is saved").wait_for()
    page.close()


def test_question_is_posted_without_javascript_once(browser, taking: Service) -> None:
    context = browser.new_context(base_url=taking.url.geturl(), java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{ASK}?title=library+card+for+a+zebra")
    page.get_by_role("button", name="None of these is my question").click()
    page.get_by_role("button", name="Post your question").click()
    page.get_by_text("Your question is with the moderators.").wait_for()
    assert read_gaps(taking)["library card for a zebra"] == 1
    context.close()


def test_questions_are_taken_where_the_operator_allows(visit) -> None:
    page = visit(f"{ASK}?title=library+card")
    page.get_by_role("button", name="None of these is my question").click()
    page.get_by_text("Noted as missing.").wait_for()
    assert page.get_by_role("button", name="Post your question").count() == 0


def test_overlong_question_continues_in_the_details(visit) -> None:
    page = visit(f"/a/riverside?title={'my+card+is+lost+' * 80}&body=What+now")
    page.get_by_text("The rest of it is in the details.").wait_for()
    title, body = page.locator("#title").input_value(), page.locator("#body").input_value()
    assert len(title) <= 1_000
    assert " ".join(f"{title} {body}".split()) == "my card is lost " * 80 + "What now"
    assert page.locator(".item").count()


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
