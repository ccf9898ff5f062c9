"""What the readers' tests look at: an archive just imported, and a site to import from."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from askalike.core.types import Question
from askalike.store import Archive
from askalike.store.contents import ArchiveSummary


@dataclass
class Imported:
    """An archive just imported, and the summary of that."""

    archive: Archive
    summary: ArchiveSummary

    @property
    def questions(self) -> dict[str, Question]:
        return {q.id: q for _, q in self.archive.view().questions()}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.archive._connection.execute(sql).fetchall()


Importing = Callable[..., Imported]
Refusing = Callable[..., None]


class HttpSite:
    """A server of HTTP in this process; `requests` are those that it has had."""

    def __init__(self) -> None:
        self.requests: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append(self.path)
                status, content, location = site.respond(self.path)
                self.send_response(status)
                self.send_header("Location", location)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def respond(self, path: str) -> tuple[int, bytes, str]:
        """Return status, content and the address of a redirect."""
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
