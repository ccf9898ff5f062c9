"""A question and its answers are corrected on the question's page, and its history is shown there.

Point 12 of the operator's first day.
"""

import re
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from threading import Barrier
from urllib.parse import quote

import pytest
from test_login import Browser

from askalike.service.pages.display import render_difference
from askalike.store import Archive, keys
from random_examples import LONG
from waiting import wait_for

PAGE = "/a/riverside/questions/{}"
REVISIONS = "/v1/riverside/revisions?question={}"
N_USERS, N_ROUNDS = 4, 40 if LONG else 8


def test_a_correction_is_saved_found_and_shown(visit, service) -> None:
    page = visit(PAGE.format("r020"))
    title = page.get_by_role("heading", level=1).inner_text()
    page.get_by_text("Correct this question").click()
    page.get_by_label("Question", exact=True).fill(f"{title} <b>Quokka</b>")
    page.get_by_label("Tags").fill("quokkas, animals")
    page.get_by_role("button", name="Save the correction").click()
    page.get_by_text("The correction is saved.").wait_for()
    assert page.get_by_role("heading", level=1).inner_text() == f"{title} <b>Quokka</b>"
    assert page.get_by_role("list", name="Tags").locator("li").all_inner_texts() == ["quokkas", "animals"]
    history = page.get_by_role("region", name="History")
    assert history.locator("ins").first.inner_text().strip() == "<b>Quokka</b>"
    assert "by operator" in history.inner_text()
    [revision] = service.get(REVISIONS.format("r020")).json["revisions"]
    assert revision["changes"]["title"] == {"before": title, "after": f"{title} <b>Quokka</b>"}
    query = f"/v1/riverside/similar?title={quote(title)}+quokka"
    wait_for(lambda: "Quokka" in str(service.poll(query).get("results", [])[:1]))


def test_an_answer_is_corrected_without_javascript(visit) -> None:
    page = visit(PAGE.format("r021"), java_script_enabled=False)
    page.get_by_text("Correct this answer").click()
    field = page.get_by_label("Answer", exact=True)
    before = field.input_value()
    field.fill(f"{before}\nAsk for a wombat.")
    page.get_by_role("button", name="Save the correction").click()
    page.locator(".card .prose", has_text="Ask for a wombat.").first.wait_for()
    history = page.get_by_role("region", name="History")
    assert history.locator("ins").inner_text().strip() == "Ask for a wombat."
    assert history.locator("del").count() == 0


def fields_of(page: bytes) -> dict[str, str]:
    """The values of the first form that corrects something, as a browser sends them unchanged."""
    form = re.search(r'<details class="correct">.*?</form>', page.decode(), re.DOTALL)[0]
    fields = dict(re.findall(r'<input[^>]*name="(\w+)" value="([^"]*)"', form))
    fields |= dict(re.findall(r'<textarea[^>]*name="(\w+)"[^>]*>\n?(.*?)</textarea>', form, re.DOTALL))
    return {name: unescape(value).replace("\n", "\r\n") for name, value in fields.items()}


@pytest.mark.parametrize("id", ["x%2F1", "math", "r013"])
def test_unchanged_form_changes_nothing(service, id) -> None:
    user = Browser(service)
    fields = fields_of(user.get(PAGE.format(id)).body)
    before = service.get(f"/v1/riverside/questions/{id}").json
    assert user.post(PAGE.format(id), **fields).status == 303
    assert service.get(f"/v1/riverside/questions/{id}").json == before
    assert service.get(REVISIONS.format(id)).json == {"revisions": []}


def test_two_people_do_not_overwrite_each_other(service) -> None:
    users = [Browser(service), Browser(service)]
    forms = [fields_of(user.get(PAGE.format("r030")).body) for user in users]
    assert users[0].post(PAGE.format("r030"), **forms[0] | {"title": "Mine"}).status == 303
    refused = users[1].post(PAGE.format("r030"), **forms[1] | {"title": "Yours"})
    assert (refused.status, b"somebody else has changed this" in refused.body) == (409, True)
    assert service.get("/v1/riverside/questions/r030").json["title"] == "Mine"


def test_one_of_concurrent_corrections_is_saved(serve, archive) -> None:
    service = serve(archive, options=("--workers", "2"))
    users, barrier = [Browser(service) for _ in range(N_USERS)], Barrier(N_USERS)

    def correct(user: Browser) -> list[int]:
        statuses = []
        for n in range(N_ROUNDS):
            fields = fields_of(user.get(PAGE.format("r030")).body)
            barrier.wait()
            title = f"Round {n} of {users.index(user)}"
            statuses.append(user.post(PAGE.format("r030"), **fields | {"title": title}).status)
            barrier.wait()
        return statuses

    with ThreadPoolExecutor(N_USERS) as threads:
        rounds = zip(*threads.map(correct, users), strict=True)
    assert [sorted(statuses) for statuses in rounds] == [[303, *[409] * (N_USERS - 1)]] * N_ROUNDS


def test_a_correction_that_cannot_be_taken_is_refused(service) -> None:
    user = Browser(service)
    fields = fields_of(user.get(PAGE.format("r031")).body)
    for wrong in ({"title": " "}, {"title": "x" * 1001}, {"tags": ", ".join(map(str, range(51)))}):
        assert user.post(PAGE.format("r031"), **fields | wrong).status == 422
    assert user.post(PAGE.format("r031"), **fields | {"answer": "nowhere"}).status == 409
    assert user.post(PAGE.format("nowhere"), **fields).status == 404


def test_only_writers_correct_and_see_history(serve, archive) -> None:
    with Archive.open(archive) as opened:
        made = {scope: keys.create_key(opened, scope, f"the {scope} desk") for scope in ("read", "write")}
    served = serve(archive, options=("--set", "require_keys=true", "--set", "public=true"))
    address = PAGE.format("r001")
    writer, reader, visitor = Browser(served), Browser(served), Browser(served)
    for user, scope in ((writer, "write"), (reader, "read")):
        user.get("/login")
        assert user.post("/login", key=made[scope], next=address).status == 303
    fields = fields_of(writer.get(address).body) | {"title": "Was my bike stolen?"}
    assert writer.post(address, **fields).status == 303
    page = writer.get(address).body
    assert b"the write desk" in page
    for user, status in ((reader, 403), (visitor, 303)):
        page = user.get(address).body
        assert (b"Was my bike stolen?" in page, b"Correct this" in page, b"History" in page) == (True, False, False)
        assert user.post(address, **fields).status == status
    for scope, status in (("write", 200), ("read", 403)):
        headers = {"authorization": f"Bearer {made[scope]}"}
        assert served.send("GET", REVISIONS.format("r001"), headers=headers).status == status


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("Five minuts.", "Five minutes.", "Five<del> minuts</del><ins> minutes</ins>."),
        ("", "<i>", "<ins>&lt;i&gt;</ins>"),
        ("One two.", "", "<del>One two.</del>"),
        ("a b c", "a c", "a<del> b</del> c"),
    ],
)
def test_a_difference_shows_what_went_and_what_came(before: str, after: str, shown: str) -> None:
    assert render_difference(before, after) == shown


def test_long_texts_are_cut_to_what_differs() -> None:
    words = " ".join(f"word{n}" for n in range(3000))
    shown = render_difference(words, words.replace("word1500", "WORD"))
    assert "<del> word1500</del><ins> WORD</ins>" in shown
    assert len(shown) < 250
    assert len(render_difference(words, words[::-1])) > 2 * len(words)
