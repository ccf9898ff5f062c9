"""What the readers' tests look at: an archive just imported, and a site to import from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from askalike.core.records import Question
from askalike.store import Archive
from askalike.store.contents import ArchiveSummary
from http_servers import LocalServer, QuietHandler


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

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                site.requests.append(self.path)
                status, content, location = site.respond(self.path)
                self.reply(content, status, location=location)

        self._server = LocalServer(Handler)
        self.address = self._server.address

    def respond(self, path: str) -> tuple[int, bytes, str]:
        """Return status, content and the address of a redirect."""
        raise NotImplementedError

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self._server.server_close()
