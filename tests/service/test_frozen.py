"""Processes that are frozen, as by SIGSTOP: they are noticed, told and replaced, and the others go on."""

import http.client
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from serving import Service
from test_operating import list_children

from waiting import wait_for

V1 = "/v1/riverside"
STALLED_S = 4
OPTIONS = ("--workers", "2", "--set", f"stalled_s={STALLED_S}", "--set", "requests_per_s=0")
ANSWERED, CUT_OFF = 200, 0


def search(service: Service) -> int:
    """Return the status of a search, and CUT_OFF if its connection ends without one."""
    try:
        return service.get(f"{V1}/similar?title=library+card").status
    except (ConnectionError, http.client.HTTPException):
        return CUT_OFF


def lines_with(service: Service, text: str) -> list[str]:
    return [line for line in list(service.lines) if text in line]


@pytest.mark.parametrize("number", [0, 1])
def test_a_frozen_process_is_told_and_replaced(serve, archive: Path, number: int) -> None:
    service = serve(archive, options=OPTIONS)
    frozen = list_children(service)[number]
    with ThreadPoolExecutor(40) as threads:
        running = [threads.submit(search, service) for _ in range(40)]
        os.kill(frozen, signal.SIGSTOP)
        name = "worker 1" if number else "indexer"
        reason = f"the {name} gives no sign of life"
        wait_for(lambda: reason in service.get("/readyz").body.decode())
        assert service.get("/healthz").status == 200
        statuses = [search.result() for search in running]
    assert set(statuses) <= {ANSWERED, CUT_OFF}
    assert [search(service) for _ in range(40)] == [ANSWERED] * 40
    wait_for(lambda: frozen not in list_children(service))
    assert len(lines_with(service, f"the {name} has given no sign of life for")) == 1
    assert wait_for(service.is_ready)
    assert service.send("PUT", f"{V1}/questions/after", {"title": "Ostrich?"}).status == 201
    wait_for(lambda: service.poll(f"{V1}/similar?title=ostrich").get("results"))


def test_stopped_service_goes_on_as_a_whole(serve, archive: Path) -> None:
    service = serve(archive, options=(*OPTIONS, "--set", "stalled_s=2"))
    children = list_children(service)
    os.killpg(service.process.pid, signal.SIGSTOP)
    time.sleep(3)
    os.killpg(service.process.pid, signal.SIGCONT)
    assert wait_for(service.is_ready)
    time.sleep(1)
    assert list_children(service) == children
    assert not lines_with(service, "sign of life")


@pytest.mark.long
def test_a_service_with_a_frozen_worker_ends(serve, archive: Path) -> None:
    service = serve(archive, options=("--workers", "2"))
    children = list_children(service)
    os.kill(children[1], signal.SIGSTOP)
    assert service.end() == 0
    assert not [child for child in children if Path(f"/proc/{child}").exists()]
