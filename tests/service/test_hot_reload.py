"""Another ranker is deployed while people search: nobody gets an error, and soon everybody gets the new one."""

import shutil
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from serving import Service

from askalike import rankers
from askalike.core.records import Question
from askalike.search.encoder_installation import adopt_encoder
from askalike.search.interim import AT_ONCE
from askalike.store import Archive, deployments
from small_models import WORDS, write_encoder
from waiting import wait_for

SIMILAR = "/v1/riverside/similar?title=lost+my+library+card"
LEXICAL = "lm_jelinek_mercer"
OTHER = {"tokenizer": "ptb"}
"""With these settings it has an index of its own."""


def deploy(archive, ranker, settings=None):
    with Archive.open(archive) as opened:
        return deployments.serve_ranker(opened, ranker, settings or {}, "a test")


def model(served: Service) -> str:
    return str(served.get(SIMILAR).json["ranker"])


class Load:
    """Threads that search all the time."""

    def __init__(self, served: Service, n_threads: int = 2) -> None:
        self.answers: Counter[tuple[int, str]] = Counter()
        self._served, self._stop = served, threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(n_threads)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        while not self._stop.is_set():
            answer = self._served.get(SIMILAR)
            self.answers[answer.status, answer.json.get("ranker", "")] += 1
            time.sleep(0.25)  # leaves the processor to whoever builds the index

    def end(self) -> Counter[tuple[int, str]]:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return self.answers


@pytest.mark.long
def test_rankers_are_deployed_and_withdrawn_without_an_error(serve, archive) -> None:
    deploy(archive, LEXICAL)
    served = serve(archive, ranker=(), options=("--workers", "2", "--set", "requests_per_s=0"))
    assert model(served) == LEXICAL
    load = Load(served)
    deploy(archive, "bm25", OTHER)
    for n in range(5):  # while its index is built
        served.send("PUT", f"/v1/riverside/questions/w{n}", {"title": f"Zymurgy{n} for beginners"})
    wait_for(lambda: all(model(served) == "bm25" for _ in range(8)))
    for n in range(5):
        wait_for(lambda n=n: served.poll(f"/v1/riverside/similar?title=zymurgy{n}").get("results"))
    with Archive.open(archive) as opened:
        assert (deployments.ready_ranker(opened) or deployments.get_served_ranker(opened)).ranker == "bm25"
        deployments.withdraw_ranker(opened)
    wait_for(lambda: all(model(served) == LEXICAL for _ in range(8)))
    answers = load.end()
    assert {status for status, _ in answers} == {200}
    assert {name for _, name in answers} == {LEXICAL, "bm25"}
    deploy(archive, "gone")  # which cannot be built
    wait_for(lambda: any("no ranker is called 'gone'" in line for line in served.lines))
    assert model(served) == LEXICAL


def test_service_started_with_a_ranker_stays_with_it(service: Service) -> None:
    deploy(service.archive_path, "bm25")
    lines = wait_for(lambda: [line for line in service.lines if "was activated" in line])
    assert f"keeps {LEXICAL}, as --ranker says" in lines[0]
    assert model(service) == LEXICAL


def test_a_new_calibration_is_used(serve, copy, calibrated_riverside: Path) -> None:
    archive = copy(calibrated_riverside)
    shutil.rmtree(archive / "calibration")
    service = serve(archive)
    assert service.get(SIMILAR).json["results"][0]["probability"] is None
    shutil.copytree(calibrated_riverside / "calibration", archive / "calibration", dirs_exist_ok=True)
    wait_for(lambda: (service.poll(SIMILAR).get("results", []) or [{}])[0].get("probability"))


def add_questions(archive: Archive, word: str) -> None:
    """Add so many questions that their vectors are computed in the background, one of them about the word alone."""
    archive.upsert(
        Question(f"{word}{n}", f"how do i cook rice {n} {word if not n else ''}") for n in range(AT_ONCE + 1)
    )


@pytest.mark.long
def test_words_serve_while_an_encoder_reads_the_archive(serve, archive, tmp_path) -> None:
    pytest.importorskip("onnxruntime")
    with Archive.open(archive) as opened:
        add_questions(opened, "zymurgy")
        adopt_encoder(opened, str(write_encoder(tmp_path / "small", list(dict.fromkeys(WORDS)))), name="small")
        served = serve(archive, ranker=())
        assert served.get(SIMILAR).json["results"]
        ready = wait_for(lambda: deployments.ready_ranker(opened))
        assert "small" in ready.part_names
        wait_for(lambda: [line for line in served.log() if line.get("message") == "ranker"])
        assert served.get(SIMILAR).json["results"]
        paths = rankers.create(ready.ranker, ready.settings, opened).index_paths(opened.view())
        assert len(paths) == 2
        assert all(path.is_dir() for path in paths)
        add_questions(opened, "quokka")
        wait_for(lambda: deployments.ready_ranker(opened) is None)
        wait_for(
            lambda: "quokka0" in {hit["id"] for hit in served.get("/v1/riverside/similar?title=quokka").json["results"]}
        )
        again = wait_for(lambda: deployments.ready_ranker(opened))
        assert again.number == ready.number
