"""*Queue*, *Gaps* and *Drafts* in a browser: by keyboard, by mouse, without JavaScript."""

from collections.abc import Iterator
from typing import Any

import pytest
from serving import Service

from askalike.store import Archive
from askalike.store.candidate_pairs import CandidatePair, add_proposals, list_proposals, undo_decision
from askalike.store.drafts import accept_draft, list_drafts
from askalike.store.editing import get_links
from database import run_sql
from waiting import wait_for

QUEUE, GAPS, DRAFTS = "/a/riverside/queue", "/a/riverside/gaps", "/a/riverside/drafts"
SIMILAR = "/v1/riverside/similar?title=print+a+zeppelin&k=1"


@pytest.fixture(autouse=True)
def nothing_is_decided(service: Service) -> Iterator[None]:
    """Nobody holds a pair; decisions are undone, before other tests see them."""
    for path in service.archive_path.parent.glob("*/leases"):
        path.write_text("")
    yield
    with open_archive(service) as archive:
        for state in ("accepted", "rejected", "skipped"):
            for proposal in list_proposals(archive, state):
                undo_decision(archive, proposal.id)


def open_archive(service: Service) -> Archive:
    return Archive.open(service.archive_path)


def read_states(service: Service) -> list[str]:
    with open_archive(service) as archive:
        return [state for (state,) in run_sql(archive, "SELECT state FROM proposals ORDER BY number")]


def test_the_queue_by_keyboard(visit, service) -> None:
    page = visit(QUEUE)
    names = ("They ask the same", "They do not", "Skip")
    shortcuts = [page.get_by_role("button", name=n, exact=True).get_attribute("aria-keyshortcuts") for n in names]
    assert shortcuts == ["a", "r", "s"]
    first = page.locator(".sides h2").first
    assert "93% likely the same" in page.locator("#pair").inner_text()
    title = first.inner_text()
    for key, state in (("a", "accepted"), ("r", "rejected"), ("s", "skipped")):
        page.keyboard.press(key)
        page.get_by_text(f"You {state}:").wait_for()
    assert read_states(service) == ["accepted", "rejected", "skipped", "open"]
    with open_archive(service) as archive:
        assert "r001" in {link.target for link in get_links(archive, "r013")}
    for last in ("You rejected:", "You accepted:"):
        page.keyboard.press("u")
        page.get_by_text(last).wait_for()
    page.keyboard.press("u")
    page.locator(".undo").wait_for(state="detached")
    assert read_states(service) == ["open"] * 4
    page.locator("h2", has_text=title).wait_for()
    with open_archive(service) as archive:
        assert "r001" not in {link.target for link in get_links(archive, "r013")}


def test_key_pressed_while_a_pair_loads_counts(visit, service) -> None:
    page = visit(QUEUE)
    page.route("**/queue", lambda route: (page.wait_for_timeout(300), route.continue_()))
    with page.expect_request(lambda request: "decision=undo" in (request.post_data or "")):
        page.keyboard.press("a")
        page.keyboard.press("u")
    page.locator(".undo").wait_for(state="detached")
    assert read_states(service) == ["open"] * 4


def test_key_pressed_while_the_page_loads_counts(visit, service) -> None:
    page = visit(QUEUE)
    held: list[Any] = []
    page.route("**/htmx.min.js*", lambda route: held.append(route))
    page.reload(wait_until="commit")
    page.get_by_role("button", name="They do not").wait_for()
    page.keyboard.press("r")
    held[0].continue_()
    page.get_by_text("You rejected:").wait_for()
    assert read_states(service).count("rejected") == 1


def test_keys_can_be_off_and_are_while_typing(visit, service) -> None:
    page = visit(QUEUE, alone=True)
    page.get_by_label("Keyboard shortcuts").uncheck()
    page.keyboard.press("a")
    page.wait_for_timeout(200)
    assert "accepted" not in read_states(service)
    page.reload()
    assert not page.get_by_label("Keyboard shortcuts").is_checked()


def test_the_queue_without_javascript(visit, service) -> None:
    page = visit(QUEUE, java_script_enabled=False)
    page.get_by_role("button", name="Skip").click()
    page.get_by_text("You skipped:").wait_for()
    assert set(read_states(service)) == {"open", "skipped"}
    page.get_by_role("button", name="Undo").click()
    wait_for(lambda: set(read_states(service)) == {"open"})


def test_moderators_at_once_never_get_the_same_pair(visit, service) -> None:
    pages = [visit(QUEUE, alone=True) for _ in range(5)]
    shown = [page.locator("input[name=id]").first.input_value() for page in pages[:4]]
    assert len(set(shown)) == 4
    pages[4].get_by_text("Other moderators are looking at the pairs that wait.").wait_for()
    assert service.get(QUEUE).status == 200  # a program holds none
    pages[0].reload()
    assert pages[0].locator("input[name=id]").first.input_value() == shown[0]


def test_a_pair_that_somebody_else_has_decided(visit, service) -> None:
    mine = visit(QUEUE)
    number = mine.locator("input[name=id]").first.input_value()
    decide = f"/v1/riverside/duplicates/{number}/decision"
    assert service.send("POST", decide, {"decision": "reject"}).status == 200
    mine.get_by_role("button", name="They ask the same").click()
    mine.get_by_role("alert").filter(has_text="Somebody else").wait_for()
    assert "accepted" not in read_states(service)


def test_an_earlier_decision_is_found_and_undone(visit, service) -> None:
    page = visit(QUEUE)
    title = page.locator(".sides h2").first.inner_text()
    page.keyboard.press("r")
    page.get_by_text("You rejected:").wait_for()
    page.get_by_role("link", name="Earlier decisions").click()
    page.get_by_label("Words of a title").fill(title[:25].upper())
    page.get_by_role("button", name="Search").click()
    assert "Not the same" in page.locator(".item").first.inner_text()
    n_decided = page.locator(".item").count()
    page.get_by_role("button", name=f"Undo: {title}").click()
    page.wait_for_url("**/queue/decisions")
    page.get_by_label("Words of a title").fill(title[:25])
    page.get_by_role("button", name="Search").click()
    page.wait_for_load_state()
    assert page.get_by_role("button", name=f"Undo: {title}").count() == n_decided - 1


def test_gaps_are_answered_or_ignored(visit, service) -> None:
    page = visit(GAPS)
    kayak = page.locator(".gap", has_text="kayak").first
    kayak.get_by_text("Write this FAQ entry").click()
    kayak.get_by_label("Question").fill("Can I borrow a kayak?")
    kayak.get_by_label("Answer").fill("Yes, for a day.\n\nBring it back dry.")
    kayak.get_by_role("button", name="Write the entry").click()
    page.get_by_text("The entry is saved").wait_for()
    similar = "/v1/riverside/similar?title=borrow+a+kayak&k=1"
    wait_for(lambda: "Can I borrow a kayak?" in str(service.poll(similar).get("results", [])[:1]))
    id = service.get(similar).json["results"][0]["id"]
    assert service.get(f"/v1/riverside/questions/{id}").json["answers"][0]["accepted"]
    boat = page.locator(".gap", has_text="park my boat")
    boat.get_by_role("button", name="Ignore").click()
    page.get_by_text("The gap is ignored.").wait_for()
    page.goto(GAPS)
    assert page.locator(".gap", has_text="park my boat").count() == 0
    page.get_by_role("link", name="Ignored gaps").click()
    page.get_by_role("button", name="Show it again: Where may I park my boat?").click()
    page.get_by_text("The gap is listed again.").wait_for()
    page.locator(".gap", has_text="park my boat").wait_for()


def test_code_keeps_lines_and_shared_passages_are_marked(visit, service) -> None:
    code = "<p>Why does this loop never end?</p><pre><code>while True:\n    wait({})\n    print(&lt;x&gt;)</code></pre>"
    for id, seconds in (("code1", 1), ("code2", 2)):
        question = {"title": f"A loop {id}", "body": code.format(seconds), "markup": "html"}
        service.send("PUT", f"/v1/riverside/questions/{id}", question)
    with open_archive(service) as archive:
        add_proposals(archive, [CandidatePair("code1", "code2", 0.999, 1.0, "lm")])
    page = visit(QUEUE)
    lines = page.locator(".sides pre").first.inner_text().split("\n")
    assert lines == ["while True:", "    wait(1)", "    print(<x>)"]
    for side, seconds in ((0, "1"), (1, "2")):
        card = page.locator(".sides .card").nth(side)
        assert "Why does this loop never end" in " ".join(card.locator("mark").all_inner_texts())
        assert seconds in card.locator("pre em.only").all_inner_texts()
    page.get_by_role("button", name="They do not").click()
    page.get_by_text("You rejected:").wait_for()


def test_the_queue_is_walked_by_keyboard(visit) -> None:
    page = visit(QUEUE)
    page.locator(".skip").focus()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.value") == "skip":
            break
    page.keyboard.press("Enter")
    page.get_by_text("You skipped:").wait_for()
    page.keyboard.press("u")
    page.locator(".undo").wait_for(state="detached")


def test_a_draft_is_edited_and_accepted(visit, service: Service, hostile_title: str) -> None:
    page = visit(DRAFTS)
    thread = page.locator(".card", has_text="slack/C1/1")
    assert hostile_title in thread.inner_text()
    assert (
        thread.get_by_role("link", name="slack/C1/1").get_attribute("href") == "https://acme.slack.com/archives/C1/p1"
    )
    thread.get_by_text("Edit, then accept").click()
    thread.get_by_label("Question").fill("How do I print a zeppelin?")
    thread.get_by_label("Details").fill("")
    thread.get_by_label("Other wordings").fill("Mobile printing\n\nprint app")
    thread.get_by_role("button", name="Accept").click()
    page.get_by_text("The entry is saved").wait_for()
    wait_for(lambda: service.get(SIMILAR).json["results"][0]["title"] == "How do I print a zeppelin?")
    id = service.get(SIMILAR).json["results"][0]["id"]
    entry = service.get(f"/v1/riverside/questions/{id}").json
    assert (entry["body"], entry["rephrasings"]) == ("", ["Mobile printing", "print app"])
    assert [(a["body"], a["accepted"]) for a in entry["answers"]] == [("Use the queue.", True)]
    page.get_by_role("link", name="Accepted drafts").click()
    page.get_by_role("link", name="the entry").click()
    page.get_by_role("heading", name="How do I print a zeppelin?").wait_for()


def test_groups_are_found_and_decided_without_javascript(visit, service: Service) -> None:
    page = visit(DRAFTS, java_script_enabled=False)
    page.get_by_role("button", name="Find new drafts").click()
    page.get_by_text("All current drafts are listed.").wait_for()
    first = page.locator(".card").first
    title = first.locator("h2").inner_text()
    with open_archive(service) as archive:
        [number] = [draft.number for draft in list_drafts(archive) if draft.title == title]
    assert first.get_by_role("link").count() >= 2  # the questions that it is made from
    first.get_by_role("button", name="Reject").click()
    page.get_by_text("These questions will not be proposed again").wait_for()
    assert page.get_by_role("heading", name=title, exact=True).count() == 0
    with open_archive(service) as archive:
        assert number in [draft.number for draft in list_drafts(archive, "rejected")]
        other = next(draft for draft in list_drafts(archive) if draft.source_ids)
        accept_draft(archive, other.number or 0)
    page.get_by_role("button", name=f"Accept: {other.title}", exact=True).click()
    page.get_by_text("Somebody else has already decided on that draft.").wait_for()
