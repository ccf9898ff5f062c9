"""Settled questions: answered, judged, counted, logged for a while, and shown to moderators as gaps."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from serving import Service

from commands import askalike
from waiting import wait_for

V1 = "/v1/riverside"


def send_feedback(service: Service, **fields: Any) -> int:
    feedback = {"title": "Where may I park my boat?", "shown_ids": ["r001", "r002"], "verdict": "none_of_these"}
    return service.send("POST", f"{V1}/feedback", feedback | fields).status


def test_answers_with_the_nearest_stored_answer(service: Service) -> None:
    answered = service.send("POST", f"{V1}/answer", {"title": "I have lost my library card"}).json
    assert answered["question"]["id"] == "r013"
    assert answered["question"]["confidence"] == "uncalibrated"
    assert answered["answer"]["question_id"] == "r013"
    nothing = service.send("POST", f"{V1}/answer", {"title": "xyzzy"}).json
    assert (nothing["answer"], nothing["question"], nothing["abstained"]) == (None, None, True)
    assert service.send("POST", f"{V1}/answer", {"title": ""}).status == 422


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, 204),
        ({"verdict": "accept", "chosen_id": "r002"}, 204),
        ({"verdict": "accept"}, 422),
        ({"verdict": "posted_anyway", "chosen_id": "r001"}, 422),
        ({"verdict": "reject", "chosen_id": "r003"}, 422),
        ({"verdict": "great"}, 422),
    ],
)
def test_feedback_names_its_question(service: Service, fields: dict[str, Any], status: int) -> None:
    assert send_feedback(service, **fields) == status


def test_gaps_are_questions_asked_in_vain_and_can_be_purged(serve, archive) -> None:
    served = serve(archive)
    for _ in range(2):
        served.send("POST", f"{V1}/answer", {"title": "Xyzzy?"})
    served.send("POST", f"{V1}/answer", {"title": "library card"})
    send_feedback(served)
    send_feedback(served, verdict="accept", chosen_id="r001", title="accepted")
    served.get(f"{V1}/similar?title=typed")
    gaps = served.get(f"{V1}/gaps").json["gaps"]
    assert [(g["title"], g["count"]) for g in gaps] == [("Xyzzy?", 2), ("Where may I park my boat?", 1)]
    purged = askalike("purge", archive, "--days", "0")
    assert purged.stdout == "3 questions asked and 2 pieces of feedback deleted\n"
    assert served.get(f"{V1}/gaps").json["gaps"] == []


def test_search_off_topic_becomes_a_gap(serve, archive) -> None:
    """By default, without a calibration: where nothing is similar, nothing is said, and moderators see it."""
    served = serve(archive, ranker=())
    off_topic = "How do I freeze a lasagne?"
    typed = f"{V1}/similar?title={quote(off_topic)}"
    wait_for(lambda: (found := served.get(typed)).status == 200 and not found.json["results"])  # the index is there
    reply = served.send("POST", f"{V1}/answer", {"title": off_topic}).json
    assert (reply["answer"], reply["question"], reply["abstained"]) == (None, None, True)
    answered = served.send("POST", f"{V1}/answer", {"title": "I have lost my library card"}).json
    assert (answered["question"]["id"], answered["abstained"]) == ("r013", False)
    [gap] = served.get(f"{V1}/gaps").json["gaps"]
    assert (gap["title"], gap["reasons"]) == (off_topic, {"nothing": 1})


def test_gaps_by_probability_uncalibrated(service: Service) -> None:
    for method, path in (("GET", "gaps"), ("POST", "gaps/x/ignore"), ("POST", "gaps/x/restore")):
        refused = service.send(method, f"{V1}/{path}?min_probability=0.5")
        assert (refused.status, "riverside: " in refused.json["detail"]) == (422, True), refused.json
        assert "not calibrated, so there are no probabilities; run: askalike calibrate" in refused.json["detail"]


def test_metrics_are_summed_over_workers(serve, archive) -> None:
    served = serve(archive, options=("--workers", "2"))
    for _ in range(20):
        served.get(f"{V1}/similar?title=xyzzy")
    served.get(f"{V1}/similar?title=%3F%21")
    send_feedback(served)
    text = served.get("/metrics").body.decode()
    assert 'askalike_search_seconds_count{archive="riverside"} 21.0' in text
    assert 'askalike_abstained_total{archive="riverside"} 21.0' in text
    assert 'askalike_feedback_total{archive="riverside",verdict="none_of_these"} 1.0' in text
    assert 'askalike_zero_token_queries_total{archive="riverside"} 1.0' in text
    assert 'askalike_request_seconds_count{endpoint="get_similar"} 21.0' in text
    assert 'askalike_index_behind{archive="riverside"} 0.0' in text
    assert 'askalike_index_lag_seconds{archive="riverside"} 0.0' in text
    assert float(re.search('askalike_index_bytes{archive="riverside"} (.*)', text)[1]) > 10_000
    assert 'askalike_questions{archive="riverside"} 244.0' in text
    assert 'askalike_model{archive="riverside",model="lm_jelinek_mercer"} 1.0' in text
