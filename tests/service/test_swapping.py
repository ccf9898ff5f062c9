"""Another ranker is put into service while people search: nobody gets an error, and soon everybody gets the new one."""

import threading
import time
from collections import Counter

from serving import Service, until

from askalike import rankers
from askalike.calibration.calibrate import calibrate
from askalike.store import Archive
from askalike.store import deployments as serving

SIMILAR = "/v1/riverside/similar?title=lost+my+library+card"
WORDS = "lm_jelinek_mercer"
OTHER = {"tokenizer": "ptb"}
"""With these settings it has an index of its own."""


def put(archive, ranker, settings=None):
    with Archive.open(archive) as opened:
        return serving.serve_ranker(opened, ranker, settings or {}, "a test")


def model(served: Service) -> str:
    return str(served.get(SIMILAR).json["model"])


class Load:
    """People who ask without a pause."""

    def __init__(self, served: Service, people: int = 4) -> None:
        self.answers: Counter[tuple[int, str]] = Counter()
        self._served, self._stop = served, threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(people)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        while not self._stop.is_set():
            answer = self._served.get(SIMILAR)
            self.answers[answer.status, answer.json.get("model", "")] += 1

    def end(self) -> Counter[tuple[int, str]]:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return self.answers


def test_a_ranker_comes_into_service_and_goes_again_without_an_error(serve, archive) -> None:
    put(archive, WORDS)
    served = serve(archive, ranker=(), options=("--workers", "2", "--option", "requests_per_s=0"))
    assert model(served) == WORDS
    load = Load(served)
    time.sleep(0.5)
    put(archive, "bm25", OTHER)
    until(lambda: {model(served) for _ in range(8)} == {"bm25"}, 60)
    with Archive.open(archive) as opened:
        assert (serving.ready_ranker(opened) or serving.get_served_ranker(opened)).ranker == "bm25"
        serving.withdraw_ranker(opened)
    until(lambda: {model(served) for _ in range(8)} == {WORDS}, 60)
    answers = load.end()
    print(answers)
    assert {status for status, _ in answers} == {200}
    assert {name for _, name in answers} == {WORDS, "bm25"}


def test_the_new_one_follows_what_was_written_meanwhile(serve, archive) -> None:
    put(archive, WORDS)
    served = serve(archive, ranker=())
    put(archive, "bm25", OTHER)
    for n in range(20):
        served.ask("PUT", f"/v1/riverside/questions/w{n}", {"title": f"Zymurgy{n} for beginners"})
        time.sleep(0.1)
    until(lambda: model(served) == "bm25", 60)
    for n in range(20):
        until(lambda n=n: served.get(f"/v1/riverside/similar?title=zymurgy{n}").json["results"], 2)


def test_a_service_started_with_a_ranker_stays_with_it_and_says_so(serve, archive) -> None:
    served = serve(archive)
    put(archive, "bm25")
    said = until(lambda: [line for line in served.lines if "was put into service" in line], 20)
    assert f"--ranker {WORDS} and stays with it" in said[0]
    assert model(served) == WORDS


def test_what_cannot_be_built_leaves_the_one_before(serve, archive) -> None:
    put(archive, WORDS)
    served = serve(archive, ranker=())
    put(archive, "gone")
    until(lambda: any("no ranker is called 'gone'" in line for line in served.lines), 30)
    assert model(served) == WORDS
    served.ask("PUT", "/v1/riverside/questions/w", {"title": "Zymurgy for beginners"})
    until(lambda: served.get("/v1/riverside/similar?title=zymurgy").json["results"], 2)


def test_a_calibration_is_taken_up(serve, archive) -> None:
    served = serve(archive)
    assert served.get(SIMILAR).json["results"][0]["probability"] is None
    with Archive.open(archive) as opened:
        calibrate(opened, rankers.create(WORDS)).calibration.save(archive)
    until(lambda: (served.get(SIMILAR).json["results"] or [{}])[0].get("probability"), 10)
