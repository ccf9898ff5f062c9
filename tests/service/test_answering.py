"""`POST answer` in its modes: what is generated says so."""

import shutil
import time
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
    assert (first["question"], first["url"]) == ("r013", "https://desk.example/q/r013")
    assert answered["text"] == first["text"]
    assert set(first) == {"id", "text", "question", "title", "author", "license", "url", "score", "probability"}


@pytest.mark.parametrize("mode", ["auto", "generate", "guess"])
def test_a_mode_that_the_archive_cannot_do_is_refused(service: Service, mode: str) -> None:
    refused = service.send("POST", f"{V1}/answer", {"title": "card", "mode": mode})
    assert refused.status == (422 if mode == "guess" else 409)
    assert "mode" in refused.json["detail"]


def test_generated_text_is_labelled(serve, archive: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra neural")
    from askalike.encoders.recipes import Recipe
    from askalike.experiments import models

    tiny = {
        "dim": 16, "hidden": 16, "latent": 16, "writer": 32, "cutoffs": (100,), "training.epochs": 1, "passes": 1,
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
