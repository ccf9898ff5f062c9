"""*Drafts* in a browser: proposed FAQ entries are edited and accepted, or rejected."""

from serving import Service

from askalike.store import Archive
from askalike.store.drafts import accept_draft, list_drafts
from waiting import wait_for

DRAFTS = "/a/riverside/drafts"
SIMILAR = "/v1/riverside/similar?title=print+a+zeppelin&k=1"


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


def test_groups_are_found_rejected_and_decided_by_others_without_javascript(visit, service: Service) -> None:
    page = visit(DRAFTS, java_script_enabled=False)
    page.get_by_role("button", name="Find new drafts").click()
    page.get_by_text("All current drafts are listed.").wait_for()
    first = page.locator(".card").first
    title = first.locator("h2").inner_text()
    assert first.get_by_role("link").count() >= 2  # the questions that it is made from
    first.get_by_role("button", name="Reject").click()
    page.get_by_text("These questions will not be proposed again").wait_for()
    assert page.get_by_role("heading", name=title, exact=True).count() == 0
    with Archive.open(service.archive_path) as archive:
        assert title in [draft.title for draft in list_drafts(archive, "rejected")]
        other = next(draft for draft in list_drafts(archive) if draft.source_ids)
        accept_draft(archive, other.number or 0)
    page.get_by_role("button", name=f"Accept: {other.title}", exact=True).click()
    page.get_by_text("Somebody else has already decided on that draft.").wait_for()
