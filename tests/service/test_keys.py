"""Keys: who needs one, what it allows, how it is stored, and how often it may be used."""

import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from serving import Service, create_key

from askalike.store import Archive, keys
from askalike.store.candidate_pairs import CandidatePair, add_proposals
from commands import askalike
from preloaded import run_preloaded
from waiting import wait_for

SIMILAR, QUESTION = "/v1/riverside/similar?title=card", "/v1/riverside/questions/k1"


def key_header(archive: Path, scope: str) -> dict[str, str]:
    return {"authorization": f"Bearer {create_key(archive, scope)}"}


@pytest.fixture(scope="module")
def guarded(copy) -> Path:
    """The archive that `closed` serves: its keys are those that the tests make."""
    return copy()


@pytest.fixture(scope="module")
def closed(guarded: Path, serve_all) -> Service:
    """A service of two archives that answers to keys alone."""
    key_header(guarded, "read")
    with Archive.create(guarded.with_name("other")) as other:
        keys.create_key(other, "read")
    return serve_all(guarded, guarded.with_name("other"), options=("--set", "require_keys=true"))


def test_other_hosts_need_a_key(serve, archive) -> None:
    code, said = run_preloaded("serve", archive, "--host", "0.0.0.0", "--port", "0")
    assert (code, said.count("\n")) == (2, 1)
    assert f"askalike keys create {archive}" in said
    reader = key_header(archive, "read")
    everywhere = serve(archive, options=("--host", "0.0.0.0"))
    everywhere.url = urlsplit(f"http://127.0.0.1:{everywhere.url.port}")
    assert everywhere.get(SIMILAR).status == 401
    assert everywhere.send("GET", SIMILAR, headers=reader).status == 200


@pytest.mark.parametrize("path", ["similar", "answer", "feedback", "questions:batch", "embeddings"])
def test_caller_is_identified_before_the_body(closed: Service, path: str) -> None:
    json = {"content-type": "application/json"}
    for body in (b"{", b"{}", b'{"x": 1}', b" " * 300_000):
        assert closed.send("POST", f"/v1/riverside/{path}", body, json).status == 401


def test_scopes(closed: Service, guarded: Path) -> None:
    """All routes are in test_authorization.py."""
    bare = closed.get(SIMILAR)
    assert (bare.status, bare.headers["www-authenticate"]) == (401, "Bearer")
    assert closed.get("/healthz").status == 200
    refused = closed.send("PUT", QUESTION, {"title": "x"}, key_header(guarded, "read"))
    assert (refused.status, refused.json["detail"]) == (403, "this key has the scope read; this request needs write")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_probes_tell_of_archives_only_with_a_key(closed: Service, guarded: Path, path: str) -> None:
    known = closed.send("GET", path, headers=key_header(guarded, "read"))
    assert known.json["archives"] == ["riverside", "other"]
    for headers in ({}, {"authorization": "Bearer ask_x"}):
        bare = closed.send("GET", path, headers=headers)
        assert (bare.status, bare.json["archives"], bare.json.get("index", {})) == (200, [], {})


def test_a_revoked_key_allows_nothing(closed: Service, guarded: Path) -> None:
    reader = key_header(guarded, "read")
    assert closed.send("GET", SIMILAR, headers=reader).status == 200
    id = reader["authorization"].split("_")[1]
    assert askalike("keys", "revoke", guarded, id).stdout == f"{id} is revoked\n"
    assert closed.send("GET", SIMILAR, headers=reader).status == 401
    assert askalike("keys", "revoke", guarded, id).returncode == 2


def test_a_decision_has_the_key_of_its_moderator(closed: Service, guarded: Path) -> None:
    moderator = key_header(guarded, "moderate")
    found = "/v1/riverside/duplicates"
    wait_for(lambda: (closed.send("GET", found, headers=moderator).json["scan"] or {}).get("state") == "done")
    with Archive.open(guarded) as archive:
        add_proposals(archive, [CandidatePair("r001", "r100", 0.999, 1.0, "bm25")])
    pairs = closed.send("GET", "/v1/riverside/duplicates?limit=1", headers=moderator).json["duplicates"]
    path = f"/v1/riverside/duplicates/{pairs[0]['id']}/decision"
    decided = closed.send("POST", path, {"decision": "accept"}, moderator).json
    assert (decided["duplicate_id"], decided["decided_by"]) == ("r001", moderator["authorization"].split("_")[1])


def test_invalid_key_is_harmless_where_none_is_needed(service: Service) -> None:
    statuses = [service.get(SIMILAR, authorization=f"Bearer {text}").status for text in ("none", "ask_x")]
    assert statuses == [200, 401]


def test_keys_are_created_listed_and_stored_hashed(archive: Path) -> None:
    key = askalike("keys", "create", archive, "--scope", "write", "--note", "the forum").stdout.strip()
    listed = askalike("keys", "list", archive).stdout
    assert listed.split()[:2] == [key.split("_")[1], "write"]
    assert listed.rstrip().endswith("active  the forum")
    secret = key.split("_", 2)[2]
    assert secret not in listed
    assert not any(secret.encode() in path.read_bytes() for path in archive.glob("archive.sqlite*"))
    assert askalike("keys", "create", archive, "--scope", "root").returncode == 2


def test_log_names_a_key_without_showing_it(closed: Service, guarded: Path) -> None:
    reader = key_header(guarded, "read")
    closed.send("GET", SIMILAR, headers=reader)
    wait_for(lambda: reader["authorization"].split("_")[1] in {line.get("key") for line in closed.log()})
    assert reader["authorization"].split("_", 2)[2] not in "".join(closed.lines)


def test_misplaced_key_is_not_logged(closed: Service, guarded: Path) -> None:
    key = key_header(guarded, "read")["authorization"].removeprefix("Bearer ")
    answer = closed.send("GET", f"/v1/{key}/similar?key={key}", headers={"x-request-id": key})
    wait_for(lambda: [x for x in closed.log() if x.get("request_id") == answer.headers["x-request-id"]])
    assert key not in "".join(closed.lines)


def test_a_caller_is_slowed_down_over_all_workers(serve, archive) -> None:
    options = ("--workers", "2", "--set", "requests_per_s=0.2", "--set", "burst=5")
    slow = serve(archive, options=options)
    start, answered = time.monotonic(), 0
    while (answer := slow.get(SIMILAR)).status == 200:
        answered += 1
    assert 5 <= answered <= 6 + 0.2 * (time.monotonic() - start)
    assert (answer.status, 1 <= int(answer.headers["retry-after"]) <= 5) == (429, True)
    assert slow.get("/healthz").status == 200
    assert slow.send("GET", SIMILAR, headers=key_header(archive, "read")).status == 200
    assert wait_for(lambda: slow.get(SIMILAR).status == 200)


def test_without_keys_only_this_machine_is_answered(service: Service) -> None:
    answer = service.get("/healthz", host="evil.example")
    assert (answer.status, answer.headers["content-type"]) == (421, "application/problem+json")
    assert service.get("/healthz", host="localhost:80").status == 200
    assert service.get("/healthz", host="[::1]").status == 200
    assert service.get("/healthz", host="[x").status in (400, 421)
