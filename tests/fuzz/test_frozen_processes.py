"""Processes of a service are stopped at random moments under searches; it recovers each time, and loses no write."""

import os
import random
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from damage import seeds

from calibration.riverside import riverside
from needs import need
from waiting import wait_for

sys.path.append(str(Path(__file__).parents[1] / "service"))
from serving import Service
from test_frozen import ANSWERED, CUT_OFF, V1, search
from test_operating import list_children

pytestmark = [pytest.mark.fuzz, pytest.mark.long]
need("uvicorn")
OPTIONS = ("--workers", "2", "--set", "stalled_s=2", "--set", "requests_per_s=0")
LATEST_S = 1.0


def write(service: Service, number: int) -> bool:
    try:
        return service.send("PUT", f"{V1}/questions/w{number}", {"title": f"Ostrich {number}?"}).status == 201
    except (ConnectionError, OSError):
        return False


def test_stopped_process_is_replaced(tmp_path: Path) -> None:
    service = Service(riverside(tmp_path / "riverside"), options=OPTIONS)
    written = []
    try:
        for seed in seeds():
            dice = random.Random(seed)
            wait_for(service.is_ready)
            frozen = dice.choice(list_children(service))
            with ThreadPoolExecutor(9) as threads:
                searches = [threads.submit(search, service) for _ in range(40)]
                writing = threads.submit(write, service, seed)
                time.sleep(dice.uniform(0, LATEST_S))
                os.kill(frozen, signal.SIGSTOP)
            assert {one.result() for one in searches} <= {ANSWERED, CUT_OFF}, f"seed {seed}"
            written += [seed] * writing.result()
            wait_for(lambda frozen=frozen: frozen not in list_children(service))
            assert search(service) == ANSWERED, f"seed {seed}"
        wait_for(service.is_ready)
        kept = [service.get(f"{V1}/questions/w{number}").status for number in written]
        assert kept == [ANSWERED] * len(written)
    finally:
        service.end()
