"""Other sites' pages: which are allowed, with which keys, and what these keys may do."""

import shutil
from pathlib import Path

import pytest
from serving import Service, create_key

from askalike.core.errors import SettingsError
from askalike.store import Archive, keys
from commands import askalike
from preloaded import run_preloaded

SITE, OTHER = "https://forum.example", "https://evil.example"
SIMILAR, FEEDBACK = "/v1/riverside/similar", "/v1/riverside/feedback"
ALLOWED = "access-control-allow-origin"


@pytest.fixture(scope="module")
def closed(copy, serve_all):
    """A service where everybody needs a key, with one for everything and one for the pages of a site."""
    archive = copy()
    everything, public = create_key(archive, "moderate"), create_key(archive, origin=SITE)
    options = ("--set", "require_keys=true", "--allow-origin", "https://also.example")
    return serve_all(archive, options=options), everything, public


@pytest.fixture(scope="module")
def keyless(copy, serve_all) -> Service:
    """A service where nobody needs a key, which allows the pages of one other site."""
    return serve_all(copy(), options=("--allow-origin", "https://also.example"))


def search(served: Service, key: str, origin: str | None = None, path: str = f"{SIMILAR}?title=card"):
    headers = {"authorization": f"Bearer {key}"} | ({"origin": origin} if origin else {})
    return served.send("GET", path, headers=headers)


def test_published_key_works_from_its_site_alone(closed) -> None:
    served, everything, public = closed
    response = search(served, public, SITE)
    assert (response.status, response.headers[ALLOWED]) == (200, SITE)
    assert [search(served, public, origin).status for origin in (None, OTHER, "null", SITE + ".evil")] == [401] * 4
    assert search(served, everything).status == 200


def test_foreign_page_changes_nothing_without_a_key(keyless: Service) -> None:
    question, path = {"title": "Who is it?"}, "/v1/riverside/questions/x"
    for origin in ("https://also.example", OTHER):
        assert keyless.send("POST", SIMILAR, {"title": "card"}, {"origin": origin}).status == 200
        refused = keyless.send("PUT", path, question, {"origin": origin})
        assert (refused.status, "another site" in refused.json["detail"]) == (403, True)
        assert keyless.send("DELETE", "/v1/riverside/questions/r001", headers={"origin": origin}).status == 403
    own = f"http://{keyless.url.netloc}"
    assert [keyless.send("PUT", path, question, headers).status for headers in ({"origin": own}, {})] == [201, 200]


def test_foreign_page_counts_nothing_without_a_key(keyless: Service) -> None:
    counted = []
    for headers in ({"origin": OTHER}, {"sec-fetch-site": "cross-site"}, {"origin": "https://also.example"}, {}):
        found = keyless.send("GET", f"{SIMILAR}?title=library+card&count_shown=true", headers=headers)
        assert found.json["results"]
        counts = [line for line in keyless.get("/metrics").body.decode().splitlines() if 'event="shown"' in line]
        counted.append(sum(float(line.split()[-1]) for line in counts if "_created" not in line))
    assert counted == [0, 0, 1, 2]


def test_published_key_is_for_search_and_feedback(closed) -> None:
    served, _, public = closed
    headers = {"authorization": f"Bearer {public}", "origin": SITE}
    assert served.send("POST", SIMILAR, {"title": "card"}, headers).status == 200
    feedback = {"title": "x", "shown_ids": [], "verdict": "none_of_these"}
    assert served.send("POST", FEEDBACK, feedback, headers).status == 204
    assert served.send("POST", FEEDBACK, feedback, headers | {"origin": OTHER}).status == 401
    refused = served.send("POST", "/v1/riverside/answer", {"title": "card"}, headers)
    assert (refused.status, SITE in refused.json["detail"]) == (403, True)
    for path in ("duplicates", "gaps", "questions/r001", "links?question=r001"):
        assert search(served, public, SITE, f"/v1/riverside/{path}").status == 403
    assert served.send("PUT", "/v1/riverside/questions/x", {"title": "x"}, headers).status == 403
    assert search(served, public, SITE, "/metrics").status == 401


def preflight(served: Service, origin: str, method: str = "POST"):
    headers = {"origin": origin, "access-control-request-method": method}
    return served.send(
        "OPTIONS", SIMILAR, headers=headers | {"access-control-request-headers": "authorization,content-type"}
    )


def test_preflights_say_which_origins_are_allowed(closed) -> None:
    served, *_ = closed
    for origin in (SITE, "https://also.example"):
        response = preflight(served, origin)
        assert (response.status, response.headers[ALLOWED]) == (200, origin)
        assert "authorization" in response.headers["access-control-allow-headers"].lower()
        assert "access-control-allow-credentials" not in response.headers
    assert ALLOWED not in preflight(served, OTHER).headers
    assert preflight(served, SITE, "DELETE").status == 400
    assert ALLOWED not in served.get(f"{SIMILAR}?title=card").headers


def test_a_revoked_key_allows_nothing_any_more(closed, tmp_path) -> None:
    with Archive.create(tmp_path / "x") as archive:
        key = keys.create_key(archive, "read", origin=SITE)
        assert keys.has_key_for_origin(archive, SITE)
        keys.revoke_key(archive, key.split("_")[1])
        assert not keys.has_key_for_origin(archive, SITE)


def test_site_key_opens_no_other_archive(serve, archive, tmp_path) -> None:
    create_key(archive, origin=SITE)
    other = Path(shutil.copytree(archive, tmp_path / "other"))
    with Archive.open(other) as opened:
        for key in keys.list_keys(opened):
            keys.revoke_key(opened, key.id)
    both = serve(archive, other)
    assert both.get(f"{SIMILAR}?title=card", origin=SITE).headers[ALLOWED] == SITE
    assert ALLOWED not in both.get(f"{SIMILAR}?title=card".replace("riverside", "other"), origin=SITE).headers
    assert ALLOWED not in both.get("/v1/models", origin=SITE).headers


def test_no_other_site_is_allowed_by_default(service: Service) -> None:
    assert ALLOWED not in service.get(f"{SIMILAR}?title=card", origin=OTHER).headers


def test_wrong_origins_and_unpublishable_keys(archive) -> None:
    with Archive.open(archive) as opened:
        for wrong in ("forum.example", "https://forum.example/", "https://Forum.example", "*", "null", ""):
            with pytest.raises(SettingsError, match="is not an origin"):
                keys.create_key(opened, "read", origin=wrong)
        with pytest.raises(SettingsError, match="must be read"):
            keys.create_key(opened, "write", origin=SITE)
        assert keys.create_key(opened, "read", origin="http://[::1]:8080")

    assert askalike("keys", "create", archive, "--origin", SITE, "--note", "ours").stdout.startswith("ask_")
    lines = askalike("keys", "list", archive).stdout.splitlines()  # in no order, where two are of the same second
    assert any(line.endswith(f"{SITE}  ours") for line in lines)
    code, said = run_preloaded("serve", archive, "--allow-origin", "forum.example")
    assert (code, "is not an origin" in said) == (2, True)
