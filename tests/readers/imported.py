"""What the readers' tests look at: an archive just imported, and a site to import from."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from askalike.core.records import Question
from askalike.store import Archive
from askalike.store.contents import ArchiveSummary
from database import run_sql
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
        return run_sql(self.archive, sql)


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


class PageSite(HttpSite):
    """A site of pages, of which sitemaps are some."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, str | bytes] = {}
        self.encoding = "utf-8"

    def respond(self, path: str) -> tuple[int, bytes, str]:
        page = self.pages.get(path, b"")
        content = page.encode(self.encoding) if isinstance(page, str) else page
        return 200 if path in self.pages else 404, content, ""

    def sitemap(self, path: str, *entries: tuple[str, str], kind: str = "url") -> None:
        """Add a sitemap of addresses and the dates of their last changes."""
        inside = "".join(f"<{kind}><loc>{loc}</loc><lastmod>{date}</lastmod></{kind}>" for loc, date in entries)
        self.pages[path] = f'<?xml version="1.0"?><x xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inside}</x>'
