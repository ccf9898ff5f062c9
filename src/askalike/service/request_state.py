"""The state of the process that serves a request, and the request's own, with who sends it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request, Response
from starlette.types import Scope as AsgiScope

from askalike.service.schema import Problem
from askalike.service.served_archive import ServedArchive
from askalike.service.settings import ServiceSettings
from askalike.service.shared_files import SharedFiles
from askalike.store.keys import ApiKey, Scope

REQUEST_ID_HEADER = "x-request-id"
REQUEST_STATE_KEY = "askalike.request"

ErrorPageRenderer = Callable[[Request, Problem, Mapping[str, str] | None], Response | None]
"""Renders the page that shows a problem; returns None if the request does not come from a person's browser."""


@dataclass(slots=True)
class AppState:
    """The state shared by all requests of a process."""

    settings: ServiceSettings
    shared: SharedFiles
    render_error_page: ErrorPageRenderer
    archives: dict[str, ServedArchive] = field(default_factory=dict)
    """Each archive by its name; filled when the application starts."""
    faults: dict[str, str] = field(default_factory=dict)
    """What is wrong with each archive that cannot be served with the others, by its name."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request to an archive. `key` is None for a visitor, and on loopback, where no key is needed."""

    archive: ServedArchive
    key: ApiKey | None
    visitor: bool = False
    """Whether they use public pages without login: they may search and read, but change nothing."""

    def may(self, scope: Scope) -> bool:
        """Return whether they have that scope."""
        return not self.visitor and (self.key is None or self.key.allows(scope))


@dataclass(slots=True)
class RequestState:
    """The state of one request; `caller` is None until the caller is identified."""

    id: str
    log_fields: dict[str, Any] = field(default_factory=dict)
    caller: Caller | None = None
    archive: ServedArchive | None = None
    """The archive that the caller was admitted to; None until then."""


def find_header(scope: AsgiScope, name: bytes) -> str | None:
    """Return the value of the first header of that name, in lower case; None if there is none."""
    for each, value in scope["headers"]:
        if each == name:
            return str(value, "latin-1")
    return None


def app_state(request: Request) -> AppState:
    """Return the state of the process that serves a request."""
    state: AppState = request.scope["app"].state.service
    return state


def request_state(request: Request) -> RequestState:
    """Return the state of a request."""
    state: RequestState = request.scope[REQUEST_STATE_KEY]
    return state


def add_log_fields(request: Request, **fields: Any) -> None:
    """Add fields to the request's line in the log."""
    request_state(request).log_fields |= fields


def caller_id(request: Request) -> str:
    """Return the id of the key that a request was admitted with; "" if none was needed."""
    caller = request_state(request).caller
    return caller.key.id if caller and caller.key else ""
