"""The reference of the HTTP interface: complete, with examples that run, and readable by everybody."""

import json
import re
import shlex

import pytest
from serving import Service

from askalike.service.pages.api_reference import EXAMPLES
from chromium import assert_accessible
from waiting import wait_for

V1 = "/v1/riverside"


def commands(service: Service) -> dict[str, list[str]]:
    """Operation below `/v1/ARCHIVE/` → the words of its example."""
    page = service.get("/docs", accept="text/html").body.decode()
    text = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", page, flags=re.DOTALL)
    lines = [line.replace("&#39;", "'").replace("&#34;", '"').replace("&amp;", "&") for line in text]
    split = [shlex.split(line) for line in lines]
    return dict(zip(lines, split, strict=True))


def run(service: Service, words: list[str]) -> int:
    """Send the request of a command line of curl; return its status."""
    url = next(word for word in words if word.startswith("http"))
    body = json.loads(words[words.index("--json") + 1]) if "--json" in words else None
    method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
    path = url.removeprefix(service.url.geturl()).replace("ARCHIVE", "riverside")
    return service.send(method, path, body).status


def test_every_operation_is_shown_and_its_example_runs(service: Service) -> None:
    described = service.get("/openapi.json").json["paths"]
    lines = commands(service)
    assert len(lines) == sum(map(len, described.values()))
    assert all(operation["summary"] for methods in described.values() for operation in methods.values())
    changing = [line for line in lines if any(name in line for name in ("-X", "batch", "links"))]
    written = [line for line in changing if "DELETE" not in line and "--json" in line and "decision" not in line]
    statuses = {line: run(service, lines[line]) for line in sorted(written, key=lambda line: "questions" not in line)}
    assert set(statuses.values()) <= {200, 201}, statuses
    wait_for(lambda: service.get(f"{V1}/similar?title=box+for+books").json["results"])
    others = [line for line in lines if line not in changing and "embeddings" not in line and "gaps/" not in line]
    statuses = {line: run(service, lines[line]) for line in others}
    assert set(statuses.values()) <= {200, 204}, statuses
    assert len(written) + len(others) >= len(EXAMPLES) - 4


def test_v1_leads_people_to_the_reference(visit, service: Service) -> None:
    index = service.get("/v1").json
    assert (index["documentation"], index["openapi"]) == ("/docs", "/openapi.json")
    assert f"{V1}/similar".replace("riverside", "{archive}") in index["paths"]
    page = visit("/v1")
    page.get_by_role("heading", name="HTTP interface").wait_for()
    assert page.url.endswith("/docs")
    page.get_by_role("link", name="SimilarResponse").first.click()
    page.get_by_role("link", name="SimilarQuestion").first.click()
    assert page.url.endswith("#SimilarQuestion")
    assert page.locator("#SimilarQuestion").is_visible()
    answers = page.get_by_role("link", name="AnswerRecord-Output", include_hidden=True)
    assert answers.first.get_attribute("href") == "#AnswerRecord-Output"


@pytest.mark.long
def test_the_reference_is_accessible_and_fits_every_screen(visit) -> None:
    page = visit("/docs")
    for width in (320, 1200):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_accessible(page, rules={"color-contrast": {"enabled": False}})
    page.evaluate("document.querySelectorAll('section ~ section').forEach((e) => e.remove())")  # they look alike
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert_accessible(page, runOnly=["color-contrast"])


@pytest.mark.parametrize(
    ("method", "path", "body", "details"),
    [
        ("GET", f"{V1}/similar?title=x&colour=red", None, ["query.colour: is not a field here; see /docs"]),
        ("GET", f"{V1}/similar?title={'x' * 1001}", None, ["query.title: expected at most 1,000 characters"]),
        ("GET", f"{V1}/similar?title=x&k=many", None, ["query.k: expected a whole number"]),
        (
            "POST",
            f"{V1}/answer",
            {"title": "x", "mode": "guess"},
            ["body.mode: expected 'nearest', 'generate', 'auto' or 'grounded'"],
        ),
        ("POST", f"{V1}/feedback", {"shown_ids": "r1"}, ["body.title: is missing", "body.shown_ids: expected a list"]),
        ("PUT", f"{V1}/questions/a", {"title": 3}, ["body.title: expected text"]),
        ("PUT", f"{V1}/questions/a", ["x"], ["body: expected an object"]),
        ("POST", f"{V1}/embeddings", {"model": "static", "input": {}}, ["body.input: expected text or a list"]),
    ],
)
def test_errors_are_in_words(service: Service, method: str, path: str, body: object, details: list[str]) -> None:
    problem = service.send(method, path, body)
    assert problem.status == 422
    assert not [detail for detail in details if detail not in problem.json["detail"]], problem.json["detail"]
    assert not re.search(r"should|input|literal\[|pydantic", problem.json["detail"].replace("body.input", ""), re.I)


def test_shown_response_has_fields_of_a_real_one(service: Service) -> None:
    page = service.get("/docs", accept="text/html").body.decode()
    [text] = re.findall(r'<pre class="response"[^>]*>(.*?)</pre>', page, flags=re.DOTALL)
    shown, response = json.loads(text), service.get(f"{V1}/similar?title=returning+a+book").json
    assert shown.keys() <= response.keys()
    [result] = shown["results"]
    assert result.keys() <= response["results"][0].keys()


def test_the_reference_folds_all_but_an_example(visit) -> None:
    page = visit("/docs")
    assert page.locator("details[open]").count() == 1
    assert "curl" in page.locator("details[open]").inner_text()
