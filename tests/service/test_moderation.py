"""Likely duplicates: found by the running service, decided over HTTP; gaps that are ignored."""

from dataclasses import replace

import pytest
from serving import Service

from askalike.core.records import Question
from askalike.store import Archive
from askalike.store.candidate_pairs import CandidatePair, add_proposals
from waiting import wait_for

V1 = "/v1/riverside"
EAGER = ("--set", "propose=0.9")


def propose_pairs(archive, *pairs):
    with Archive.open(archive) as opened:
        add_proposals(
            opened, [CandidatePair(one, other, probability, 1.0, "bm25") for one, other, probability in pairs]
        )


def repeat_questions(archive, count=10):
    """Ask questions of the archive once more."""
    with Archive.open(archive) as opened:
        questions = [q for _, q in opened.view().questions()][:count]
        opened.upsert(
            replace(q, id=f"again-{q.id}", title=f"{q.title} Thanks!", rephrasings=(), votes=0) for q in questions
        )


def list_duplicates(served: Service, **query: object) -> list[tuple[str, str]]:
    text = "&".join(f"{name}={value}" for name, value in query.items())
    duplicates = served.get(f"{V1}/duplicates?{text}").json["duplicates"]
    return [(d["duplicate_id"], d["original_id"]) for d in duplicates]


def test_service_finds_likely_duplicates_by_itself(serve, archive) -> None:
    repeat_questions(archive)
    served = serve(archive, options=EAGER)
    wait_for(lambda: ("again-r001", "r001") in list_duplicates(served, limit=100))
    pairs = served.get(f"{V1}/duplicates?limit=100").json["duplicates"]
    probabilities = [pair["probability"] for pair in pairs]
    assert probabilities == sorted(probabilities, reverse=True)
    assert 0.1 <= probabilities[-1] <= probabilities[0] <= 1
    assert (pairs[0]["state"], pairs[0]["confidence"]) == ("open", f"{probabilities[0]:.0%}")
    served.send("PUT", f"{V1}/questions/new", {"title": "I have lost my library card. What should I do now?"})
    wait_for(lambda: any("new" in pair for pair in list_duplicates(served, limit=100)))


@pytest.mark.long
def test_new_questions_appear_while_duplicates_are_sought(serve, archive) -> None:
    with Archive.open(archive) as opened:
        texts = [q for _, q in opened.view().questions()]
        opened.upsert(Question(f"{n}-{q.id}", f"{q.title} {n}", q.body) for n in range(10) for q in texts)
    served = serve(archive, options=EAGER)
    wait_for(lambda: list_duplicates(served, limit=1))
    for n in range(5):
        served.send("PUT", f"{V1}/questions/w{n}", {"title": f"Zymurgy{n} for beginners"})
        wait_for(lambda n=n: served.poll(f"{V1}/similar?title=zymurgy{n}").get("results"))


@pytest.fixture(scope="module")
def served(copy, serve_all) -> Service:
    """A service that looks for no duplicates by itself; three were found before."""
    archive = copy()
    propose_pairs(archive, ("r001", "r100", 0.9), ("r002", "r101", 0.8), ("r003", "r102", 0.7))
    return serve_all(archive, options=("--set", "propose=0"))


def test_decisions_over_http(served: Service) -> None:
    assert list_duplicates(served) == [("r001", "r100"), ("r002", "r101"), ("r003", "r102")]
    page = served.get(f"{V1}/duplicates?limit=2").json
    assert (page["counts"]["open"], page["duplicates"][0]["confidence"]) == (3, "90%")
    assert page["duplicates"][0]["original_title"]
    assert list_duplicates(served, limit=2, after=page["next"]) == [("r003", "r102")]
    first, second, third = (d["id"] for d in served.get(f"{V1}/duplicates").json["duplicates"])

    def decide(id: int, decision: str) -> int:
        return served.send("POST", f"{V1}/duplicates/{id}/decision", {"decision": decision}).status

    def linked() -> bool:
        links = served.get(f"{V1}/links?question=r001&kind=duplicate").json["links"]
        return ("r001", "r100") in [(link["source"], link["target"]) for link in links]

    def first_probability() -> float:
        return float(served.get(f"{V1}/duplicates").json["duplicates"][0]["probability"])

    assert (decide(first, "accept"), linked()) == (200, True)
    assert decide(first, "reject") == 409
    assert (decide(first, "undo"), linked()) == (200, False)
    assert (decide(second, "reject"), decide(third, "skip")) == (200, 200)
    rejected = first_probability()
    assert (list_duplicates(served), list_duplicates(served, state="rejected")) == (
        [("r001", "r100")],
        [("r002", "r101")],
    )
    assert (decide(second, "undo"), decide(second, "accept")) == (200, 200)
    assert first_probability() > rejected
    assert (decide(999, "accept"), decide(first, "close"), decide(first, "undo")) == (404, 422, 409)
    assert served.get(f"{V1}/duplicates?after=999").status == 404


def test_ignored_gap_stays_so_until_restored(served: Service) -> None:
    for title in ("Where do zeppelins moor?", "zeppelins mooring", "Xyzzy?"):
        feedback = {"title": title, "shown_ids": [], "verdict": "none_of_these"}
        assert served.send("POST", f"{V1}/feedback", feedback).status == 204
    zeppelins, xyzzy = served.get(f"{V1}/gaps").json["gaps"]
    assert (zeppelins["count"], zeppelins["reasons"], len(zeppelins["examples"])) == (2, {"none_of_these": 2}, 2)
    assert served.send("POST", f"{V1}/gaps/{zeppelins['id']}/ignore").status == 204
    served.send("POST", f"{V1}/feedback", {"title": "mooring my zeppelin", "shown_ids": [], "verdict": "posted_anyway"})
    assert [g["title"] for g in served.get(f"{V1}/gaps").json["gaps"]] == [xyzzy["title"]]
    (ignored,) = served.get(f"{V1}/gaps?ignored=true").json["gaps"]
    assert ignored["count"] == 3
    assert served.send("POST", f"{V1}/gaps/{ignored['id']}/restore").status == 204
    assert served.get(f"{V1}/gaps?limit=1").json["total"] == 2
    assert served.send("POST", f"{V1}/gaps/nothing/ignore").status == 404


@pytest.mark.parametrize("bad", ["limit=0", "state=closed", "after=-1", "limit=x"])
def test_a_wrong_query_is_refused(served: Service, bad: str) -> None:
    assert served.get(f"{V1}/duplicates?{bad}").status == 422
