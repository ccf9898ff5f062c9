"""SIGTERM at any moment, and a closed terminal's SIGHUP: whoever is asked to end does so."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from serving import RANKER, Service

from askalike.service.processes.child import ChildProcess, StopRequest
from askalike.service.settings import ServiceSettings
from preloaded import CONTEXT, PreloadedProcess, start_template
from waiting import PATIENCE_S, wait_for


def test_supervisor_notes_signals_at_every_line() -> None:
    assert exit_code_of(_interrupt_wait) == 0


def test_a_process_that_has_just_been_started_ends() -> None:
    assert exit_code_of(_terminate_at_once) == 0


def test_early_signal_to_all_is_no_error(archive: Path) -> None:
    process = PreloadedProcess(["serve", str(archive), *RANKER, "--port", "0"], os.environ)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    wait_for(lambda: len(children.read_text().split()) == 2)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    with process.stderr as lines:
        assert "cannot start" not in lines.read()


def test_closed_terminal_ends_the_service_in_order(serve, archive: Path) -> None:
    service = serve(archive)
    os.killpg(service.process.pid, signal.SIGHUP)
    assert service.process.wait(PATIENCE_S) == 0
    assert list(archive.parent.glob("askalike-*")) == []


def test_stopping_service_refuses_while_a_request_ends(serve, archive: Path) -> None:
    service = serve(archive)
    body = b'{"title": "library card"}'
    fields = f"host: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    head = f"POST /v1/riverside/similar HTTP/1.1\r\n{fields}"
    with service.connect() as begun:
        begun.sendall(head.encode() + body[:5])
        assert service.is_ready()  # a request later, so that the worker has begun this one
        service.process.send_signal(signal.SIGTERM)
        wait_for(lambda: is_refused(service))
        assert service.process.poll() is None
        begun.sendall(body[5:])
        assert begun.recv(1_000).startswith(b"HTTP/1.1 200")
    assert service.end() == 0
    started, stopped = (next(e for e in service.log() if e["message"] == m) for m in ("started", "stopped"))
    assert started["archives"] == ["riverside"]
    assert started["version"]
    assert service.log()[-1] == stopped


def is_refused(service: Service) -> bool:
    try:
        service.connect().close()
    except ConnectionRefusedError:
        return True
    return False


def test_supervisor_leaves_ignored_signals_ignored() -> None:
    assert exit_code_of(_ignore_hangup) == 0


def exit_code_of(run: Callable[[], None]) -> int | None:
    """Return the exit code of a process that runs this; None where it hangs."""
    start_template()
    process = CONTEXT.Process(target=run)
    process.start()
    process.join(PATIENCE_S)
    exit_code: int | None = process.exitcode
    process.kill()
    return exit_code


def _interrupt_wait() -> None:
    stop = StopRequest()

    def interrupt(_frame: FrameType, event: str, _argument: Any) -> Any:
        if event == "line":
            sys.settrace(None)
            signal.raise_signal(signal.SIGTERM)
            sys.settrace(interrupt)
        return interrupt

    sys.settrace(interrupt)
    received = stop.wait(0.01)
    sys.settrace(None)
    assert received


def _ignore_hangup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = StopRequest()
    signal.raise_signal(signal.SIGHUP)
    assert not stop.wait(0.01)


def _terminate_at_once() -> None:
    stop, settings = StopRequest(), ServiceSettings(archives=(Path("nowhere"),))
    for _ in range(10):
        child = ChildProcess(_sleep, settings, fork=True)
        child.terminate()
        child.join(PATIENCE_S / 4)
        assert child.exit_code == -signal.SIGTERM
    assert not stop.received


def _sleep(_settings: ServiceSettings, _parent: Any) -> None:
    time.sleep(PATIENCE_S)
