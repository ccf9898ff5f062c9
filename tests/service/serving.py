"""A service in processes of its own, and requests to it over real HTTP."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from askalike import rankers
from askalike.calibration.abstention import fit_abstention
from askalike.store import Archive, keys
from preloaded import PreloadedProcess
from waiting import PATIENCE_S, wait_for

RANKER = ("--ranker", "lm_jelinek_mercer")  # the default depends on what is installed


def index(path: Path) -> Path:
    """Index an archive as a service would do at its start."""
    with Archive.open(path) as archive:
        ranker = rankers.create(RANKER[1])
        ranker.build(archive.view())
        fit_abstention(archive, ranker)
    return path


def create_key(archive: Path, scope: str = "read", origin: str | None = None) -> str:
    with Archive.open(archive) as opened:
        return keys.create_key(opened, scope, origin=origin)


@dataclass
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Service:
    def __init__(
        self,
        *archives: Path,
        options: tuple[str, ...] = (),
        ranker: tuple[str, ...] = RANKER,
        program: Path | None = None,
    ) -> None:
        """`program`: the command to start it with, instead of a copy of a process that has imported it."""
        self.archive_path = archives[0]
        arguments = ["serve", *map(str, archives), *ranker, "--port", "0", *options]
        env = os.environ | {"TMPDIR": str(archives[0].parent)}  # where a killed service leaves its shared folder
        self.process = _start(program, arguments, env) if program else PreloadedProcess(arguments, env)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = urlsplit(wait_for(self._find_address))

    def _read(self) -> None:
        assert self.process.stderr
        with self.process.stderr as lines:
            self.lines.extend(iter(lines.readline, ""))

    def _find_address(self) -> str | None:
        if self.process.poll() is not None:
            raise AssertionError("".join(self.lines))
        matches = (re.search(r"serving at (http://[^\s\"]+)", line) for line in list(self.lines))
        return next((match[1] for match in matches if match), None)

    def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Response:
        all_headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body, all_headers = json.dumps(body).encode(), {"content-type": "application/json"} | all_headers
        connection = http.client.HTTPConnection(self.url.hostname or "", self.url.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, all_headers)
            response = connection.getresponse()
            return Response(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def connect(self) -> socket.socket:
        return socket.create_connection((self.url.hostname, self.url.port), timeout=PATIENCE_S)

    def get(self, path: str, **headers: str) -> Response:
        return self.send("GET", path, headers=headers)

    def poll(self, path: str) -> Any:
        """Return the JSON of an answer, and an empty object where the service is too busy and says so (503)."""
        response = self.get(path)
        return {} if response.status == 503 else response.json

    def is_ready(self) -> bool:
        try:
            return self.get("/readyz").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in list(self.lines) if line.startswith("{")]

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        exit_code = self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return exit_code

    def kill(self) -> None:
        """Kill -9 all its processes, which have a session of their own."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)


def _start(program: Path, arguments: list[str], env: Mapping[str, str]) -> "subprocess.Popen[str]":
    env = {name: value for name, value in env.items() if name != "PYTHONPATH"}  # it finds its own packages
    return subprocess.Popen([program, *arguments], stderr=subprocess.PIPE, text=True, start_new_session=True, env=env)
