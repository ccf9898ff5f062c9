"""Which other sites' pages may ask, by the rules that browsers keep (CORS)."""

from collections.abc import Callable, Iterable, Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from askalike.service.served_archive import ServedArchive
from askalike.service.tracing import REQUEST_ID_HEADER

PREFLIGHT_MAX_AGE_S = 600
"""How long a browser need not ask again whether it may ask."""


class ArchiveCORSMiddleware(CORSMiddleware):
    """ASGI middleware: the origins that the operator allows, and those that a key was made for, may read and search."""

    def __init__(
        self, app: ASGIApp, allowed_origins: Sequence[str], served_archives: Callable[[], Iterable[ServedArchive]]
    ) -> None:
        super().__init__(
            app,
            allow_origins=allowed_origins,
            allow_methods=("GET", "POST"),
            allow_headers=("authorization", "content-type"),
            expose_headers=(REQUEST_ID_HEADER, "retry-after"),
            max_age=PREFLIGHT_MAX_AGE_S,
        )
        self._served_archives = served_archives

    def is_allowed_origin(self, origin: str) -> bool:
        """Whether pages of that origin may."""
        return super().is_allowed_origin(origin) or any(
            served_archive.has_key_for_origin(origin) for served_archive in self._served_archives()
        )
