"""A service in processes of its own, asked over real HTTP."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SOURCE = Path(__file__).parents[2] / "src"


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


RANKER = ("--ranker", "lm_jelinek_mercer")  # the default depends on what is installed


class Service:
    def __init__(self, *archives: Path, options: tuple[str, ...] = (), ranker: tuple[str, ...] = RANKER) -> None:
        command = [sys.executable, "-m", "askalike", "serve", *map(str, archives), *ranker, "--port", "0", *options]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, start_new_session=True, env=os.environ | {"PYTHONPATH": SOURCE}
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = urlsplit(until(self._address, 120))

    def _read(self) -> None:
        assert self.process.stderr
        with self.process.stderr as lines:
            self.lines.extend(iter(lines.readline, ""))

    def _address(self) -> str | None:
        if self.process.poll() is not None:
            raise AssertionError("".join(self.lines))
        return next((found[0] for line in list(self.lines) if (found := re.search(r"http://\S+", line))), None)

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        sent = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body, sent = json.dumps(body).encode(), {"content-type": "application/json"} | sent
        connection = http.client.HTTPConnection(self.url.hostname or "", self.url.port, timeout=30)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, headers=headers)

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in list(self.lines) if line.startswith("{")]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        self._reader.join(10)
        return code

    def kill(self) -> None:
        """kill -9 of all its processes, which have a session of their own."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)
        self._reader.join(10)


def until(found: Callable[[], Any], seconds: float) -> Any:
    """What `found` returns once that is something; an error where it is not within so many seconds."""
    limit = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < limit, f"not within {seconds} s"
        time.sleep(0.02)
    return value
