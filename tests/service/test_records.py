"""Questions, answers and links that are put, read and deleted while the service answers."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from kill_cycles import BODY, PAIR, UNLIMITED, KillCycles
from serving import Response, Service

import askalike
from askalike.service.processes import indexer
from waiting import wait_for

N_KILLS = 10
QUESTIONS, SIMILAR = "/v1/riverside/questions", "/v1/riverside/similar"
EGG = {
    "title": "How long do I boil an ostrich egg?", "body": "<p>A <b>big</b> one</p>", "markup": "html",
    "tags": ["kitchen"], "created_at": "2024-05-01T12:00:00+02:00", "url": "https://desk.example/q/e1",
}  # fmt: skip


def put(service: Service, id: str, **fields: Any) -> Response:
    return service.send("PUT", f"{QUESTIONS}/{quote(id, safe='')}", EGG | fields)


def search(service: Service, title: str) -> list[str]:
    return [r["id"] for r in service.get(f"{SIMILAR}?title={quote(title)}").json["results"]]


def test_question_is_found_until_it_is_deleted(service: Service) -> None:
    assert put(service, "e1").status == 201
    wait_for(lambda: search(service, "ostrich eggs") == ["e1"])
    assert put(service, "e1", title="How long do I boil an emu egg?").json["created"] == 0
    wait_for(lambda: search(service, "emu") == ["e1"] and not search(service, "ostrich"))
    assert service.send("DELETE", f"{QUESTIONS}/e1").status == 204
    wait_for(lambda: not search(service, "emu"))
    assert service.send("DELETE", f"{QUESTIONS}/e1").status == service.get(f"{QUESTIONS}/e1").status == 404


def test_indexer_pauses_less_than_the_promised_second() -> None:
    assert indexer.POLL_S + indexer.BATCH_WINDOW_S < 1


def test_a_question_comes_back_as_it_was_put(service: Service) -> None:
    response = put(service, "e2", rephrasings=["ostrich eggs?"], votes=3)
    assert response.status == 201
    stored = service.get(f"{QUESTIONS}/e2").json
    assert {k: stored[k] for k in EGG} == EGG | {"created_at": "2024-05-01T10:00:00"}
    assert (stored["id"], stored["rephrasings"], stored["votes"]) == ("e2", ["ostrich eggs?"], 3)
    assert (stored["language"], stored["answers"], stored["links"]) == ("en", [], [])


def test_imported_question_keeps_its_source_when_put(service: Service) -> None:
    imported = service.get(f"{QUESTIONS}/r001").json
    assert imported["imported_from"] == "riverside"
    service.send("PUT", f"{QUESTIONS}/r001", {"title": imported["title"], "body": "Put."})
    changed = service.get(f"{QUESTIONS}/r001").json
    assert (changed["body"], changed["imported_from"]) == ("Put.", "riverside")
    put(service, "e3")
    assert service.get(f"{QUESTIONS}/e3").json["imported_from"] is None


@pytest.mark.parametrize(
    "id", ["a/b", "ä ö", "x?y#1", "../../etc/passwd", "'; DROP TABLE questions; --", "{{7*7}}", "."]
)
def test_any_text_is_an_id(service: Service, id: str) -> None:
    assert put(service, id).status == 201
    assert service.get(f"{QUESTIONS}/{quote(id, safe='')}").json["id"] == id
    assert service.send("DELETE", f"{QUESTIONS}/{quote(id, safe='')}").status == 204


def test_batch_is_stored_whole_or_not(service: Service) -> None:
    items = [EGG | {"id": f"b{n}", "title": f"Is batch {n} boiled?"} for n in range(300)]
    response = service.send("POST", f"{QUESTIONS}:batch", {"items": items})
    assert (response.status, response.json["created"]) == (201, 300)
    wait_for(lambda: set(search(service, "boiled batch 7")) >= {"b7"})
    for wrong in ({"id": "c2"}, {"id": "c2", "title": ""}):
        refused = service.send("POST", f"{QUESTIONS}:batch", {"items": [EGG | {"id": "c1"}, wrong]})
        assert (refused.status, refused.json["errors"][0]["location"]) == (422, "body.items.1.title")
        assert service.get(f"{QUESTIONS}/c1").status == 404


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"title": None}, "body.title"),
        ({"title": ""}, "body.title"),
        ({"markup": "markdown"}, "body.markup"),
        ({"created_at": "yesterday"}, "body.created_at"),
        ({"url": "javascript:alert(1)"}, "body.url"),
        ({"titel": ""}, "body.titel"),
        ({"votes": 2**64}, "body.votes"),
    ],
)
def test_says_what_is_wrong_with_a_question(service: Service, fields: dict[str, Any], where: str) -> None:
    answer = put(service, "wrong", **fields)
    assert (answer.status, [e["location"] for e in answer.json["errors"]]) == (422, [where])


def test_answers_belong_to_questions(service: Service) -> None:
    put(service, "e3", accepted_answer_id="a2")
    answers = "/v1/riverside/answers"
    assert service.send("PUT", f"{answers}/a1", {"question_id": "nope", "body": "x"}).status == 409
    items = [{"id": f"a{n}", "question_id": "e3", "body": f"{n} minutes"} for n in (1, 2)]
    assert service.send("POST", f"{answers}:batch", {"items": items}).json["created"] == 2
    assert [(a["id"], a["accepted"]) for a in service.get(f"{QUESTIONS}/e3").json["answers"]] == [
        ("a2", True), ("a1", False),
    ]  # fmt: skip
    assert service.get(f"{answers}/a2").json["body"] == "2 minutes"
    assert service.send("DELETE", f"{answers}/a2").status == 204
    assert service.get(f"{answers}/a2").status == 404


def test_links_join_questions(service: Service) -> None:
    put(service, "e4")
    put(service, "e5")
    links = "/v1/riverside/links"
    link = {"source": "e5", "target": "e4", "kind": "duplicate"}
    assert service.send("PUT", links, link | {"target": "nope"}).status == 409
    for refused in (
        service.send("PUT", links, link | {"source": "e4"}),
        service.send("POST", f"{links}:batch", {"items": [link, link | {"source": "e4"}]}),
    ):
        assert (refused.status, b"are the same; expected two questions" in refused.body) == (422, True)
    assert service.send("DELETE", f"{links}?source=e4&target=e4").status == 404  # an earlier version may have stored it
    assert service.send("PUT", links, link).status == 201
    assert service.send("POST", f"{links}:batch", {"items": [link]}).status == 200
    assert service.get(f"{links}?question=e4").json["links"] == [link | {"created_at": None}]
    assert service.get(f"{QUESTIONS}/e4").json["links"] == [link | {"created_at": None}]
    assert service.send("DELETE", f"{links}?source=e5&target=e4").status == 204
    assert service.get(f"{links}?question=e4").json["links"] == []


@pytest.mark.long
def test_acknowledged_batches_survive_whole(serve, archive: Path) -> None:
    cycles = KillCycles("riverside")
    for _ in range(N_KILLS):
        cycles.run(Service(archive, options=UNLIMITED))
    assert cycles.acknowledged
    service = serve(archive, options=UNLIMITED)
    assert cycles.find_lost(service, cycles.acknowledged[-6:]) == []
    assert cycles.find_half_batches(service) == []
    service.end()
    with askalike.load(archive, "lm_jelinek_mercer") as engine:
        stored = engine.archive.view().get_questions(
            [q.id for _, q in engine.archive.view().questions() if q.tags == ("fault",)]
        )
        hits = {m.question.id for m in engine.search("survive", 100_000)}
        engine.archive.require_intact(thorough=True)
    assert set(cycles.acknowledged) <= stored.keys()
    assert {id[:-1] + end for id in stored for end in PAIR} == stored.keys(), "half of a batch is stored"
    assert stored.keys() <= hits
    assert all(q.body == BODY for q in stored.values())
    print(f"{len(cycles.acknowledged)} acknowledged in {N_KILLS} cycles, {len(stored)} stored, {len(hits)} found")
