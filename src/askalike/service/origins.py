"""Which other sites' pages may ask, by the rules that browsers keep (CORS)."""

from collections.abc import Callable, Iterable, Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from askalike.service.desk import Desk
from askalike.service.tracing import HEADER

REMEMBERED_S = 600
"""How long a browser need not ask again whether it may ask."""


class Origins(CORSMiddleware):
    """ASGI middleware: the origins that the operator allows, and those that a key was made for, may read and search."""

    def __init__(self, app: ASGIApp, allowed: Sequence[str], desks: Callable[[], Iterable[Desk]]) -> None:
        super().__init__(
            app,
            allow_origins=allowed,
            allow_methods=("GET", "POST"),
            allow_headers=("authorization", "content-type"),
            expose_headers=(HEADER, "retry-after"),
            max_age=REMEMBERED_S,
        )
        self._desks = desks

    def is_allowed_origin(self, origin: str) -> bool:
        """Whether pages of that origin may."""
        return super().is_allowed_origin(origin) or any(desk.published(origin) for desk in self._desks())
