"""`POST answer` in its modes: what is generated says so."""

import shutil
import time
from pathlib import Path

import pytest
from serving import Service

from askalike.store import Archive

V1 = "/v1/riverside"


def test_stored_answers_have_their_origin(service: Service) -> None:
    given = service.ask("POST", f"{V1}/answer", {"title": "I have lost my library card", "k": 2}).json
    assert given["generated"] is False
    assert len(given["sources"]) == 2
    first = given["sources"][0]
    assert (first["question"], first["url"]) == ("r013", "https://desk.example/q/r013")
    assert given["text"] == first["text"]
    assert set(first) == {"id", "text", "question", "title", "author", "license", "url", "score", "probability"}


@pytest.mark.parametrize("mode", ["auto", "generate", "guess"])
def test_what_an_archive_cannot_do_is_told(service: Service, mode: str) -> None:
    refused = service.ask("POST", f"{V1}/answer", {"title": "card", "mode": mode})
    assert refused.status == (422 if mode == "guess" else 409)
    assert "mode" in refused.json["detail"]


def test_generated_text_is_labelled(serve, archive: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra neural")
    from askalike.encoders._recipe import Recipe
    from askalike.experiments import training

    tiny = {
        "dim": 16, "hidden": 16, "latent": 16, "writer": 32, "cutoffs": (100,), "training.epochs": 1, "passes": 1,
        "accelerator": "cpu", "longest": 20,
    }  # fmt: skip
    with Archive.open(archive) as opened:
        training.train(opened, Recipe.read("dssm_writer", tiny), "writer")
    served = serve(Path(shutil.copytree(archive, tmp_path / "served" / "riverside")))
    asked, deadline = {"title": "how do I renew a book", "mode": "generate"}, time.monotonic() + 120
    while (answered := served.ask("POST", f"{V1}/answer", asked)).status == 503:  # the first one loads the model
        assert time.monotonic() < deadline
    given = answered.json
    assert given["generated"] is True
    assert given["model"] == "writer"
    assert given["text"]
    assert given["answer"] is given["question"] is None
