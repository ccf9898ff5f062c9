"""Logging in and out, what a browser may do with pages, and forms that come from elsewhere; over plain HTTP."""

import http.client
import re
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlencode

import pytest
from serving import Response, Service, create_key

from askalike.moderation.gaps import find_gaps
from askalike.store import Archive, keys
from askalike.store.query_log import LoggedQuery, insert_feedback
from database import run_sql
from waiting import PATIENCE_S

ASK, QUEUE, GAPS = "/a/riverside", "/a/riverside/queue", "/a/riverside/gaps"
PUBLIC = "https://ask.example"


class Browser:
    """Stores cookies and the token of the last page, as a browser does."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.cookies: dict[str, str] = {}
        self.token = ""
        self.set_cookies: list[str] = []

    def get(self, path: str) -> Response:
        return self._send("GET", path)

    def post(
        self, path: str, token: str | None = None, headers: dict[str, str] | None = None, **fields: str
    ) -> Response:
        body = urlencode(fields | {"csrf": self.token if token is None else token}).encode()
        sent = {"content-type": "application/x-www-form-urlencoded"} | (headers or {})
        return self._send("POST", path, body, sent)

    def _send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Response:
        cookie = {"cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())} if self.cookies else {}
        url = self.service.url
        connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=PATIENCE_S)
        connection.request(method, path, body, {"accept": "text/html"} | cookie | (headers or {}))
        raw = connection.getresponse()
        answer = Response(raw.status, {k.lower(): v for k, v in raw.getheaders()}, raw.read())
        connection.close()
        self.set_cookies = raw.headers.get_all("set-cookie") or []
        self.cookies |= {k: morsel.value for one in self.set_cookies for k, morsel in SimpleCookie(one).items()}
        match = re.search(rb'name="csrf" value="([0-9a-f]+)"|"x-csrf":"([0-9a-f]+)"', answer.body)
        self.token = (match[1] or match[2]).decode() if match else self.token
        return answer


@pytest.fixture(scope="module")
def locked(copy) -> Path:
    """An archive that is served to people with keys."""
    path = copy()
    create_key(path, "read")
    return path


@pytest.fixture(scope="module")
def closed(locked: Path, serve_all) -> Service:
    return serve_all(locked, options=("--set", "require_keys=true"))


def log_in(closed: Service, key: str) -> Browser:
    user = Browser(closed)
    user.get("/login")
    answer = user.post("/login", key=key, next=ASK)
    assert (answer.status, answer.headers["location"]) == (303, ASK)
    return user


def test_a_key_is_exchanged_for_a_session(closed, locked) -> None:
    stranger = Browser(closed)
    refused = stranger.get(QUEUE)
    assert (refused.status, refused.headers["location"]) == (303, "/login?next=/a/riverside/queue")
    assert stranger.get("/").headers["location"] == "/login"
    stranger.get("/login")
    refused = stranger.post("/login", key="ask_0123456789ab_" + "x" * 43)
    assert (refused.status, b"unknown or revoked" in refused.body) == (401, True)
    user = log_in(closed, create_key(locked, "moderate"))
    for path in (
        "/",
        ASK,
        QUEUE,
        "/a/riverside/gaps",
        "/a/riverside/drafts",
        "/a/riverside/quality",
        "/a/riverside/questions/r001",
    ):
        assert user.get(path).status == 200
    assert user.get(QUEUE).headers["cache-control"] == "no-store"
    session = next(value for name, value in user.cookies.items() if "session-" in name)
    with Archive.open(locked) as opened:
        assert session not in str(run_sql(opened, "SELECT hex(hash), key_id FROM sessions"))
    closed.get("/v1/riverside/similar?title=card", cookie=f"session={session}")
    assert session not in "".join(closed.lines)


def test_archives_have_log_ins_of_their_own(copy, serve, tmp_path) -> None:
    paths = [copy().rename(tmp_path / name) for name in ("north", "south")]
    keys_of = [create_key(path, "read") for path in paths]
    served = serve(*paths, options=("--set", "require_keys=true"))
    user = Browser(served)
    assert b"Log in to" in user.get("/login?next=/a/north").body
    assert user.post("/login", key=keys_of[1], next="/a/north").status == 401
    for name, key in zip(("north", "south"), keys_of, strict=True):
        user.get(f"/login?next=/a/{name}")
        assert user.post("/login", key=key, next=f"/a/{name}").headers["location"] == f"/a/{name}"
        home = user.get("/").body
        assert (b"/a/north" in home, b"/a/south" in home) == (True, name == "south")
    user.get("/a/north")
    user.post("/logout", archive="north")
    assert (user.get("/a/north").status, user.get("/a/south").status) == (303, 200)


def test_a_session_has_the_scope_of_its_key(closed, locked) -> None:
    reader = log_in(closed, create_key(locked, "read"))
    assert b"/a/riverside/queue" not in reader.get(ASK).body
    assert (reader.get(QUEUE).status, b"this request needs moderate" in reader.get(QUEUE).body) == (403, True)
    assert closed.send("GET", "/v1/riverside/similar?title=x", headers={"cookie": "a=b"}).status == 401


def test_session_ends_by_logout_and_its_key(closed, locked) -> None:
    key = create_key(locked, "read")
    first, second = log_in(closed, key), log_in(closed, key)
    cookies = dict(first.cookies)
    first.get(ASK)
    assert first.post("/logout").status == 303
    first.cookies = cookies
    assert first.get(ASK).status == 303
    assert second.get(ASK).status == 200
    with Archive.open(locked) as opened:
        keys.revoke_key(opened, key.split("_")[1])
    assert second.get(ASK).status == 303


def test_people_log_in_and_out_in_a_browser(browser, closed, locked) -> None:
    context = browser.new_context(base_url=closed.url.geturl())
    page = context.new_page()
    page.goto(QUEUE)
    page.get_by_label("Your key").fill("not a key")
    page.get_by_role("button", name="Log in").click()
    page.get_by_text("This key is unknown").wait_for()
    page.get_by_label("Your key").fill(create_key(locked, "moderate"))
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Do these ask the same?").wait_for()
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_label("Your question").fill("lost my card")
    page.get_by_role("button", name="None of these is my question").click()
    page.get_by_text("Noted").wait_for()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("heading", name="Log in").wait_for()
    context.close()


def test_behind_tls_cookies_go_to_our_pages_alone(serve, locked) -> None:
    user = Browser(serve(locked, options=("--set", "require_keys=true", "--set", f"public_url={PUBLIC}")))
    user.get("/login")
    key = create_key(locked, "read")
    assert user.post("/login", key=key, headers={"origin": "https://evil.example"}).status == 403
    user.post("/login", key=key, headers={"origin": PUBLIC})
    session, visitor = sorted(user.set_cookies)
    assert session.startswith("__Host-session-")
    assert {"HttpOnly", "Secure", "Path=/", "SameSite=strict"} <= set(session.split("; "))
    assert {"HttpOnly", "Secure", "Path=/", "SameSite=lax"} <= set(visitor.split("; "))


@pytest.mark.parametrize("next", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_a_login_leads_nowhere_else(closed, locked, next: str) -> None:
    user = Browser(closed)
    user.get("/login")
    answer = user.post("/login", key=create_key(locked, "read"), next=next)
    assert answer.headers["location"] == "/"


def test_a_published_key_opens_no_session(closed, locked) -> None:
    user = Browser(closed)
    user.get("/login")
    assert user.post("/login", key=create_key(locked, origin="https://forum.example")).status == 401


def test_a_form_from_elsewhere_changes_nothing(service) -> None:
    user = Browser(service)
    user.get(QUEUE)
    fields = {"title": "From elsewhere", "shown": "r001", "accept": "r001"}
    path = f"{ASK}/feedback"
    assert user.post(path, token="", **fields).status == 403
    assert user.post(path, token="0" * 48, **fields).status == 403
    assert user.post(path, headers={"origin": "https://evil.example"}, **fields).status == 403
    assert user.post(path, headers={"origin": "null"}, **fields).status == 403
    assert user.post(path, headers={"origin": "http://["}, **fields).status == 403
    assert user.post(path, headers={"sec-fetch-site": "cross-site"}, **fields).status == 403
    assert Browser(service).post(path, token=user.token, **fields).status == 403
    for address in (QUEUE, "/a/riverside/gaps", "/a/riverside/drafts", "/logout", "/login"):
        assert user.post(address, token="").status == 403
    with Archive.open(service.archive_path) as archive:
        sql = "SELECT COUNT(*) FROM feedback WHERE title = 'From elsewhere'"
        assert run_sql(archive, sql)[0] == (0,)
        assert user.post(path, headers={"origin": service.url.geturl()}, **fields).status == 303
        assert run_sql(archive, sql)[0] == (1,)


def test_missing_page_says_so_once(service) -> None:
    page = Browser(service).get("/nowhere").body.decode()
    assert (page.count("<h1>Page not found</h1>"), page.lower().count("not found</p>"), page.count("Not Found")) == (
        1,
        0,
        0,
    )
    assert ">404 · <code>" in page


@pytest.mark.parametrize("path", ["/", ASK, QUEUE, "/nowhere", "/a/nowhere", "/a/riverside/questions/nowhere"])
def test_every_page_has_security_headers(service, path: str) -> None:
    answer = Browser(service).get(path)
    policy = answer.headers["content-security-policy"]
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"} <= set(
        policy.split("; ")
    )
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert not re.search(rb"\son\w+=|\sstyle=|<style|<script(?! src=)", answer.body)


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        (f"{ASK}/feedback", {"title": "x", "shown": "r001"}, 422),
        (f"{ASK}/feedback", {"title": "x", "shown": "r001", "accept": "r002"}, 422),
        (f"{ASK}/similar", {"title": "x" * 1001}, 422),
        (QUEUE, {"id": "many", "decision": "accept"}, 422),
        (QUEUE, {"id": "9" * 20, "decision": "accept"}, 422),
        (QUEUE, {"id": "1", "decision": "close"}, 422),
        ("/a/riverside/gaps", {"do": "burn"}, 422),
        ("/a/riverside/drafts", {"do": "reject", "number": "9" * 20}, 422),
        ("/a/riverside/drafts", {"do": "burn"}, 422),
        ("/a/riverside/drafts", {"do": "accept", "number": "x"}, 422),
        ("/a/riverside/drafts", {"do": "accept", "number": "99", "title": "", "answer": "a"}, 422),
        ("/a/riverside/drafts", {"do": "accept", "number": "99", "title": "a", "answer": "a"}, 404),
        ("/a/riverside/drafts", {"do": "reject", "number": "99"}, 404),
        ("/a/riverside/gaps", {"do": "ignore", "id": "x"}, 404),
        ("/a/riverside/gaps", {"do": "write", "id": "x", "title": "", "answer": "a"}, 422),
    ],
)
def test_page_says_what_a_form_lacks(service, path: str, fields: dict[str, str], status: int) -> None:
    user = Browser(service)
    user.get(QUEUE)
    answer = user.post(path, **fields)
    assert (answer.status, answer.headers["content-type"]) == (status, "text/html; charset=utf-8")
    part = user.post(path, headers={"hx-request": "true"}, **fields)
    assert (part.status, b"<html" in part.body, b'role="alert"' in part.body) == (status, False, True)
    assert "content-security-policy" in part.headers


def test_entry_is_written_once_for_its_gap(service) -> None:
    user = Browser(service)
    user.get(QUEUE)
    fields = {"do": "write", "title": "Where do zeppelins moor?", "answer": "At the tower."}
    with Archive.open(service.archive_path) as archive:
        insert_feedback(archive, LoggedQuery(fields["title"], "", [], "lm"), "none_of_these", None)
        id = next(gap.id for gap in find_gaps(archive) if gap.title == fields["title"])
        said = [user.post(GAPS, id=id, **fields).headers["location"].split("=")[1] for _ in range(2)]
        assert user.post(GAPS, id="0" * 16, **fields).status == 404
        titles = [question.title for _, question in archive.view().questions()]
    assert (said, titles.count(fields["title"])) == (["written", "late"], 1)


def test_static_files_are_packaged_and_cached_by_browsers(service) -> None:
    page = service.send("GET", ASK, headers={"accept": "text/html"}).body.decode()
    for path in re.findall(r'(?:src|href)="(/static/[^"]+)"', page):
        answer = service.send("GET", path, headers={"accept-encoding": "gzip"})
        assert (answer.status, answer.headers["content-encoding"]) == (200, "gzip")
        assert "immutable" in answer.headers["cache-control"]
    assert service.get("/static/..%2fassets.py").status == 404
    assert service.get("/static/vendor/htmx.LICENSE").status == 404


@pytest.fixture(scope="module")
def public(locked: Path, serve_all) -> Service:
    return serve_all(locked, options=("--set", "require_keys=true", "--set", "public=true"))


def test_on_public_pages_a_visitor_searches_and_reads(public: Service) -> None:
    browser = Browser(public)
    assert browser.get("/").status == 200
    page = browser.get(f"{ASK}?title=library+card")
    assert (page.status, b"Log in" in page.body, b"This answers it" in page.body) == (200, True, False)
    similar = browser.post(f"{ASK}/similar", title="library card")
    assert (similar.status, b"library card" in similar.body.lower()) == (200, True)
    link = re.search(rb'href="(/a/riverside/questions/[^"]+)"', similar.body)
    assert link is not None
    assert browser.get(link[1].decode()).status == 200


@pytest.mark.parametrize("path", [QUEUE, f"{ASK}/gaps", f"{ASK}/drafts", f"{ASK}/quality"])
def test_on_public_pages_the_rest_needs_a_session(public: Service, path: str) -> None:
    answer = Browser(public).get(path)
    assert (answer.status, answer.headers["location"].split("?")[0]) == (303, "/login")


def test_a_visitor_changes_nothing_and_has_no_api(public: Service) -> None:
    browser = Browser(public)
    browser.get(f"{ASK}?title=library+card")
    response = browser.post(f"{ASK}/feedback", title="library card", none_of_these="1")
    assert (response.status, response.headers["location"].split("?")[0]) == (303, "/login")
    assert public.get("/v1/riverside/similar?title=library+card").status == 401


def test_public_pages_take_feedback_after_login(public: Service, locked: Path) -> None:
    browser = Browser(public)
    browser.get("/login")
    browser.post("/login", key=create_key(locked, "read"), next=ASK)
    page = browser.get(f"{ASK}?title=library+card")
    assert (b"Log out" in page.body, b"This answers it" in page.body) == (True, True)
    assert browser.post(f"{ASK}/feedback", title="library card", none_of_these="1").status == 303


def test_logged_in_person_follows_a_foreign_link(browser, locked: Path, closed: Service) -> None:
    """A browser sends no session from there; what it then gets opens the address again, from here."""
    url = closed.url.geturl()
    page = browser.new_page()
    page.goto(f"{url}{ASK}")
    page.get_by_label("Your key").fill(create_key(locked, "read"))
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{url}{ASK}")
    link = f'<a href="{url}{ASK}">the desk</a>'
    page.route("http://elsewhere.example/", lambda route: route.fulfill(body=link, content_type="text/html"))
    page.goto("http://elsewhere.example/")
    page.get_by_role("link", name="the desk").click()
    page.get_by_role("heading", name="What do you want to know?").wait_for()
    page.context.clear_cookies()
    page.goto("http://elsewhere.example/")
    page.get_by_role("link", name="the desk").click()
    page.get_by_role("heading", name="Log in to riverside").wait_for()
    page.close()
