"""Other sites' pages: which may ask, with which keys, and what these are good for."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from serving import Service

from askalike.errors import SettingsError
from askalike.store import Archive, keys

SITE, OTHER = "https://forum.example", "https://evil.example"
SIMILAR, FEEDBACK = "/v1/riverside/similar", "/v1/riverside/feedback"
ALLOWED = "access-control-allow-origin"


def made(archive: Path, scope: str = "read", origin: str | None = None) -> str:
    with Archive.open(archive) as opened:
        return keys.create_key(opened, scope, origin=origin)


@pytest.fixture(scope="module")
def closed(example: Path, tmp_path_factory: pytest.TempPathFactory):
    """A service where everybody needs a key, with one for everything and one for the pages of a site."""
    archive = Path(shutil.copytree(example, tmp_path_factory.mktemp("origins") / "riverside"))
    everything, public = made(archive, "moderate"), made(archive, origin=SITE)
    served = Service(archive, options=("--option", "require_keys=true", "--allow-origin", "https://also.example"))
    yield served, everything, public
    served.end()


def ask(served: Service, key: str, origin: str | None = None, path: str = f"{SIMILAR}?title=card"):
    headers = {"authorization": f"Bearer {key}"} | ({"origin": origin} if origin else {})
    return served.ask("GET", path, headers=headers)


def test_a_published_key_is_good_from_its_site_alone(closed) -> None:
    served, everything, public = closed
    found = ask(served, public, SITE)
    assert (found.status, found.headers[ALLOWED]) == (200, SITE)
    assert [ask(served, public, origin).status for origin in (None, OTHER, "null", SITE + ".evil")] == [401] * 4
    assert ask(served, everything).status == 200


def test_a_published_key_is_for_searching_and_nothing_else(closed) -> None:
    served, _, public = closed
    headers = {"authorization": f"Bearer {public}", "origin": SITE}
    assert served.ask("POST", SIMILAR, {"title": "card"}, headers).status == 200
    refused = served.ask("POST", FEEDBACK, {"title": "x", "shown": [], "verdict": "none_of_these"}, headers)
    assert (refused.status, SITE in refused.json["detail"]) == (403, True)
    for path in ("duplicates", "gaps", "questions/r001", "links?question=r001"):
        assert ask(served, public, SITE, f"/v1/riverside/{path}").status == 403
    assert served.ask("PUT", "/v1/riverside/questions/x", {"title": "x"}, headers).status == 403
    assert ask(served, public, SITE, "/metrics").status == 401


def preflight(served: Service, origin: str, method: str = "POST"):
    asked = {"origin": origin, "access-control-request-method": method}
    return served.ask(
        "OPTIONS", SIMILAR, headers=asked | {"access-control-request-headers": "authorization,content-type"}
    )


def test_browsers_are_told_who_may_ask(closed) -> None:
    served, *_ = closed
    for origin in (SITE, "https://also.example"):
        told = preflight(served, origin)
        assert (told.status, told.headers[ALLOWED]) == (200, origin)
        assert "authorization" in told.headers["access-control-allow-headers"].lower()
        assert "access-control-allow-credentials" not in told.headers
    assert ALLOWED not in preflight(served, OTHER).headers
    assert preflight(served, SITE, "DELETE").status == 400
    assert ALLOWED not in served.get(f"{SIMILAR}?title=card").headers


def test_a_revoked_key_allows_nothing_any_more(closed, tmp_path) -> None:
    with Archive.create(tmp_path / "x") as archive:
        key = keys.create_key(archive, "read", origin=SITE)
        assert keys.has_key_for_origin(archive, SITE)
        keys.revoke_key(archive, key.split("_")[1])
        assert not keys.has_key_for_origin(archive, SITE)


def test_without_the_list_no_other_site_is_answered(service: Service) -> None:
    assert ALLOWED not in service.get(f"{SIMILAR}?title=card", origin=OTHER).headers


def test_what_is_no_origin_and_what_may_not_be_published(archive) -> None:
    with Archive.open(archive) as opened:
        for wrong in ("forum.example", "https://forum.example/", "https://Forum.example", "*", "null", ""):
            with pytest.raises(SettingsError, match="is no origin"):
                keys.create_key(opened, "read", origin=wrong)
        with pytest.raises(SettingsError, match="can only be read"):
            keys.create_key(opened, "write", origin=SITE)
        assert keys.create_key(opened, "read", origin="http://[::1]:8080")

    def cli(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "askalike", *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    assert cli("keys", "create", str(archive), "--origin", SITE, "--note", "ours").stdout.startswith("ask_")
    lines = cli("keys", "list", str(archive)).stdout.splitlines()  # in no order, where two are of the same second
    assert any(line.endswith(f"{SITE}  ours") for line in lines)
    refused = cli("serve", str(archive), "--allow-origin", "forum.example")
    assert (refused.returncode, "is no origin" in refused.stderr) == (2, True)
