"""Settled questions: answered in several modes, judged, counted, logged for a while, and shown as gaps."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from serving import Service

from askalike.store import Archive
from askalike.store.drafts import put_asked
from commands import askalike
from http_servers import LocalServer, QuietHandler

V1 = "/v1/riverside"


def send_feedback(service: Service, **fields: Any) -> int:
    feedback = {"title": "Where may I park my boat?", "shown_ids": ["r001", "r002"], "verdict": "none_of_these"}
    return service.send("POST", f"{V1}/feedback", feedback | fields).status


def test_answers_with_the_nearest_stored_answer(service: Service) -> None:
    answered = service.send("POST", f"{V1}/answer", {"title": "I have lost my library card", "k": 2}).json
    assert answered["question"]["id"] == "r013"
    assert answered["question"]["confidence"] == "uncalibrated"
    assert answered["answer"]["question_id"] == "r013"
    assert answered["generated"] is False
    [first] = answered["sources"]  # of questions that ask the same
    assert (first["question_id"], first["url"], first["text"]) == (
        "r013", "https://desk.example/q/r013", answered["text"],
    )  # fmt: skip
    assert set(first) == {"id", "text", "question_id", "title", "author", "license", "url", "score", "probability"}
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


def test_feedback_finds_the_title_of_a_message(serve, archive) -> None:
    served = serve(archive)
    for body in ("Hello! Where may I park my boat?", "Where is my boat, please"):
        assert send_feedback(served, title="", body=body, find_title=True) == 204
    assert send_feedback(served, title="", body="Where?") == 422
    titles = {gap["title"] for gap in served.get(f"{V1}/gaps").json["gaps"]}
    assert titles == {"Where may I park my boat?", "Where is my boat, please"}


def test_gaps_are_asked_in_vain_and_purged(serve, archive) -> None:
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
    assert purged.stdout == "3 questions asked, 2 pieces of feedback and 0 drafts deleted\n"
    assert served.get(f"{V1}/gaps").json["gaps"] == []


def test_rejected_draft_leaves_all_files_while_served(serve, archive) -> None:
    served = serve(archive, options=("--workers", "2", "--set", "take_questions=true"))
    with Archive.open(archive) as opened:
        put_asked(opened, "Where do I moor my SECRETBOAT?", "I am Ann.")
    files = list(archive.glob("archive.sqlite*"))
    assert any(b"SECRETBOAT" in file.read_bytes() for file in files)
    served.get(f"{V1}/similar?title=library+card")
    assert askalike("drafts", archive, "--reject", "1").returncode == 0
    assert not any(b"SECRETBOAT" in file.read_bytes() for file in files)


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


@pytest.mark.parametrize("mode", ["auto", "generate", "grounded", "guess"])
def test_impossible_mode_is_refused(service: Service, mode: str) -> None:
    refused = service.send("POST", f"{V1}/answer", {"title": "card", "mode": mode})
    assert refused.status == (422 if mode == "guess" else 409)
    assert "mode" in refused.json["detail"]


def test_slow_grounded_answers_hold_up_no_search(serve, archive: Path) -> None:
    with Archive.open(archive) as opened:
        sentence = opened.view().get_answers(["r013_1"])["r013_1"].body.split(". ")[0].rstrip(".")
    waiting = threading.Event()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            waiting.wait(60)
            message = {"role": "assistant", "content": f"{sentence} [r013]. It is free of charge in Atlantis [r013]."}
            self.reply(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())

    server = LocalServer(Handler)
    options = ("--set", f"endpoint={server.address}/v1", "--set", "endpoint_model=small", "--set", "timeout_s=60")
    served, query = serve(archive, options=options), {"title": "I have lost my library card", "mode": "grounded"}
    with ThreadPoolExecutor(1) as pool:
        answered = pool.submit(served.send, "POST", f"{V1}/answer", query)
        assert served.get(f"{V1}/similar?title=card").status == 200
        waiting.set()
        answer = answered.result(60).json
    assert (answer["generated"], answer["grounded"], answer["model"]) == (True, True, "small")
    assert (answer["text"], answer["removed_sentences"]) == (f"{sentence} [r013].", 1)
    assert [source["question_id"] for source in answer["sources"]] == ["r013"]
    server.server_close()
