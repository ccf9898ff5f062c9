"""What an operator relies on: a shutdown that loses nothing, processes that restart, and true figures."""

import fcntl
import http.client
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from serving import Service

from askalike.store import Archive
from askalike.store.query_log import daily_use, sum_use
from askalike.store.retention import delete_older_than
from commands import askalike
from waiting import PATIENCE_S, wait_for

V1 = "/v1/riverside"


def write_until_it_ends(service: Service, name: str, acknowledged: list[str]) -> None:
    n = 0
    while True:
        id = f"{name}-{n}"
        try:
            status = service.send("PUT", f"{V1}/questions/{id}", {"title": f"Does {id} survive?"}).status
        except (OSError, http.client.HTTPException):
            return
        if status == 201:
            acknowledged.append(id)
        n += 1


def send_half(service: Service, id: str) -> tuple[socket.socket, bytes]:
    """A connection on which the first half of a write was sent, and the other half."""
    body = b'{"title": "Does what was begun end well?"}'
    head = f"PUT {V1}/questions/{id} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    connection = service.connect()
    connection.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body[:10])
    return connection, body[10:]


@pytest.mark.parametrize("whole_group", [False, pytest.param(True, marks=pytest.mark.long)])
def test_sigterm_finishes_requests_under_way_and_loses_nothing(serve, archive: Path, whole_group: bool) -> None:
    service = serve(archive, options=("--workers", "2"))
    acknowledged: list[str] = []
    writers = [threading.Thread(target=write_until_it_ends, args=(service, f"w{n}", acknowledged)) for n in range(4)]
    for writer in writers:
        writer.start()
    connection, rest = send_half(service, "slow")
    wait_for(lambda: len(acknowledged) > 20)
    if whole_group:
        os.killpg(service.process.pid, signal.SIGTERM)
    else:
        service.process.send_signal(signal.SIGTERM)
    time.sleep(0.5)
    with connection:
        connection.sendall(rest)
        assert connection.recv(100).startswith(b"HTTP/1.1 201 ")
    for writer in writers:
        writer.join()
    assert service.process.wait(PATIENCE_S) == 0
    assert not [line for line in service.lines if "Traceback" in line]
    with Archive.open(archive) as opened:
        assert len(opened.view().get_questions([*acknowledged, "slow"])) == len(acknowledged) + 1


def test_a_process_that_dies_is_restarted(serve, archive: Path) -> None:
    service = serve(archive)
    for child in list_children(service):
        os.kill(child, signal.SIGKILL)
    wait_for(lambda: len([line for line in service.lines if "restarting it" in line]) == 2)
    assert wait_for(service.is_ready)
    assert service.send("PUT", f"{V1}/questions/after", {"title": "Ostrich?"}).status == 201
    wait_for(lambda: service.poll(f"{V1}/similar?title=ostrich").get("results"))


def test_readiness_and_metrics_say_index_progress(service: Service) -> None:
    with open(next(service.archive_path.glob("index/*/lock")), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as another process that indexes
        service.send("PUT", f"{V1}/questions/late", {"title": "Ostrich?"})
        time.sleep(0.3)
        index = service.get("/readyz").json["index"]["riverside"]
        assert index["behind"] == 1
        assert index["lag_s"] >= 0.3
        assert 'askalike_index_behind{archive="riverside"} 1.0' in service.get("/metrics").body.decode()
    wait_for(lambda: service.poll("/readyz").get("index", {}).get("riverside") == {"behind": 0, "lag_s": 0.0})


def test_probes_take_one_waiting_place_altogether(serve, archive: Path) -> None:
    service = serve(archive, options=("--set", "max_waiting=1"))
    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(lambda _: service.get("/readyz").status, range(100)))
    assert set(statuses) == {200}


def list_children(service: Service) -> list[int]:
    listed = Path(f"/proc/{service.process.pid}/task/{service.process.pid}/children")
    return [int(child) for child in listed.read_text().split()]


def test_it_answers_while_another_process_writes(service: Service) -> None:
    archive = service.archive_path
    with closing(sqlite3.connect(archive / "archive.sqlite", isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        similar = service.get(f"{V1}/similar?title=library+card&count_shown=true")
        answered = service.send("POST", f"{V1}/answer", {"title": "Where is my library card?"})
        assert (similar.status, answered.status) == (200, 200)
        assert similar.json["results"]
        assert answered.json["answer"]
        assert service.get(f"{V1}/questions/r001").status == 200
        writer.execute("ROLLBACK")
    with Archive.open(archive) as opened:
        wait_for(lambda: sum_use(daily_use(opened, 1)).counts["shown"] == 1)
        wait_for(lambda: delete_older_than(opened, 0)[0] == 1)


def test_it_answers_on_a_full_disk_and_recovers(serve, archive: Path) -> None:
    service = serve(archive)
    questions = f"{V1}/questions"
    assert service.send("PUT", f"{questions}/before", {"title": "Ostrich before?"}).status == 201
    wait_for(lambda: service.poll(f"{V1}/similar?title=ostrich").get("results"))
    limits = {child: resource.prlimit(child, resource.RLIMIT_FSIZE) for child in list_children(service)}
    for child, (_, hard) in limits.items():
        resource.prlimit(child, resource.RLIMIT_FSIZE, (0, hard))
    refused = service.send("PUT", f"{questions}/full", {"title": "Ostrich on a full disk?"})
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    similar = service.get(f"{V1}/similar?title=ostrich&count_shown=true")
    assert similar.json["results"][0]["id"] == "before"
    ready = service.get("/readyz")
    assert (ready.status, ready.json["writes"]) == (200, "unavailable")
    assert 'askalike_writable{archive="riverside"} 0.0' in service.get("/metrics").body.decode()
    assert service.send("POST", f"{V1}/answer", {"title": "library card"}).status == 200
    for child, limit in limits.items():
        resource.prlimit(child, resource.RLIMIT_FSIZE, limit)
    assert service.get("/readyz").json["writes"] == "available"
    assert service.get(f"{questions}/full").status == 404
    assert service.send("PUT", f"{questions}/full", {"title": "Ostrich on a full disk?"}).status == 201
    wait_for(lambda: len(service.poll(f"{V1}/similar?title=ostrich").get("results", [])) == 2)


def test_searches_keep_a_vanished_indexs_last_state(service: Service) -> None:
    archive = service.archive_path
    expected = service.send("POST", "/v1/riverside/similar", {"title": "stolen bike"}).json["results"]
    assert expected
    (archive / "index").rename(archive.with_name("gone"))
    assert service.send("POST", "/v1/riverside/similar", {"title": "stolen bike"}).json["results"] == expected
    wait_for(lambda: list(archive.glob("index/*/manifest.json")))
    wait_for(service.is_ready)
    assert service.send("POST", "/v1/riverside/similar", {"title": "stolen bike"}).json["results"] == expected


def test_moved_archive_makes_it_unready(service: Service) -> None:
    archive = service.archive_path
    archive.rename(archive.with_name("moved"))
    wait_for(lambda: service.get("/readyz").status == 503)
    archive.with_name("moved").rename(archive)
    wait_for(service.is_ready)


def test_shared_folder_of_a_killed_service_is_removed(archive: Path, serve: Callable[..., Service]) -> None:
    serve(archive).kill()
    [left] = archive.parent.glob("askalike-serve-*")
    os.utime(left, (0, 0))
    running = serve(archive)
    assert not left.exists()
    [own] = archive.parent.glob("askalike-serve-*")
    os.utime(own, (0, 0))
    serve(archive)
    assert own.exists()  # its service still runs
    assert running.is_ready()


def test_damaged_archive_does_not_stop_another(archive: Path, serve: Callable[..., Service]) -> None:
    other = Path(shutil.copytree(archive, archive.with_name("other")))
    file = other / "archive.sqlite"
    file.write_bytes(file.read_bytes()[:8192] + b"\xff" * 4096 + file.read_bytes()[12288:])
    service = serve(archive, other)
    assert service.get(f"{V1}/similar?title=library+card").json["results"]
    assert service.get("/v1/other/similar?title=library+card").status == 503
    assert service.get("/readyz").status == 503
    assert service.get("/healthz").status == 200
    messages = [json.loads(line)["message"] for line in list(service.lines)]
    assert any(message.startswith("serving at http://") for message in messages)
    assert any("other" in message and "damaged" in message for message in messages)


def test_damaged_index_is_rebuilt_before_ready(archive: Path, serve: Callable[..., Service]) -> None:
    first = serve(archive)
    expected = first.get(f"{V1}/similar?title=library+card").json["results"]
    first.end()
    for file in archive.glob("index/*/*/arrays.safetensors"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2 :: 50] = b"\xff" * len(content[len(content) // 2 :: 50])
        file.write_bytes(content)
    second = serve(archive, Path(shutil.copytree(archive, archive.with_name("other"))))
    assert second.get(f"{V1}/similar?title=library+card").json["results"] == expected
    assert second.get("/readyz").status == 200
    assert any("rebuilding it" in line for line in second.lines)


def test_an_empty_archive_is_filled_over_http(serve, tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    done = askalike("init", desk, "--language", "en")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout
        == f"{desk}: an empty archive; serve it with askalike serve {desk}, then PUT /v1/desk/questions/ID\n"
    )
    service = serve(desk)
    similar = "/v1/desk/similar?title=printing+tickets"
    assert service.get(similar).json["results"] == []
    assert service.send("PUT", "/v1/desk/questions/1", {"title": "Where do I print my ticket?"}).status == 201
    wait_for(lambda: [hit["id"] for hit in service.get(similar).json["results"]] == ["1"])


def test_init_takes_no_directory_that_holds_something(tmp_path: Path) -> None:
    desk = tmp_path / "desk"
    assert askalike("init", desk).returncode == 0
    with Archive.open(desk) as archive:
        assert archive.meta == {}
    done = askalike("init", desk)
    assert (done.returncode, done.stderr) == (2, f"askalike: {desk}: is not empty; expected a new or empty directory\n")
    assert "--language" in askalike("init", tmp_path / "new", "--language", "klingon").stderr
    assert not (tmp_path / "new").exists()


def test_answers_are_the_same_whichever_worker_makes_them(serve, archive: Path) -> None:
    service = serve(archive, options=("--workers", "2", "--set", "requests_per_s=0"))
    queries = [
        {"title": title, "prefix": True, "explain": True} for title in ("lost card", "renew", "xyzzy", "opening ho")
    ]
    alone = [service.send("POST", f"{V1}/similar", query).json["results"] for query in queries]
    assert any(alone)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda query: service.send("POST", f"{V1}/similar", query), queries * 40))
    assert [answer.json["results"] for answer in answers] == alone * 40
