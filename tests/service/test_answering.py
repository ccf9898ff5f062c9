"""`POST answer` in its modes: what is generated says so."""

import json
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from serving import Service

from askalike.store import Archive

V1 = "/v1/riverside"


def test_stored_answers_have_their_origin(service: Service) -> None:
    answered = service.send("POST", f"{V1}/answer", {"title": "I have lost my library card", "k": 2}).json
    assert answered["generated"] is False
    assert len(answered["sources"]) == 2
    first = answered["sources"][0]
    assert (first["question_id"], first["url"]) == ("r013", "https://desk.example/q/r013")
    assert answered["text"] == first["text"]
    assert set(first) == {"id", "text", "question_id", "title", "author", "license", "url", "score", "probability"}


@pytest.mark.parametrize("mode", ["auto", "generate", "grounded", "guess"])
def test_a_mode_that_the_archive_cannot_do_is_refused(service: Service, mode: str) -> None:
    refused = service.send("POST", f"{V1}/answer", {"title": "card", "mode": mode})
    assert refused.status == (422 if mode == "guess" else 409)
    assert "mode" in refused.json["detail"]


@pytest.mark.long
def test_generated_text_is_labelled(serve, archive: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra neural")
    from askalike.experiments import models
    from askalike.learning.recipes import Recipe

    tiny = {
        "dim": 16, "hidden": 16, "latent": 16, "writer": 32, "cutoffs": (100,), "training.epochs": 1, "init_epochs": 1,
        "accelerator": "cpu", "longest": 20,
    }  # fmt: skip
    with Archive.open(archive) as opened:
        models.train(opened, Recipe.read("dssm_writer", tiny), "writer")
    served = serve(Path(shutil.copytree(archive, tmp_path / "served" / "riverside")))
    query, deadline = {"title": "how do I renew a book", "mode": "generate"}, time.monotonic() + 120
    while (answered := served.send("POST", f"{V1}/answer", query)).status == 503:  # the first one loads the model
        assert time.monotonic() < deadline
    answer = answered.json
    assert answer["generated"] is True
    assert answer["model"] == "writer"
    assert answer["text"]
    assert answer["answer"] is answer["question"] is None


def test_a_grounded_answer_cites_its_sources_and_a_slow_endpoint_holds_up_no_search(serve, archive: Path) -> None:
    with Archive.open(archive) as opened:
        sentence = opened.view().get_answers(["r013_1"])["r013_1"].body.split(". ")[0].rstrip(".")
    waiting = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            waiting.wait(60)
            message = {"role": "assistant", "content": f"{sentence} [r013]. It is free of charge in Atlantis [r013]."}
            content = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"endpoint=http://127.0.0.1:{server.server_port}/v1"
    options = ("--set", endpoint, "--set", "endpoint_model=small", "--set", "timeout_s=60")
    served, query = serve(archive, options=options), {"title": "I have lost my library card", "mode": "grounded"}
    with ThreadPoolExecutor(1) as pool:
        answered = pool.submit(served.send, "POST", f"{V1}/answer", query)
        assert served.get(f"{V1}/similar?title=card").status == 200
        waiting.set()
        answer = answered.result(60).json
    assert (answer["generated"], answer["grounded"], answer["model"]) == (True, True, "small")
    assert (answer["text"], answer["removed_sentences"]) == (f"{sentence} [r013].", 1)
    assert [source["question_id"] for source in answer["sources"]] == ["r013"]
    server.shutdown()
    server.server_close()
