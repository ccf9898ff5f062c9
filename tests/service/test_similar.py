"""`similar`: the questions that it finds, how it describes them, and the requests that it refuses."""

from urllib.parse import quote

import pytest
from serving import Service

import askalike

SIMILAR = "/v1/riverside/similar"
STOLEN = "my bicycle was stolen, what now"


def test_finds_the_same_as_the_library(service: Service, example) -> None:
    answer = service.get(f"{SIMILAR}?title={quote(STOLEN)}&k=3")
    with askalike.load(example, "lm_jelinek_mercer") as engine:
        hits = engine.search(STOLEN, 3)
    assert [(r["id"], r["score"]) for r in answer.json["results"]] == [(hit.question.id, hit.score) for hit in hits]
    assert not answer.json["abstained"]


def test_result_says_certainty_and_reason(service: Service) -> None:
    result = service.get(f"{SIMILAR}?title={quote(STOLEN)}&k=1&explain=true").json["results"][0]
    assert result["title"] == "The bike I hired was stolen. What do I have to do?"
    assert result["url"] == "https://desk.example/q/r001"
    assert (result["probability"], result["calibrated"], result["confidence"]) == (None, False, "uncalibrated")
    assert result["snippet"] == "my hired bike was stolen"
    assert result["matched_words"] == ["stolen"]
    assert sum(result["fields"].values()) == pytest.approx(result["score"])


def test_full_contributions_add_up_to_the_score(service: Service) -> None:
    result = service.get(f"{SIMILAR}?title={quote(STOLEN)}&k=1&explain=full").json["results"][0]
    assert [m["word"] for m in result["contributions"]] == ["stolen", "was", "my"]
    assert sum(m["score"] for m in result["contributions"]) == pytest.approx(result["score"])
    assert service.get(f"{SIMILAR}?title={quote(STOLEN)}&explain=half").status == 422


def test_post_answers_as_get(service: Service) -> None:
    by_get = service.get(f"{SIMILAR}?title=library+card&k=4&tags=card").json["results"]
    query = {"title": "library card", "k": 4, "tags": ["card"]}
    assert service.send("POST", SIMILAR, query).json["results"] == by_get != []
    assert all("card" in r["tags"] for r in by_get)


def test_a_prefix_and_a_date_restrict_the_results(service: Service) -> None:
    results = service.get(f"{SIMILAR}?title=closed+on+publ&prefix=true&before=2024-01-01&k=1").json["results"]
    assert [r["id"] for r in results] == ["r098"]


def test_excluded_questions_and_hits_fates(service: Service) -> None:
    every = service.get(f"{SIMILAR}?title=library+card&k=20").json["results"]
    answered = service.get(f"{SIMILAR}?title=library+card&k=20&without=unanswered&without=closed").json["results"]
    assert [r["id"] for r in answered] == [r["id"] for r in every if "answered" in r["states"]] != []
    later = service.get(f"{SIMILAR}?title=library+card&k=20&after=2999-01-01").json["results"]
    assert later == []


@pytest.mark.parametrize("text", ["", "xyzzy", "?!", "😀"])
def test_abstains_where_nothing_is_similar(service: Service, text: str) -> None:
    answer = service.get(f"{SIMILAR}?title={quote(text)}")
    assert (answer.status, answer.json["results"], answer.json["abstained"]) == (200, [], True)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("k=0", "query.k"),
        ("k=many", "query.k"),
        ("titel=x", "query.titel"),
        ("before=yesterday", "query.before"),
        ("before=2021-13-45", "query.before"),
        ("before=", "query.before"),
        ("after=01.09.2021", "query.after"),
        ("after=2022&before=2021", "query"),
        ("without=open", "query.without.0"),
        ("min_probability=2", "query.min_probability"),
        (f"title={'x' * 1001}", "query.title"),
    ],
)
def test_says_what_is_wrong_and_where(service: Service, query: str, where: str) -> None:
    answer = service.get(f"{SIMILAR}?{query}")
    assert answer.status == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert [e["location"] for e in answer.json["errors"]] == [where]
    assert where in answer.json["detail"]
    assert answer.json["request_id"] == answer.headers["x-request-id"]


def test_min_probability_is_refused_where_nothing_is_calibrated(service: Service) -> None:
    answer = service.get(f"{SIMILAR}?title=card&min_probability=0.5")
    assert (answer.status, "not calibrated" in answer.json["detail"]) == (422, True)


def test_min_probability_leaves_out_less_probable_questions(serve, copy, calibrated_riverside) -> None:
    service = serve(copy(calibrated_riverside))
    sure, doubtful = (service.get(f"{SIMILAR}?title={quote(t)}&min_probability=0.3") for t in (STOLEN, "zebra card"))
    assert sure.json["results"][0]["probability"] > 0.3
    assert sure.json["results"][0]["calibrated"]
    assert all(r["probability"] >= 0.3 for r in doubtful.json["results"])
    assert not [line for line in service.log() if "calibration" in line["message"]]


def test_several_archives_side_by_side(serve, archive, tmp_path) -> None:
    other = tmp_path / "eggs & co"
    with askalike.Archive.create(other) as archive_of_eggs:
        archive_of_eggs.upsert([askalike.Question("a", "How long do I boil an egg?", url="javascript:alert(1)")])
    both = serve(archive, other)
    up_to_date = {"behind": 0, "lag_s": 0.0}
    ready = {
        "status": "ready",
        "writes": "available",
        "archives": ["riverside", "eggs & co"],
        "index": {"riverside": up_to_date, "eggs & co": up_to_date},
    }
    assert both.get("/readyz").json == ready
    results = both.get(f"/v1/{quote(other.name)}/similar?title=boil").json["results"]
    assert [(r["id"], r["url"]) for r in results] == [("a", None)]
    assert both.get(f"{SIMILAR}?title=boil").json["results"] == []
    assert both.end() == 0


def test_find_title_takes_the_first_question(service: Service) -> None:
    message = "Hello all! I have lost my library card. What should I do?"
    found = service.send("POST", SIMILAR, {"body": message, "find_title": True}).json["results"]
    assert found == service.send("POST", SIMILAR, {"title": "What should I do?", "body": message}).json["results"] != []
    assert service.send("POST", SIMILAR, {"body": "My library card!", "find_title": True}).json["results"] == []
    titled = {"title": "library card", "body": message}
    assert (
        service.send("POST", SIMILAR, titled | {"find_title": True}).json["results"]
        == service.send("POST", SIMILAR, titled).json["results"]
    )


def test_main_words_leave_out_function_words(service: Service) -> None:
    answer = service.get(f"{SIMILAR}?title={quote(STOLEN)}&k=1&explain=true").json
    assert answer["results"][0]["main_words"] == ["stolen"]
    assert answer["results"][0]["grade"] == "related"
    assert service.get(f"{SIMILAR}?title={quote(STOLEN)}&k=1").json["results"][0]["main_words"] is None
