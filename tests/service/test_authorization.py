"""Every route with every kind of key: what is allowed is a table, and nothing else is."""

from base64 import b64encode

import pytest
from serving import Service

from askalike.store import Archive, keys

SITE = "https://forum.example"
V1 = "/v1/riverside"
ROUTES = {
    f"GET {V1}/similar?title=card": "search",
    f"POST {V1}/similar": "search",
    f"POST {V1}/feedback": "search",
    f"POST {V1}/answer": "read",
    f"POST {V1}/drafts": "write",
    f"POST {V1}/embeddings": "read",
    f"POST {V1}/v1/embeddings": "read",
    "GET /v1/models": "only",
    "POST /v1/embeddings": "only",
    f"GET {V1}/models": "read",
    f"GET {V1}/topics/similar_to?title=card": "read",
    f"GET {V1}/topics/similar_to.json?title=card": "read",
    f"GET {V1}/similar_topics?title=card": "read",
    f"GET {V1}/answer/api/v1/question/similar?title=card": "read",
    f"POST {V1}/apache-answer/v1/embeddings": "read",
    f"GET {V1}/apache-answer/api/v1/collections/a": "read",
    f"POST {V1}/apache-answer/api/v1/collections": "read",
    f"POST {V1}/apache-answer/api/v1/collections/a/query": "read",
    f"POST {V1}/apache-answer/api/v1/collections/a/upsert": "write",
    f"POST {V1}/apache-answer/api/v1/collections/a/delete": "write",
    f"POST {V1}/questions:batch": "write",
    f"PUT {V1}/questions/nobody": "write",
    f"GET {V1}/questions/nobody": "read",
    f"DELETE {V1}/questions/nobody": "write",
    f"GET {V1}/revisions?question=nobody": "write",
    f"POST {V1}/answers:batch": "write",
    f"PUT {V1}/answers/nobody": "write",
    f"GET {V1}/answers/nobody": "read",
    f"DELETE {V1}/answers/nobody": "write",
    f"POST {V1}/links:batch": "write",
    f"PUT {V1}/links": "write",
    f"GET {V1}/links?question=nobody": "read",
    f"GET {V1}/answers?question=nobody": "read",
    f"DELETE {V1}/links?source=a&target=b": "write",
    f"GET {V1}/duplicates": "moderate",
    f"POST {V1}/duplicates/99999/decision": "moderate",
    f"GET {V1}/gaps": "moderate",
    f"POST {V1}/gaps/nobody/ignore": "moderate",
    f"POST {V1}/gaps/nobody/restore": "moderate",
    "GET /metrics": "any",
}
"""Route → the scope that it needs; `search`: also for a published key; `any`: a key of any archive."""
Callers = dict[str, dict[str, str]]
LEVELS = {"search": 0, "read": 0, "write": 1, "moderate": 2}


@pytest.fixture(scope="module")
def closed(copy, serve_all) -> tuple[Service, Callers]:
    """A service of two archives that answers to keys alone, and the headers of callers of every kind."""
    path = copy()
    with Archive.open(path) as archive, Archive.create(path.with_name("other")) as other:
        made = {scope: keys.create_key(archive, scope) for scope in keys.SCOPES}
        revoked = keys.create_key(archive, "moderate")
        keys.revoke_key(archive, revoked.split("_")[1])
        published = keys.create_key(archive, "read", origin=SITE)
        foreign = keys.create_key(other, "moderate")
    key = made["moderate"]
    callers = {scope: {"authorization": f"Bearer {text}"} for scope, text in made.items()} | {
        "nobody": {},
        "published": {"authorization": f"Bearer {published}", "origin": SITE},
        "published without origin": {"authorization": f"Bearer {published}"},
        "published elsewhere": {"authorization": f"Bearer {published}", "origin": "https://evil.example"},
        "revoked": {"authorization": f"Bearer {revoked}"},
        "other archive": {"authorization": f"Bearer {foreign}"},
        "forged": {"authorization": f"Bearer {key[:-1]}{'A' if key[-1] != 'A' else 'B'}"},
        "truncated": {"authorization": f"Bearer {key[:-2]}"},
        "basic": {"authorization": f"Basic {b64encode(f'x:{key}'.encode()).decode()}"},
        "cookie": {"cookie": f"session={key}; authorization=Bearer {key}"},
        "other header": {"x-api-key": key},
    }
    options = ("--set", "require_keys=true", "--set", "requests_per_s=0")
    return serve_all(path, path.with_name("other"), options=options), callers


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_admits_exactly_those_whom_it_should(closed, route: str) -> None:
    service, callers = closed
    (method, path), needed = route.split(" "), ROUTES[route]
    key = callers["moderate"]["authorization"].removeprefix("Bearer ")
    for caller, headers in {**callers, "in the query": {}}.items():
        path += f"{'&' if '?' in path else '?'}key={key}" if caller == "in the query" else ""
        body = b"{}" if method in ("POST", "PUT") else None
        json = {"content-type": "application/json"} if body else {}
        answer = service.send(method, path, body, headers | json)
        if needed == "only":  # two archives are served
            assert answer.status == 404, (caller, answer.body)
        elif is_allowed(caller, needed):
            assert answer.status in {200, 204, 404, 409, 422}, (caller, answer.body)
            assert answer.status != 404 or "no archive" not in answer.json["detail"]
        else:
            assert answer.status in {401, 403}, (caller, answer.body)


def is_allowed(caller: str, needed: str) -> bool:
    if caller == "published":
        return needed == "search"
    if needed == "any":
        return caller in (*keys.SCOPES, "other archive")
    return caller in keys.SCOPES and keys.SCOPES.index(caller) >= LEVELS[needed]


def test_every_route_is_in_the_table(closed) -> None:
    service, callers = closed
    paths = service.send("GET", "/openapi.json", headers=callers["moderate"]).json["paths"]
    described = {
        f"{method.upper()} {path}" for path, methods in paths.items() for method in methods if path.startswith("/v1/")
    }
    tested = {route.partition("?")[0].replace("riverside", "{archive}") for route in ROUTES}
    tested = {route.replace("nobody", "{id}").replace("99999", "{id}") for route in tested}
    assert described <= tested, described - tested
